// Counters of several shards as one figure (T22).
#include "aggregator/chunk/counters.h"

#include <gtest/gtest.h>

#include <span>

namespace tributary::aggregator {
namespace {

// All that a ShardCounters consists of, whatever it is called.
std::span<Counter> all_of(ShardCounters& counters) {
  static_assert(sizeof(ShardCounters) % sizeof(Counter) == 0);
  return {reinterpret_cast<Counter*>(&counters), sizeof(ShardCounters) / sizeof(Counter)};
}

// One that is left out would always be 0, or that of one shard.
TEST(ShardCounters, EveryOneIsInTheSum) {
  ShardCounters one;
  ShardCounters other;
  std::uint64_t value = 0;
  for (Counter& counter : all_of(one)) counter.set(value += 1000);
  for (Counter& counter : all_of(other)) counter.set(value += 1000);
  ShardCounters sum;
  sum.include(one);
  sum.include(other);
  const auto ones = all_of(one);
  const auto others = all_of(other);
  const auto sums = all_of(sum);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    if (&sums[i] == &sum.slot_hold_ns_max)
      EXPECT_EQ(sums[i].get(), others[i].get()) << "the longest is not the sum of all";
    else
      EXPECT_EQ(sums[i].get(), ones[i].get() + others[i].get()) << "counter " << i;
  }
}

}  // namespace
}  // namespace tributary::aggregator
