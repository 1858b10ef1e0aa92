// O7: what a change of one job would mend, as `tributary set` takes it.
#include "control/collisions/collision_remedy.h"

#include <gtest/gtest.h>

namespace tributary::control {
namespace {

const CollisionCounters kJob{.job = 7, .name = "7", .most_slots = 64, .window = 64};

TEST(CollisionRemedy, O7_APartitionIsForJobsWithoutQuotaAndPriority) {
  EXPECT_EQ(partition_remedy(kJob), (CollisionRemedy{"jobs.7.slots", "static"}));
  CollisionCounters ruled = kJob;
  ruled.has_rules = true;
  EXPECT_EQ(partition_remedy(ruled), std::nullopt);
}

TEST(CollisionRemedy, O7_AWindowIsThePowerOfTwoWithinAnEqualShare) {
  EXPECT_EQ(window_remedy(kJob, 100, 2), (CollisionRemedy{"jobs.7.window", "32"}));
  EXPECT_EQ(window_remedy(kJob, 100, 3), (CollisionRemedy{"jobs.7.window", "32"}));
  EXPECT_EQ(window_remedy(kJob, 100, 4), (CollisionRemedy{"jobs.7.window", "16"}));
  EXPECT_EQ(window_remedy(kJob, 64, 64), (CollisionRemedy{"jobs.7.window", "1"}));
}

TEST(CollisionRemedy, O7_AWindowThatIsNoLargerThanItsShareIsNotAtFault) {
  EXPECT_EQ(window_remedy(kJob, 128, 2), std::nullopt);
  EXPECT_EQ(window_remedy(kJob, 64, 0), std::nullopt);
}

TEST(CollisionRemedy, O7_APoolOfFewerSlotsThanJobsHasNoShares) {
  EXPECT_EQ(window_remedy(kJob, 63, 64), std::nullopt);
}

TEST(CollisionRemedy, O7_TheWindowOfATreeIsNotThisSwitchsToChange) {
  CollisionCounters tree = kJob;
  tree.in_tree = true;
  EXPECT_EQ(window_remedy(tree, 100, 2), std::nullopt);
}

}  // namespace
}  // namespace tributary::control
