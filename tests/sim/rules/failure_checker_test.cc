// Failures that ranks report: their causes, and when none may come any more.
#include "sim/rules/failure_checker.h"

#include "tests/sim/rules/small_world.h"

namespace tributary::sim {
namespace {

using wire::Reason;

class FailureCheckerTest : public SmallWorld {
 protected:
  // In a world without faults no epoch may fail at all; this one heals after two seconds.
  void build_faulty() {
    scenario_.script.resize(1);
    build();
    failures_.emplace(run_, plan_);
    world_.start_all();
  }
  void session_fails(Reason reason, const std::string& text = "job 1: it failed") {
    failures_->session_failed(*ranks_[0], {reason, {}, text, {}});
  }
  void op_fails(Values values) {
    OpPlan plan;
    plan.values = values;
    failures_->op_failed(*ranks_[0], 3, plan, {Reason::overflow, {}, "job 1: op 3", {}});
  }

  std::optional<FailureChecker> failures_;
};

TEST_F(FailureCheckerTest, AFailureNamesItsJobAndACauseThatExists) {
  build_faulty();
  session_fails(Reason::deadline);
  EXPECT_EQ(violation(), "");
  EXPECT_EQ(failures_->sessions_failed(), 1u);
  session_fails(Reason::deadline, "it failed");
  EXPECT_EQ(violation(), "job 1 rank 0 failed without a cause: 'it failed'");
}

TEST_F(FailureCheckerTest, RanksThatAgreeDoNotFailForADisagreement) {
  scenario_.jobs[0].disagree = true;
  build_faulty();
  session_fails(Reason::op_mismatch);
  EXPECT_EQ(violation(), "");
  scenario_.jobs[0].disagree = false;
  session_fails(Reason::op_mismatch);
  EXPECT_EQ(violation(), "job 1 rank 0 failed for a cause that does not exist: job 1: it failed");
}

TEST_F(FailureCheckerTest, OnlySumsThatCanOverflowDo) {
  build_faulty();
  op_fails(Values::overflows);
  EXPECT_EQ(violation(), "");
  EXPECT_EQ(run_.reach().overflows, 1u);
  op_fails(Values::exact);
  EXPECT_NE(violation().find("overflowed, though no sum can"), std::string::npos) << violation();
}

TEST_F(FailureCheckerTest, InAWorldWithoutFaultsNoEpochFails) {
  scenario_.jobs[0].deadline = scenario_.jobs[0].lease = Duration::seconds(1);
  build();
  failures_.emplace(run_, plan_);
  world_.start_all();
  session_fails(Reason::deadline);
  EXPECT_EQ(violation(),
            "job 1 rank 0 failed although nothing was wrong any more: job 1: it failed");
}

TEST_F(FailureCheckerTest, AFullQueueExcusesADeadline) {
  scenario_.jobs[0].deadline = scenario_.jobs[0].lease = Duration::seconds(1);
  build();
  failures_.emplace(run_, plan_);
  world_.start_all();
  failures_->overfull();
  session_fails(Reason::deadline);
  EXPECT_EQ(violation(), "");
  session_fails(Reason::lease_expired);
  EXPECT_NE(violation(), "") << "no full queue takes a lease";
}

TEST_F(FailureCheckerTest, WithASwitchDownEpochsFail) {
  scenario_.jobs[0].deadline = scenario_.jobs[0].lease = Duration::seconds(1);
  build();
  failures_.emplace(run_, plan_);
  world_.start_all();
  world_.crash(switch_->id());
  session_fails(Reason::deadline);
  EXPECT_EQ(violation(), "");
}

}  // namespace
}  // namespace tributary::sim
