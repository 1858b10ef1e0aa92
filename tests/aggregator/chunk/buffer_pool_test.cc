#include "aggregator/chunk/buffer_pool.h"

#include <gtest/gtest.h>

#include <array>
#include <set>

#include "tests/core/survived_breaches.h"

namespace tributary::aggregator {
namespace {

TEST(BufferPool, BuffersDoNotOverlapAndTheLastReturnedIsTakenFirst) {
  alignas(64) std::array<std::byte, 256> memory;
  BufferPool pool(memory, 64, 4);
  std::set<std::byte*> taken;
  for (int i = 0; i < 4; ++i) taken.insert(pool.at(pool.take()));
  EXPECT_EQ(taken, (std::set{&memory[0], &memory[64], &memory[128], &memory[192]}));
  EXPECT_EQ(pool.free(), 0u);
  EXPECT_TRUE(pool.put(1));
  EXPECT_TRUE(pool.put(3));
  EXPECT_EQ(pool.take(), 3u);
  EXPECT_EQ(pool.free(), 1u);
}

// A guess that may be wrong, but never leaves the pool.
TEST(BufferPool, UpcomingIsWhatTakeGivesNextAndStaysInsideThePool) {
  alignas(64) std::array<std::byte, 256> memory;
  BufferPool pool(memory, 64, 4);
  const std::uint32_t third = pool.upcoming(2);
  pool.take();
  pool.take();
  EXPECT_EQ(pool.take(), third);
  for (std::uint32_t others = 0; others < 9; ++others) EXPECT_LT(pool.upcoming(others), 4u);
  pool.take();
  EXPECT_LT(pool.upcoming(0), 4u);
}

// A buffer has one owner: by a defect, none gets what is another's.
TEST(BufferPool, ABufferIsPutBackOnceAndNoneIsTakenWhereNoneIsFree) {
  alignas(64) std::array<std::byte, 128> memory;
  BufferPool pool(memory, 64, 2);
  const SurvivedBreaches breaches;
  EXPECT_FALSE(pool.put(0)) << "it is free";
  EXPECT_FALSE(pool.put_later(1));
  EXPECT_FALSE(pool.release(2)) << "there is no such buffer";
  EXPECT_FALSE(pool.put(kNone));
  EXPECT_EQ(breaches.count(), 4u);
  EXPECT_EQ(pool.free(), 2u);
  EXPECT_NE(pool.take(), pool.take());
  EXPECT_EQ(pool.take(), kNone);
  EXPECT_EQ(breaches.count(), 5u);
  EXPECT_TRUE(pool.put_later(1));
  EXPECT_FALSE(pool.put(1)) << "it is on its way back";
  EXPECT_TRUE(pool.release(0));
  EXPECT_FALSE(pool.put_later(0));
  pool.put_released(0);
  pool.settle();
  EXPECT_EQ(pool.free(), 2u);
  EXPECT_EQ(breaches.count(), 7u);
}

}  // namespace
}  // namespace tributary::aggregator
