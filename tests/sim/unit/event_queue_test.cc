#include "tests/sim/event_queue.h"

#include <gtest/gtest.h>

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

TEST(EventQueue, FramesGoBackToTheirPool) {
  FramePool pool;
  {
    EventQueue queue;
    Event e = at(1, 0);
    e.frame = pool.take();
    queue.push(e);
    e.frame = FrameRef();
    EXPECT_EQ(pool.in_use(), 1u);
    queue.pop();
    EXPECT_EQ(pool.in_use(), 0u);
  }
}

}  // namespace
}  // namespace tributary::sim
