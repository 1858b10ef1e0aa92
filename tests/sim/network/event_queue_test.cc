#include "sim/network/event_queue.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/prng.h"

namespace tributary::sim {
namespace {

Event at(std::int64_t ns, std::uint32_t argument) {
  Event e;
  e.at = Instant::from_ns(ns);
  e.argument = argument;
  return e;
}

TEST(EventQueue, EarlierFirstAndEqualInstantsInOrderOfScheduling) {
  EventQueue queue;
  queue.push(at(30, 0));
  queue.push(at(10, 1));
  queue.push(at(20, 2));
  queue.push(at(10, 3));
  queue.push(at(10, 4));
  std::vector<std::uint32_t> order;
  while (!queue.empty()) order.push_back(queue.pop().argument);
  EXPECT_EQ(order, (std::vector<std::uint32_t>{1, 3, 4, 2, 0}));
}

// Near, in the wheel, beyond it, and pushed while others are popped: always as a sorted list.
TEST(EventQueue, KeepsOrderOverAllDistances) {
  constexpr std::uint64_t kSeed = 11;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  Prng random(kSeed);
  EventQueue queue;
  std::vector<std::pair<std::int64_t, std::uint32_t>> expected;
  std::uint32_t next = 0;
  std::int64_t now = 0;
  const auto push = [&] {
    // From nothing to an hour ahead, most of it near.
    const std::int64_t ahead =
        static_cast<std::int64_t>(random.next() >> 20) >> (2 + random.below(42));
    queue.push(at(now + ahead, next));
    expected.emplace_back(now + ahead, next++);
  };
  for (int i = 0; i < 1000; ++i) push();
  for (int i = 0; i < 50'000; ++i) {
    const auto first = std::min_element(expected.begin(), expected.end());
    const Event e = queue.pop();
    ASSERT_EQ(e.at.to_ns(), first->first);
    ASSERT_EQ(e.argument, first->second);
    now = first->first;
    expected.erase(first);
    while (expected.size() < 50 + random.below(100)) push();
  }
  EXPECT_EQ(queue.size(), expected.size());
}

TEST(EventQueue, HandsTheFrameOnWithItsReference) {
  FramePool pool;
  EventQueue queue;
  Event e = at(1, 0);
  e.frame = pool.take().detach();
  queue.push(e);
  EXPECT_EQ(pool.in_use(), 1u);
  {
    const FrameRef back = FrameRef::attach(queue.pop().frame);
    EXPECT_TRUE(back);
  }
  EXPECT_EQ(pool.in_use(), 0u);
}

}  // namespace
}  // namespace tributary::sim
