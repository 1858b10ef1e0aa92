// Phases of a job that is resized, as its ranks see them.
#include "sim/node/rank_phases.h"

#include <gtest/gtest.h>

namespace tributary::sim {
namespace {

JobScenario job() {
  JobScenario job;
  job.workers = 4;
  job.ops = 30;
  job.resizes = {{0, 2}, {10, 4}, {20, 1}, {25, 4}, {30, 2}};
  return job;
}

TEST(RankPhases, AJobWithoutResizesHasOnePhase) {
  JobScenario plain = job();
  plain.resizes.clear();
  RankPhases phases(plain, 3);
  ASSERT_EQ(phases.first(), 0u);
  phases.enter(0);
  EXPECT_EQ(phases.job().workers, 4u);
  EXPECT_EQ(phases.first_op(), 0u);
  EXPECT_EQ(phases.end(), 30u);
  EXPECT_TRUE(phases.is_last());
}

TEST(RankPhases, ARankBeginsWithTheFirstPhaseThatHasIt) {
  const JobScenario resized = job();
  RankPhases phases(resized, 3);
  ASSERT_EQ(phases.first(), 1u);
  phases.enter(1);
  EXPECT_EQ(phases.job().workers, 4u);
  EXPECT_EQ(phases.first_op(), 10u);
  EXPECT_EQ(phases.end(), 20u);
  EXPECT_FALSE(phases.is_last());
}

TEST(RankPhases, ARankThatHasLeftComesAgain) {
  const JobScenario resized = job();
  RankPhases phases(resized, 1);
  phases.enter(*phases.first());
  EXPECT_EQ(phases.job().workers, 2u);
  EXPECT_TRUE(phases.go_on());
  EXPECT_FALSE(phases.go_on()) << "the third phase has one rank";
  ASSERT_EQ(phases.first(), 3u);
  phases.enter(3);
  EXPECT_EQ(phases.end(), 30u) << "a resize behind the last op begins no phase";
  EXPECT_TRUE(phases.is_last());
}

TEST(RankPhases, ARankThatTheJobNeverHasHasNoPhase) {
  const JobScenario resized = job();
  EXPECT_EQ(RankPhases(resized, 4).first(), std::nullopt);
}

}  // namespace
}  // namespace tributary::sim
