#include "dataplane/io/idle.h"

#include <gtest/gtest.h>

#include "config/model/switch_config.h"

namespace tributary::dataplane {
namespace {

constexpr Duration kLongest = Duration::us(10);

TEST(IdlePolicy, GrowsByAMicrosecondUpToTheLimit) {
  IdlePolicy idle(kLongest, 16);
  for (int i = 1; i <= 10; ++i) EXPECT_EQ(idle.after_turn(0), Duration::us(i));
  EXPECT_EQ(idle.after_turn(0), kLongest);
}

TEST(IdlePolicy, AnotherLimitHoldsFromTheNextTurn) {
  IdlePolicy idle(kLongest, 16);
  for (int i = 0; i < 20; ++i) idle.after_turn(0);
  idle.set_longest(Duration::us(3));
  EXPECT_EQ(idle.after_turn(0), Duration::us(3));
  idle.set_longest(Duration());
  EXPECT_EQ(idle.after_turn(0), Duration());
}

TEST(IdlePolicy, HalfABurstResetsIt) {
  IdlePolicy idle(kLongest, 16);
  for (int i = 0; i < 20; ++i) idle.after_turn(0);
  EXPECT_EQ(idle.after_turn(16), Duration());
  EXPECT_EQ(idle.after_turn(0), Duration::us(1));
}

TEST(IdlePolicy, ATrickleHalvesIt) {
  IdlePolicy idle(kLongest, 16);
  for (int i = 0; i < 20; ++i) idle.after_turn(0);
  EXPECT_EQ(idle.after_turn(1), Duration());
  EXPECT_EQ(idle.after_turn(0), Duration::us(6));
}

TEST(IdlePolicy, SleepsDeeperAfterASecondWithoutPackets) {
  IdlePolicy idle(kLongest, 16);
  Duration slept;
  int turns = 0;
  for (Duration pause = idle.after_turn(0); pause <= kLongest; pause = idle.after_turn(0)) {
    slept = slept + pause;
    ASSERT_LT(++turns, 200'000);
  }
  EXPECT_GE(slept, Duration::seconds(1));
  EXPECT_EQ(idle.after_turn(0), kLongest * 4);
  EXPECT_EQ(idle.after_turn(1), Duration());
  EXPECT_LE(idle.after_turn(0), kLongest);
}

// Share of the time from `from` to `to` since the last packet that is not slept, when a turn that
// finds nothing and the timer behind it cost so much.
double share_awake(Duration cost, Duration from, Duration to) {
  IdlePolicy idle(config::SwitchConfig().idle_sleep_max, 16);
  idle.after_turn(16);
  Duration awake;
  for (Duration now; now < to;) {
    const Duration pause = idle.after_turn(0);
    if (now >= from) awake = awake + cost;
    now = now + cost + pause;
  }
  return awake.to_seconds() / (to - from).to_seconds();
}

// What is promised of the default: a twentieth of a core. A turn over a few ports takes some
// microseconds, a timer about as much; in a nested virtual machine 30.
TEST(IdlePolicy, C1_WithTheDefaultAnIdleLoopTakesATwentiethOfACoreAtMost) {
  const Duration second = Duration::seconds(1);
  EXPECT_LE(share_awake(Duration::us(10), Duration::ms(100), second), 0.05) << "soon";
  EXPECT_LE(share_awake(Duration::us(10), second, second * 60), 0.05);
  EXPECT_LE(share_awake(Duration::us(40), second * 2, second * 60), 0.05)
      << "however dear a timer is";
}

TEST(IdlePolicy, NeverSleepsWhenTheLimitIsZero) {
  IdlePolicy idle(Duration(), 16);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(idle.after_turn(0), Duration());
}

}  // namespace
}  // namespace tributary::dataplane
