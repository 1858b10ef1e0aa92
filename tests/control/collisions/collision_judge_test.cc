// O7: which collisions are chance, which last, and what would end them.
#include "control/collisions/collision_judge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tributary::control {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::uint32_t kPool = 128;

class CollisionJudgeTest : public testing::Test {
 protected:
  // A look one second later: of 1,000 chunks of each job so many found no slot.
  std::vector<std::string> after(std::uint64_t first, std::uint64_t second) {
    add(jobs_[0], first);
    add(jobs_[1], second);
    return judge_.look(pool_, jobs_);
  }
  [[nodiscard]] CollisionVerdict verdict(std::size_t job) const {
    return judge_.rows()[job].verdict;
  }
  static void add(CollisionCounters& job, std::uint64_t collided) {
    job.collisions += collided;
    job.chunks += 1000 - collided;
  }

  std::uint32_t pool_ = kPool;
  std::vector<CollisionCounters> jobs_{{1, 0, "1", 0, 500, 0, 64, 64, false, false},
                                       {2, 0, "2", 0, 0, 0, 64, 64, false, false}};
  CollisionJudge judge_;
};

TEST_F(CollisionJudgeTest, O7_FewAreChanceAndTheFirstLookJudgesNothing) {
  EXPECT_THAT(judge_.look(pool_, jobs_), IsEmpty());
  for (int second = 0; second < 20; ++second) EXPECT_THAT(after(9, 7), IsEmpty());
  EXPECT_EQ(verdict(0), CollisionVerdict::none);
  EXPECT_NEAR(judge_.rows()[0].percent, 0.9, 1e-9);
}

TEST_F(CollisionJudgeTest, O7_AQuickSuccessionIsWatchedAndForgotten) {
  judge_.look(pool_, jobs_);
  EXPECT_THAT(after(500, 0), IsEmpty());
  EXPECT_THAT(after(500, 0), IsEmpty());
  EXPECT_EQ(verdict(0), CollisionVerdict::watch);
  EXPECT_EQ(verdict(1), CollisionVerdict::none);
  EXPECT_THAT(after(0, 0), IsEmpty());
  EXPECT_EQ(verdict(0), CollisionVerdict::none);
}

TEST_F(CollisionJudgeTest, O7_APoolThatHoldsAllWindowsIsToBeDivided) {
  judge_.look(pool_, jobs_);
  after(20, 0);
  after(20, 0);
  EXPECT_THAT(after(20, 0),
              ElementsAre(testing::AllOf(HasSubstr("job 1: 2 % of its chunks find no slot"),
                                         HasSubstr("128 of 128 slots wanted"),
                                         HasSubstr("`tributary set jobs.1.slots static`"))));
  EXPECT_EQ(verdict(0), CollisionVerdict::divide);
  EXPECT_THAT(after(20, 0), IsEmpty()) << "said once";
}

TEST_F(CollisionJudgeTest, O7_APoolThatIsTooSmallIsToBeEnlarged) {
  pool_ = 100;
  judge_.look(pool_, jobs_);
  after(0, 30);
  after(0, 30);
  EXPECT_THAT(after(0, 30),
              ElementsAre(testing::AllOf(HasSubstr("raise switch.slots by 28"),
                                         HasSubstr("`tributary set jobs.2.window 32`"))));
  EXPECT_EQ(verdict(1), CollisionVerdict::enlarge);
  EXPECT_EQ(judge_.rows()[1].remedy, (CollisionRemedy{"jobs.2.window", "32"}));
  EXPECT_EQ(judge_.rows()[0].remedy, std::nullopt) << "its chunks find slots";
}

TEST_F(CollisionJudgeTest, O7_WithoutARemedyTheReasonSaysWhy) {
  for (auto& job : jobs_) job.has_rules = job.in_tree = true;
  judge_.look(pool_, jobs_);
  after(20, 0);
  after(20, 0);
  EXPECT_THAT(after(20, 0), ElementsAre(HasSubstr("without quota and priority")));
  pool_ = 100;
  EXPECT_THAT(after(20, 0), ElementsAre(HasSubstr("or lower the windows")));
  EXPECT_EQ(judge_.rows()[0].remedy, std::nullopt);
}

TEST_F(CollisionJudgeTest, O7_ALargePoolOnlyNeedsAnotherPlace) {
  pool_ = 4096;
  judge_.look(pool_, jobs_);
  after(30, 0);
  after(30, 0);
  EXPECT_THAT(after(30, 0), ElementsAre(HasSubstr("draws another place")));
  EXPECT_EQ(verdict(0), CollisionVerdict::reseed);
}

// Whether others run varies from look to look; the verdict does not.
TEST_F(CollisionJudgeTest, O7_OnlyRunningJobsCountAndAVerdictStays) {
  pool_ = 100;
  judge_.look(pool_, jobs_);
  for (int second = 0; second < 3; ++second) after(30, 0);
  EXPECT_EQ(verdict(0), CollisionVerdict::enlarge);
  add(jobs_[0], 30);
  EXPECT_THAT(judge_.look(pool_, jobs_), IsEmpty());
  EXPECT_EQ(verdict(0), CollisionVerdict::enlarge);
}

TEST_F(CollisionJudgeTest, O7_TenCalmSecondsEndIt) {
  judge_.look(pool_, jobs_);
  for (int second = 0; second < 3; ++second) after(30, 0);
  for (int second = 0; second < CollisionJudge::kCalmLooks - 1; ++second)
    EXPECT_THAT(after(0, 0), IsEmpty());
  EXPECT_EQ(verdict(0), CollisionVerdict::divide);
  EXPECT_THAT(after(0, 0), ElementsAre("job 1: its chunks find slots again"));
  EXPECT_EQ(verdict(0), CollisionVerdict::none);
}

TEST_F(CollisionJudgeTest, O7_AnotherJobOfThatIdBeginsAnew) {
  judge_.look(pool_, jobs_);
  for (int second = 0; second < 3; ++second) after(30, 0);
  jobs_[0] = {1, 0, "1", 10, 2, 0, 64, 64, false, false};
  EXPECT_THAT(judge_.look(pool_, jobs_), IsEmpty());
  jobs_.erase(jobs_.begin());
  judge_.look(pool_, jobs_);
  ASSERT_EQ(judge_.rows().size(), 1u);
  EXPECT_EQ(judge_.rows()[0].last.job, 2u);
}

}  // namespace
}  // namespace tributary::control
