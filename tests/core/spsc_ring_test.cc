#include "core/spsc_ring.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>

namespace tributary {
namespace {

TEST(SpscRingTimed, CapacityMustBeAPowerOfTwo) {
  EXPECT_THROW(SpscRing<int>(0), std::invalid_argument);
  EXPECT_THROW(SpscRing<int>(3), std::invalid_argument);
  EXPECT_EQ(SpscRing<int>(1).capacity(), 1u);
  EXPECT_EQ(SpscRing<int>(8).capacity(), 8u);
}

TEST(SpscRingTimed, HoldsItsCapacityInOrder) {
  SpscRing<int> ring(4);
  EXPECT_TRUE(ring.empty());
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(ring.push(int{i}));
  EXPECT_FALSE(ring.push(99));
  int v = -1;
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(ring.pop(v));
    EXPECT_EQ(v, i);
  }
  EXPECT_FALSE(ring.pop(v));
  EXPECT_TRUE(ring.empty());
}

TEST(SpscRingTimed, KnowsHowManyWait) {
  SpscRing<int> ring(4);
  int out = 0;
  for (int round = 0; round < 3; ++round) {
    for (std::size_t i = 1; i <= 3; ++i) {
      ring.push(7);
      EXPECT_EQ(ring.size(), i);
    }
    while (ring.pop(out)) continue;
    EXPECT_EQ(ring.size(), 0u);
  }
}

TEST(SpscRingTimed, RefusedValueIsUntouched) {
  SpscRing<std::unique_ptr<int>> ring(1);
  const auto offer = [&](std::unique_ptr<int>& value) { return ring.push(std::move(value)); };
  auto first = std::make_unique<int>(1);
  auto second = std::make_unique<int>(2);
  ASSERT_TRUE(offer(first));
  EXPECT_FALSE(offer(second));
  EXPECT_EQ(first, nullptr);
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(*second, 2);
}

TEST(SpscRingTimed, WrapsAroundManyTimes) {
  SpscRing<std::string> ring(2);
  std::string out;
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(ring.push(std::to_string(i)));
    ASSERT_TRUE(ring.pop(out));
    ASSERT_EQ(out, std::to_string(i));
  }
}

TEST(SpscRingTimed, BurstsTakeWhatFitsAndKeepTheOrder) {
  SpscRing<int> ring(4);
  std::array in = {0, 1, 2, 3, 4, 5};
  std::array out = {-1, -1, -1};
  EXPECT_EQ(ring.pop_burst(out), 0u);
  EXPECT_EQ(ring.push_burst(in), 4u);
  EXPECT_EQ(ring.push_burst(in), 0u);
  EXPECT_EQ(ring.pop_burst(out), 3u);
  EXPECT_EQ(out, (std::array{0, 1, 2}));
  EXPECT_EQ(ring.push_burst(std::span(in).subspan(4)), 2u);  // across the wrap
  EXPECT_EQ(ring.pop_burst(out), 3u);
  EXPECT_EQ(out, (std::array{3, 4, 5}));
  EXPECT_TRUE(ring.empty());
}

// The same of bursts as of single elements below.
TEST(SpscRingTimed, BurstsBetweenTwoThreadsLoseAndRepeatNothing) {
  constexpr std::uint64_t kCount = 100'000;
  SpscRing<std::uint64_t> ring(16);
  std::thread producer([&] {
    std::array<std::uint64_t, 7> burst;
    for (std::uint64_t next = 0; next < kCount;) {
      std::size_t filled = 0;
      for (; filled < burst.size() && next + filled < kCount; ++filled)
        burst[filled] = next + filled;
      next += ring.push_burst(std::span(burst).first(filled));
    }
  });
  std::uint64_t expected = 0;
  std::array<std::uint64_t, 5> burst;
  bool ordered = true;
  while (expected < kCount)
    for (std::size_t i = 0, got = ring.pop_burst(burst); i < got; ++i)
      ordered = ordered && burst[i] == expected++;
  producer.join();
  EXPECT_TRUE(ordered);
}

// One producer and one consumer thread; under ThreadSanitizer also proof of the memory order.
TEST(SpscRingTimed, TwoThreadsLoseAndRepeatNothing) {
  constexpr std::uint64_t kCount = 100'000;
  struct Item {
    std::uint64_t number = 0;
    std::uint64_t twice = 0;  // not atomic: torn or early reads would show
  };
  SpscRing<Item> ring(16);
  std::thread producer([&] {
    for (std::uint64_t i = 0; i < kCount; ++i)
      while (!ring.push(Item{i, 2 * i})) std::this_thread::yield();
  });
  std::uint64_t wrong = 0;
  for (std::uint64_t expected = 0; expected < kCount;) {
    Item item;
    if (!ring.pop(item)) {
      std::this_thread::yield();
      continue;
    }
    wrong += item.number != expected || item.twice != 2 * expected ? 1 : 0;
    ++expected;
  }
  producer.join();
  EXPECT_EQ(wrong, 0u);
  EXPECT_TRUE(ring.empty());
}

}  // namespace
}  // namespace tributary
