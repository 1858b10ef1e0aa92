// Ops that are done: the sum of the members' data, the same for all ranks.
#include "sim/rules/op_checker.h"

#include "tests/sim/rules/small_world.h"

namespace tributary::sim {
namespace {

class OpCheckerTest : public SmallWorld {
 protected:
  OpCheckerTest() {
    build();
    epochs_.emplace(run_, plan_);
    degraded_.emplace(run_);
    slots_.emplace(run_);
    ops_.emplace(run_, *epochs_, *degraded_, *slots_);
    plan_of_op_.count = 4;
    world_.start_all();
  }
  void enter() {
    for (const WorkerNode* rank : ranks_) epochs_->entered(*rank);
  }
  // The sum of both ranks' data for op 0.
  [[nodiscard]] std::vector<std::int32_t> sum() const {
    std::vector<std::int32_t> sum(plan_of_op_.count);
    for (const WorkerNode* rank : ranks_) {
      std::vector<std::int32_t> data(sum.size());
      fill(plan_of_op_, rank->salt(), 0, std::as_writable_bytes(std::span(data)));
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += data[i];
    }
    return sum;
  }
  void done(std::uint32_t rank, const std::vector<std::int32_t>& values) {
    OpResult result;
    result.rank = rank;
    result.data = std::as_bytes(std::span(values));
    ops_->done(*ranks_[rank], 0, plan_of_op_, result);
  }

  OpPlan plan_of_op_;
  std::optional<EpochChecker> epochs_;
  std::optional<DegradedChecker> degraded_;
  std::optional<SlotChecker> slots_;
  std::optional<OpChecker> ops_;
};

TEST_F(OpCheckerTest, TheSumIsThatOfTheEpochsMembers) {
  enter();
  done(0, sum());
  done(1, sum());
  EXPECT_EQ(violation(), "");
  EXPECT_EQ(run_.reach().collectives[static_cast<std::size_t>(wire::Collective::allreduce)], 2u);
}

TEST_F(OpCheckerTest, TheFirstRanksSumIsCheckedAgainstTheInputs) {
  enter();
  auto wrong = sum();
  ++wrong[2];
  done(0, wrong);
  EXPECT_NE(violation().find("job 1 rank 0, epoch 0, op 0 (allreduce of 4 int32 sum)"),
            std::string::npos)
      << violation();
}

TEST_F(OpCheckerTest, TheOtherRanksHaveTheSameBits) {
  enter();
  done(0, sum());
  auto wrong = sum();
  ++wrong[2];
  done(1, wrong);
  EXPECT_NE(violation().find("ranks hold different bits"), std::string::npos) << violation();
}

TEST_F(OpCheckerTest, NoOpIsDoneBeforeAllRanksHaveEntered) {
  epochs_->entered(*ranks_[0]);
  done(0, sum());
  EXPECT_NE(violation().find("not all ranks have entered the epoch"), std::string::npos);
}

}  // namespace
}  // namespace tributary::sim
