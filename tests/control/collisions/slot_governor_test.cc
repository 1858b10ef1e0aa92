// O7: the switch carries out remedies one at a time, and says so.
#include "control/collisions/slot_governor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

namespace tributary::control {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class SlotGovernorTest : public testing::Test {
 protected:
  void refuse(const char* why) { why_ = why; }
  std::vector<std::string> look() {
    governor_.note(rows_);
    return governor_.act(rows_);
  }
  // So many looks that do nothing.
  void expect_idle(int looks) {
    for (int i = 0; i < looks; ++i) EXPECT_THAT(look(), IsEmpty()) << i;
  }

  static CollisionJudge::Row row(std::uint32_t job, const char* key, const char* value) {
    CollisionJudge::Row row;
    row.last.job = job;
    row.last.name = std::to_string(job);
    row.reason = "96 of 64 slots wanted";
    row.remedy = CollisionRemedy{"jobs." + std::to_string(job) + "." + key, value};
    return row;
  }

  std::vector<CollisionJudge::Row> rows_;
  std::vector<std::string> made_;
  const char* why_ = nullptr;
  SlotGovernor governor_{[this](const CollisionRemedy& remedy) {
    if (why_ != nullptr) throw std::runtime_error(why_);
    made_.push_back(remedy.key + "=" + remedy.value);
  }};
};

TEST_F(SlotGovernorTest, O7_WithoutARemedyNothingIsDone) {
  CollisionJudge::Row calm = row(1, "slots", "static");
  calm.remedy.reset();
  rows_ = {calm};
  expect_idle(3);
  EXPECT_THAT(governor_.made(), IsEmpty());
}

TEST_F(SlotGovernorTest, O7_TheNextChangeWaitsUntilTheJudgeHasSeenTheLast) {
  rows_ = {row(1, "window", "32"), row(2, "window", "16")};
  EXPECT_THAT(look(), ElementsAre(testing::AllOf(HasSubstr("job 1: jobs.1.window 32"),
                                                 HasSubstr("96 of 64 slots wanted"))));
  rows_ = {row(2, "window", "16")};
  expect_idle(SlotGovernor::kSettle);
  EXPECT_THAT(look(), ElementsAre(HasSubstr("job 2: jobs.2.window 16")));
  EXPECT_THAT(made_, ElementsAre("jobs.1.window=32", "jobs.2.window=16"));
  EXPECT_EQ(governor_.made().size(), 2u);
}

TEST_F(SlotGovernorTest, O7_WhatIsRefusedIsSaidAndTriedAgainLater) {
  rows_ = {row(1, "slots", "static")};
  refuse("another change is under way");
  EXPECT_THAT(look(), ElementsAre(HasSubstr("refused: another change is under way")));
  EXPECT_THAT(governor_.made(), IsEmpty());
  refuse(nullptr);
  expect_idle(SlotGovernor::kPause);
  EXPECT_THAT(look(), ElementsAre(HasSubstr("jobs.1.slots static")));
}

TEST_F(SlotGovernorTest, O7_AJobThatIsAlwaysRefusedHoldsNobodyUp) {
  rows_ = {row(1, "slots", "static"), row(2, "slots", "static")};
  refuse("a manager assigned the job");
  look();
  refuse(nullptr);
  expect_idle(SlotGovernor::kPause);
  EXPECT_THAT(look(), ElementsAre(HasSubstr("jobs.2.slots static")));
}

TEST_F(SlotGovernorTest, O7_APartitionThatAReloadDroppedIsForgotten) {
  rows_ = {row(1, "slots", "static")};
  look();
  rows_.clear();
  look();
  EXPECT_EQ(governor_.made().size(), 1u);
  rows_ = {row(1, "slots", "static")};
  rows_[0].remedy.reset();
  look();
  EXPECT_THAT(governor_.made(), IsEmpty());
}

}  // namespace
}  // namespace tributary::control
