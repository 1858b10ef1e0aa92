// Turns of a simulated switch: when they begin, which frames they take, and how long work takes.
#include "sim/node/switch_turns.h"

#include <gtest/gtest.h>

namespace tributary::sim {
namespace {

constexpr Duration kTurnMax = Duration::us(50);
constexpr Duration kTick = Duration::ms(2);

Instant at_us(std::int64_t us) {
  return Instant() + Duration::us(us);
}

class SwitchTurnsTest : public ::testing::Test {
 protected:
  void start(const SwitchCost& cost) {
    turns_.emplace(kTurnMax, kTick, cost, 1);
    turns_->start(Instant());
  }
  void receive(std::uint16_t port, Instant now) { turns_->receive(port, frames_.take(), now); }
  // The frames of a turn, which has to begin.
  std::size_t turn(Instant now) {
    EXPECT_TRUE(turns_->begin(now));
    std::size_t frames = 0;
    while (turns_->next()) ++frames;
    turns_->end(now);
    return frames;
  }

  FramePool frames_;
  std::optional<SwitchTurns> turns_;
};

TEST_F(SwitchTurnsTest, AnIdleSwitchHasATurnSoonAfterAFrameAndAtEachTick) {
  start({});
  EXPECT_EQ(turns_->next_wakeup(), Instant() + kTick);
  receive(0, at_us(100));
  const Instant turn_at = turns_->next_wakeup();
  EXPECT_GE(turn_at, at_us(100));
  EXPECT_LE(turn_at, at_us(100) + kTurnMax);
  receive(0, at_us(101));
  EXPECT_EQ(turns_->next_wakeup(), turn_at) << "a later frame waits for the same turn";
  EXPECT_EQ(turn(turn_at), 2u);
  EXPECT_EQ(turns_->next_wakeup(), Instant() + kTick);
  EXPECT_EQ(turn(Instant() + kTick), 0u);
  EXPECT_EQ(turns_->next_wakeup(), Instant() + kTick * 2);
}

TEST_F(SwitchTurnsTest, WithoutCostAllThatWaitsHasItsTurnAtOnce) {
  start({});
  for (std::uint16_t i = 0; i < 100; ++i) receive(i % 2, at_us(1));
  EXPECT_EQ(turns_->waiting_at(1), 50u);
  EXPECT_EQ(turns_->most_waiting(), 100u);
  EXPECT_EQ(turn(at_us(50)), 100u);
  EXPECT_EQ(turns_->waiting_at(1), 0u);
  EXPECT_EQ(turns_->busy(), Duration());
}

TEST_F(SwitchTurnsTest, WorkThatCostsTimeComesInBursts) {
  SwitchCost cost;
  cost.per_packet = Duration::us(10);
  cost.burst = 4;
  start(cost);
  for (int i = 0; i < 6; ++i) receive(0, at_us(1));
  EXPECT_EQ(turn(at_us(50)), 4u);
  EXPECT_EQ(turns_->into_turn(), Duration::us(40));
  EXPECT_EQ(turns_->next_wakeup(), at_us(90)) << "the rest, when the work is done";
  EXPECT_FALSE(turns_->begin(at_us(89)));
  EXPECT_EQ(turn(at_us(90)), 2u);
  EXPECT_EQ(turns_->busy(), Duration::us(60));
}

TEST_F(SwitchTurnsTest, AFrameThatComesDuringTheWorkWaitsForItsEnd) {
  SwitchCost cost;
  cost.per_copy = Duration::us(1);
  start(cost);
  receive(0, at_us(1));
  ASSERT_TRUE(turns_->begin(at_us(50)));
  while (turns_->next()) turns_->spend(Duration::us(500));
  turns_->end(at_us(50));
  receive(0, at_us(51));
  EXPECT_EQ(turns_->next_wakeup(), at_us(550));
  turns_->clear_work();
  EXPECT_EQ(turns_->into_turn(), Duration());
}

TEST_F(SwitchTurnsTest, ACrashLosesWhatWaits) {
  start({});
  receive(3, at_us(1));
  receive(5, at_us(2));
  EXPECT_EQ(turns_->crash(), (std::vector<std::uint16_t>{3, 5}));
  turns_->start(at_us(100));
  EXPECT_EQ(turns_->next_wakeup(), at_us(100) + kTick);
  EXPECT_EQ(turn(at_us(100)), 0u);
  EXPECT_EQ(turns_->waiting_at(3), 0u);
}

}  // namespace
}  // namespace tributary::sim
