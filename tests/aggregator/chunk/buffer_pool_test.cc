#include "aggregator/chunk/buffer_pool.h"

#include <gtest/gtest.h>

#include <array>
#include <set>

namespace tributary::aggregator {
namespace {

TEST(BufferPool, BuffersDoNotOverlapAndTheLastReturnedIsTakenFirst) {
  alignas(64) std::array<std::byte, 256> memory;
  BufferPool pool(memory, 64, 4);
  std::set<std::byte*> taken;
  for (int i = 0; i < 4; ++i) taken.insert(pool.at(pool.take()));
  EXPECT_EQ(taken, (std::set{&memory[0], &memory[64], &memory[128], &memory[192]}));
  EXPECT_EQ(pool.free(), 0u);
  pool.put(1);
  pool.put(3);
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

}  // namespace
}  // namespace tributary::aggregator
