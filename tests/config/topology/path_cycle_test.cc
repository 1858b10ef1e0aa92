#include "config/topology/path_cycle.h"

#include <gtest/gtest.h>

#include <array>

namespace tributary::config {
namespace {

const std::array<std::string, 4> kNames{"root", "a", "b", "c"};

TEST(PathCycle, C7_OldAndNewTogetherMakeTheLoop) {
  const std::vector<PathStep> before{{1, 2}, {2, 0}};
  const std::vector<PathStep> after{{2, 1}, {1, 0}};
  EXPECT_FALSE(find_cycle(before));
  EXPECT_FALSE(find_cycle(after));
  std::vector<PathStep> both = before;
  both.insert(both.end(), after.begin(), after.end());
  const auto cycle = find_cycle(both);
  ASSERT_TRUE(cycle);
  EXPECT_EQ(cycle_text(kNames, *cycle), "a -> b -> a");
}

TEST(PathCycle, WaysThatMeetAgainAreNoLoop) {
  const std::vector<PathStep> steps{{3, 1}, {3, 2}, {1, 0}, {2, 0}};
  EXPECT_FALSE(find_cycle(steps));
}

TEST(PathCycle, NamesOnlyTheLoopOfALongWay) {
  const std::vector<PathStep> steps{{0, 1}, {1, 2}, {2, 3}, {3, 2}};
  const auto cycle = find_cycle(steps);
  ASSERT_TRUE(cycle);
  EXPECT_EQ(cycle_text(kNames, *cycle), "b -> c -> b");
  const std::vector<PathStep> itself{{2, 2}};
  EXPECT_EQ(cycle_text(kNames, *find_cycle(itself)), "b -> b");
}

}  // namespace
}  // namespace tributary::config
