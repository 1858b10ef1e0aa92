#include "dataplane/bridge/flap_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tributary::dataplane {
namespace {

Instant at(std::int64_t seconds) {
  return Instant() + Duration::seconds(seconds);
}

TEST(FlapWatch, SaysSoAtOnceAndThenSeldom) {
  Fdb fdb(16, Duration::seconds(300), 2, 1);
  FlapWatch watch;
  const wire::MacAddress mac = {2, 0, 0, 0, 0, 0x1f};
  const auto flap = [&] {
    for (std::uint16_t n = 0; n < 2 * Fdb::kFlapMoves; ++n)
      fdb.learn(mac, 7, static_cast<std::uint16_t>(n % 2), at(0));
  };
  fdb.learn(mac, 7, 1, at(0));
  EXPECT_FALSE(watch.look(fdb.counters(), at(0)));
  flap();
  const auto line = watch.look(fdb.counters(), at(1));
  ASSERT_TRUE(line);
  EXPECT_THAT(*line, testing::HasSubstr("02:00:00:00:00:1f of VLAN 7"));
  EXPECT_THAT(*line, testing::HasSubstr("(2 such events)"));
  EXPECT_FALSE(watch.look(fdb.counters(), at(60)));
  flap();
  EXPECT_TRUE(watch.look(fdb.counters(), at(61)));
  flap();
  EXPECT_FALSE(watch.look(fdb.counters(), at(70)));
  EXPECT_TRUE(watch.look(fdb.counters(), at(71)));
}

}  // namespace
}  // namespace tributary::dataplane
