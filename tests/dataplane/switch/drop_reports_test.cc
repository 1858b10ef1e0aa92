#include "dataplane/switch/drop_reports.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/dataplane/ip_frame.h"
#include "tests/dataplane/port_steps.h"

namespace tributary::dataplane {
namespace {

TEST(DropReports, SumWhatAllLoopsHaveDroppedAndSayWhatIsWrong) {
  RingSwitch sw(with_lcores(2, 2));
  std::vector<std::string> lines;
  DropReports reports([&](const std::string& line) { lines.push_back(line); });
  const auto look = [&] { reports.look(1, "p1", sw.packet_loops(), sw.now); };
  look();
  EXPECT_TRUE(lines.empty());
  for (int i = 0; i < 3; ++i) sw.inject(1, ipv4_frame({.source = sw.config().ipv4}));
  settle(sw);
  ASSERT_EQ(sw.drops(1, DropReason::own_address), 3u);
  look();
  EXPECT_THAT(lines,
              testing::ElementsAre(testing::StartsWith("port p1: 3 frame(s) came with the ")));
  EXPECT_EQ(reports.age(1, DropReason::own_address, 3, sw.now + Duration::seconds(9)),
            Duration::seconds(9));
}

}  // namespace
}  // namespace tributary::dataplane
