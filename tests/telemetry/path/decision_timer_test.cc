// The ends of ops say when paths are looked for (C7).
#include "telemetry/path/decision_timer.h"

#include <gtest/gtest.h>

namespace tributary::telemetry {
namespace {

using Look = DecisionTimer::Look;

Instant at(std::int64_t ms) {
  return Instant::from_ns(1 + ms * 1'000'000);
}

TEST(DecisionTimer, WithoutARuleTheThreadsPauseSays) {
  DecisionTimer timer({});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(timer.next(0, at(i)), Look::always);
}

TEST(DecisionTimer, C7_EachOpOrEachSoManyCallForALook) {
  DecisionTimer each({DecideAt::op_end, 1});
  DecisionTimer third({DecideAt::op_end, 3});
  EXPECT_EQ(each.next(10, at(0)), Look::always) << "the first";
  EXPECT_EQ(third.next(10, at(0)), Look::always);
  int looks_of_each = 0;
  int looks_of_third = 0;
  for (std::uint64_t ended = 10; ended <= 19; ++ended) {
    looks_of_each += each.next(ended, at(static_cast<std::int64_t>(ended))) == Look::always ? 1 : 0;
    looks_of_third +=
        third.next(ended, at(static_cast<std::int64_t>(ended))) == Look::always ? 1 : 0;
  }
  EXPECT_EQ(looks_of_each, 9);
  EXPECT_EQ(looks_of_third, 3);
}

TEST(DecisionTimer, C7_WithoutOpsALookComesAfterASecond) {
  for (const DecideAt rule : {DecideAt::op_end, DecideAt::change}) {
    DecisionTimer timer({rule, 1});
    EXPECT_EQ(timer.next(0, at(0)), Look::always);
    EXPECT_EQ(timer.next(0, at(999)), Look::none);
    EXPECT_EQ(timer.next(0, at(1000)), Look::always);
    EXPECT_EQ(timer.next(0, at(1001)), Look::none);
  }
}

TEST(DecisionTimer, C7_OnChangeAnOpsEndAsksForOne) {
  DecisionTimer timer({DecideAt::change, 2});
  EXPECT_EQ(timer.next(0, at(0)), Look::always);
  EXPECT_EQ(timer.next(1, at(1)), Look::none);
  EXPECT_EQ(timer.next(2, at(2)), Look::if_changed);
  EXPECT_EQ(timer.next(3, at(3)), Look::none);
  EXPECT_EQ(timer.next(4, at(4)), Look::if_changed);
  EXPECT_EQ(timer.next(6, at(1000)), Look::always);
}

}  // namespace
}  // namespace tributary::telemetry
