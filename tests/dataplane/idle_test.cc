#include "dataplane/idle.h"

#include <gtest/gtest.h>

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

TEST(IdlePolicy, NeverSleepsWhenTheLimitIsZero) {
  IdlePolicy idle(Duration(), 16);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(idle.after_turn(0), Duration());
}

}  // namespace
}  // namespace tributary::dataplane
