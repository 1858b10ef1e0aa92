// Every record of an epoch once, on one rank, in an order that a seed decides (L2).
#include "pool/record/epoch_order.h"

#include <gtest/gtest.h>

#include <vector>

namespace tributary::pool {
namespace {

TEST(PoolEpochOrder, L2EveryRecordExactlyOnce) {
  for (const std::uint64_t count : {1u, 2u, 3u, 5u, 16u, 17u, 1000u, 4097u}) {
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
      const EpochOrder order(count, seed, 2);
      std::vector<bool> seen(count);
      for (std::uint64_t at = 0; at < count; ++at) {
        const std::uint64_t id = order.at(at);
        ASSERT_LT(id, count);
        ASSERT_FALSE(seen[id]) << "count " << count << ", seed " << seed << ", id " << id;
        seen[id] = true;
      }
    }
  }
}

TEST(PoolEpochOrder, SeedAndEpochDecide) {
  const auto first = [](std::uint64_t seed, std::uint64_t epoch) {
    const EpochOrder order(100'000, seed, epoch);
    std::vector<std::uint64_t> out;
    for (std::uint64_t at = 0; at < 50; ++at) out.push_back(order.at(at));
    return out;
  };
  EXPECT_EQ(first(1, 1), first(1, 1));
  EXPECT_NE(first(1, 1), first(1, 2));
  EXPECT_NE(first(1, 1), first(2, 1));
}

// Neighbours are as far from each other as in a random order: a third of the count on average.
TEST(PoolEpochOrder, IsShuffledThroughout) {
  constexpr std::uint64_t kCount = 30'000;
  const EpochOrder order(kCount, 5, 0);
  double sum = 0;
  for (std::uint64_t at = 1; at < kCount; ++at)
    sum += std::abs(static_cast<double>(order.at(at)) - static_cast<double>(order.at(at - 1)));
  EXPECT_NEAR(sum / kCount / kCount, 1.0 / 3, 0.02);
}

TEST(PoolEpochOrder, UnshuffledIsTheIdsThemselves) {
  const EpochOrder order(10, 5, 0, false);
  for (std::uint64_t at = 0; at < 10; ++at) EXPECT_EQ(order.at(at), at);
}

TEST(PoolEpochOrder, SharesAddUp) {
  for (std::uint64_t ranks = 1; ranks < 9; ++ranks) {
    std::uint64_t sum = 0;
    for (std::uint64_t rank = 0; rank < ranks; ++rank) sum += share_of(23, rank, ranks);
    EXPECT_EQ(sum, 23u);
  }
}

}  // namespace
}  // namespace tributary::pool
