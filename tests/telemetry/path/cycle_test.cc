#include "telemetry/path/cycle.h"

#include <gtest/gtest.h>

#include <array>

namespace tributary::telemetry {
namespace {

const std::array<std::string, 4> kNames{"root", "a", "b", "c"};

TEST(Cycle, C7_OldAndNewTogetherMakeTheLoop) {
  const std::vector<PathCommand> before{{1, 1, 2}, {1, 2, 0}};
  const std::vector<PathCommand> after{{1, 2, 1}, {1, 1, 0}};
  EXPECT_FALSE(find_cycle(before, {}));
  EXPECT_FALSE(find_cycle({}, after));
  const auto cycle = find_cycle(before, after);
  ASSERT_TRUE(cycle);
  EXPECT_EQ(cycle_text(kNames, *cycle), "a -> b -> a");
}

TEST(Cycle, DestinationsAreApart) {
  const std::vector<PathCommand> before{{1, 1, 2}};
  const std::vector<PathCommand> after{{2, 2, 1}};
  EXPECT_FALSE(find_cycle(before, after));
}

TEST(Cycle, WaysThatMeetAgainAreNoLoop) {
  const std::vector<PathCommand> commands{{1, 3, 1}, {1, 3, 2}, {1, 1, 0}, {1, 2, 0}};
  EXPECT_FALSE(find_cycle(commands, commands));
}

TEST(Cycle, NamesOnlyTheLoopOfALongWay) {
  const std::vector<PathCommand> commands{{1, 0, 1}, {1, 1, 2}, {1, 2, 3}, {1, 3, 2}};
  const auto cycle = find_cycle(commands, {});
  ASSERT_TRUE(cycle);
  EXPECT_EQ(cycle_text(kNames, *cycle), "b -> c -> b");
  const std::vector<PathCommand> itself{{1, 2, 2}};
  EXPECT_EQ(cycle_text(kNames, *find_cycle(itself, {})), "b -> b");
}

}  // namespace
}  // namespace tributary::telemetry
