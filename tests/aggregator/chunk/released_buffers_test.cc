#include "aggregator/chunk/released_buffers.h"

#include <gtest/gtest.h>

#include <array>

#include "tests/core/survived_breaches.h"

namespace tributary::aggregator {
namespace {

class ReleasedBuffersTest : public ::testing::Test {
 protected:
  ReleasedBuffersTest() {
    released.watch({&pool});
    released.grow(4);
  }

  alignas(64) std::array<std::byte, 256> memory{};
  BufferPool pool{memory, 64, 4};
  ReleasedBuffers released;
};

TEST_F(ReleasedBuffersTest, HeardBuffersAreBackAfterSettling) {
  const std::uint32_t buffer = pool.take();
  EXPECT_TRUE(released.add_heard(pool, buffer));
  EXPECT_EQ(pool.free(), 3u) << "a message refers to it";
  released.settle_heard();
  EXPECT_EQ(pool.free(), 4u);
  EXPECT_EQ(pool.take(), buffer);
}

TEST_F(ReleasedBuffersTest, UnsentBuffersWaitForTheNextPacket) {
  EXPECT_TRUE(released.add_unsent(pool, pool.take()));
  EXPECT_TRUE(released.add_heard(pool, pool.take()));
  released.settle_heard();
  EXPECT_EQ(pool.free(), 3u);
  released.settle();
  EXPECT_EQ(pool.free(), 4u);
  released.settle();
  EXPECT_EQ(pool.free(), 4u) << "each is put back once";
}

TEST_F(ReleasedBuffersTest, ABufferThatIsNotTakenIsRefused) {
  const SurvivedBreaches breaches;
  EXPECT_FALSE(released.add_heard(pool, 0));
  EXPECT_FALSE(released.add_unsent(pool, 1));
  EXPECT_EQ(breaches.count(), 2u);
  released.settle();
  EXPECT_EQ(pool.free(), 4u);
}

TEST_F(ReleasedBuffersTest, AnotherSetOfPoolsIsWatchedAfterAnExchange) {
  alignas(64) std::array<std::byte, 64> more{};
  BufferPool other(more, 64, 1);
  ReleasedBuffers next;
  next.watch({&pool, &other});
  next.grow(4);
  released.exchange(next);
  EXPECT_TRUE(released.add_heard(other, other.take()));
  released.settle();
  EXPECT_EQ(other.free(), 1u);
  EXPECT_GE(released.table_bytes(), 2 * sizeof(void*));
}

}  // namespace
}  // namespace tributary::aggregator
