#include "control/stragglers/arrival_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tributary::control {
namespace {

using testing::ElementsAre;

aggregator::OpLateness op(const std::vector<int>& behind_ms, bool complete = true) {
  aggregator::OpLateness lateness{.op = 0, .complete = complete, .behind = {}};
  for (const int ms : behind_ms) lateness.behind.push_back(Duration::ms(ms));
  return lateness;
}

// T13: who is always last holds the others up; who is always first waits longest.
TEST(ArrivalOrder, T13_CountsTheFirstAndTheLastOfEachOp) {
  const std::vector<aggregator::OpLateness> ops = {op({0, 3, 1}), op({0, 0, 2}), op({5, 9, 0})};
  EXPECT_THAT(arrival_counts(ops),
              ElementsAre(ArrivalCounts{2, 0}, ArrivalCounts{0, 2}, ArrivalCounts{1, 1}));
}

TEST(ArrivalOrder, OpsThatLackDataAndTiesDoNotCount) {
  EXPECT_THAT(arrival_counts({}), testing::IsEmpty());
  const std::vector<aggregator::OpLateness> ops = {op({0, 3}, false), op({2, 2}), op({1, 0})};
  EXPECT_THAT(arrival_counts(ops), ElementsAre(ArrivalCounts{0, 1}, ArrivalCounts{1, 0}));
}

}  // namespace
}  // namespace tributary::control
