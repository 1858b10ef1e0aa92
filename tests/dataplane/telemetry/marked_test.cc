// What frames the packet loop takes for ones with metadata: as telemetry/wire/ would.
#include "dataplane/telemetry/marked.h"

#include <gtest/gtest.h>

#include "tests/telemetry/wire/frames.h"

namespace tributary::dataplane {
namespace {

namespace wire_test = telemetry::test;

TEST(Marked, SaysWhatThePacketsOwnHeadersSay) {
  for (const bool ipv6 : {false, true})
    for (unsigned tags = 0; tags < 3; ++tags)
      for (const bool by_dscp : {false, true}) {
        telemetry::Marking marking;
        if (by_dscp) marking.dscp = 0x17;
        const auto plain = wire_test::make_frame({.ipv6 = ipv6, .tags = tags});
        EXPECT_FALSE(looks_marked(plain, marking));
        wire_test::Buffer buffer(plain);
        ASSERT_EQ(telemetry::insert_int(buffer.view, marking, telemetry::kNodeId, 8, {}),
                  telemetry::Outcome::done);
        EXPECT_TRUE(looks_marked(buffer.now(), marking)) << ipv6 << tags << by_dscp;
      }
}

TEST(Marked, LooksBehindNoEnd) {
  const auto frame = wire_test::make_frame({.ipv6 = true, .tags = 1});
  for (std::size_t bytes = 14; bytes < frame.size(); ++bytes)
    looks_marked(std::span(frame).first(bytes), {});
}

}  // namespace
}  // namespace tributary::dataplane
