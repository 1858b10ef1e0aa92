// Epochs: their members' incarnations, and the one epoch that an op belongs to.
#include "sim/rules/epoch_checker.h"

#include "tests/sim/rules/small_world.h"

namespace tributary::sim {
namespace {

class EpochCheckerTest : public SmallWorld {
 protected:
  EpochCheckerTest() {
    build();
    epochs_.emplace(run_, plan_);
    world_.start_all();
  }
  [[nodiscard]] std::uint16_t epoch() const { return ranks_[0]->session()->epoch(); }

  std::optional<EpochChecker> epochs_;
};

TEST_F(EpochCheckerTest, OneIncarnationOfARankRunsAnEpoch) {
  epochs_->entered(*ranks_[0]);
  epochs_->entered(*ranks_[0]);
  EXPECT_EQ(violation(), "");
  EXPECT_EQ(epochs_->salts_of(0, epoch()), (std::vector<std::uint64_t>{ranks_[0]->salt(), 0}));
  world_.crash(ranks_[0]->id());
  world_.restart(ranks_[0]->id());
  epochs_->entered(*ranks_[0]);
  EXPECT_EQ(violation(), "two incarnations of job 1 rank 0 run epoch 0");
}

TEST_F(EpochCheckerTest, AResultWaitsForAllRanksThatItDoesNotLack) {
  epochs_->entered(*ranks_[0]);
  OpResult result;
  EXPECT_FALSE(epochs_->all_inside_entered(0, epoch(), result));
  const std::uint64_t second = 2;
  result.left_out = std::span(&second, 1);
  EXPECT_TRUE(epochs_->all_inside_entered(0, epoch(), result));
  epochs_->entered(*ranks_[1]);
  result.left_out = {};
  EXPECT_TRUE(epochs_->all_inside_entered(0, epoch(), result));
}

TEST_F(EpochCheckerTest, Rule22_AnOpBelongsToOneEpoch) {
  epochs_->op_done(*ranks_[0], 1, 5);
  epochs_->op_done(*ranks_[1], 1, 5);
  epochs_->op_done(*ranks_[1], 2, 6);
  EXPECT_EQ(violation(), "");
  epochs_->op_done(*ranks_[1], 2, 5);
  EXPECT_EQ(violation(), "job 1 rank 1 has op 5 in epoch 2, another rank in epoch 1");
}

TEST_F(EpochCheckerTest, AnEpochStartsOnce) {
  EXPECT_TRUE(epochs_->started(0, 1, 0));
  EXPECT_FALSE(epochs_->started(0, 1, 0));
  EXPECT_TRUE(epochs_->started(0, 2, 0));
}

}  // namespace
}  // namespace tributary::sim
