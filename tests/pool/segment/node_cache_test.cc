// What a node keeps and drops (L1, L4).
#include "pool/segment/node_cache.h"

#include <gtest/gtest.h>

namespace tributary::pool {
namespace {

constexpr Instant at(std::int64_t ms) {
  return Instant::from_ns(ms * 1'000'000);
}
// 960 bytes of data take 1,024 with alignment: 16 records fit.
const std::vector<std::byte> kData(960, std::byte{3});
const Segment::Owner kOwner{"train", "a", 42, 1000, 960};
constexpr std::size_t kMemory = kSuperblockBytes + 16 * (sizeof(IndexEntry) + 1024);

struct Node {
  explicit Node(Eviction eviction) : limits{eviction, 100, Duration::ms(10)}, memory(kMemory) {
    start();
  }
  void start() { cache.emplace(memory, kOwner, 5, limits); }
  NodeCache::Put put(std::uint64_t id, Instant now = at(0)) { return cache->put(id, kData, now); }
  CacheLimits limits;
  std::vector<std::byte> memory;
  std::optional<NodeCache> cache;
};

TEST(PoolNodeCache, L1FullNodeRefusesAndCounts) {
  Node node(Eviction::none);
  for (std::uint64_t id = 0; id < 16; ++id) EXPECT_EQ(node.put(id), NodeCache::Put::stored);
  EXPECT_EQ(node.put(0), NodeCache::Put::present);
  EXPECT_EQ(node.put(16), NodeCache::Put::full);
  EXPECT_EQ(node.cache->counters().refused, 1u);
  EXPECT_EQ(node.cache->count(), 16u);
}

TEST(PoolNodeCache, L1SaysBeforehandThatARecordHasNoRoom) {
  Node node(Eviction::none);
  for (std::uint64_t id = 0; id < 16; ++id) {
    EXPECT_TRUE(node.cache->admits(960, at(0)));
    node.put(id);
  }
  EXPECT_FALSE(node.cache->admits(960, at(0)));
  EXPECT_FALSE(node.cache->admits(1, at(0)));
  EXPECT_EQ(node.cache->counters().refused, 2u);
  node.cache->evict(3, 1, at(0));
  EXPECT_TRUE(node.cache->admits(960, at(0)));
  Node dropping(Eviction::oldest);
  for (std::uint64_t id = 0; id < 16; ++id) dropping.put(id);
  EXPECT_TRUE(dropping.cache->admits(960, at(0)));
  EXPECT_FALSE(dropping.cache->admits(1 << 20, at(0))) << "longer than the memory";
}

TEST(PoolNodeCache, L1RecordsThatFindNoPlaceBetweenTheOthersAreNotAdmitted) {
  Node node(Eviction::none);
  for (std::uint64_t id = 0; id < 16; ++id) node.put(id);
  for (const std::uint64_t id : {3u, 7u}) node.cache->evict(id, 1, at(0));
  const std::vector<std::byte> twice(1984, std::byte{1});
  EXPECT_TRUE(node.cache->admits(1984, at(0))) << "as many bytes are free";
  EXPECT_EQ(node.cache->put(100, twice, at(0)), NodeCache::Put::full);
  EXPECT_FALSE(node.cache->admits(1984, at(0)));
  EXPECT_TRUE(node.cache->admits(960, at(0)));
  node.cache->evict(4, 1, at(0));
  EXPECT_TRUE(node.cache->admits(1984, at(0)));
  EXPECT_EQ(node.cache->put(100, twice, at(0)), NodeCache::Put::stored);
}

TEST(PoolNodeCache, L1EvictsTheOldestThatIsNotPinned) {
  Node node(Eviction::oldest);
  for (std::uint64_t id = 0; id < 16; ++id) node.put(id);
  EXPECT_EQ(node.cache->pin(0, 2, true), 2u);
  EXPECT_EQ(node.put(20), NodeCache::Put::stored);
  EXPECT_TRUE(node.cache->holds(0) && node.cache->holds(1));
  EXPECT_FALSE(node.cache->holds(2));
  EXPECT_EQ(node.cache->counters().evicted, 1u);
  EXPECT_EQ(node.cache->pin(0, 16, false), 2u);
  EXPECT_EQ(node.cache->evict(0, 16, at(0)), 15u);
  EXPECT_EQ(node.cache->count(), 1u);
}

TEST(PoolNodeCache, HighWaterMarkLeavesRoom) {
  Node node(Eviction::none);
  node.limits.high_water_percent = 50;
  node.start();
  std::uint64_t stored = 0;
  for (std::uint64_t id = 0; id < 16; ++id)
    stored += node.put(id) == NodeCache::Put::stored ? 1 : 0;
  EXPECT_EQ(stored, 8u) << "half of the capacity";
}

TEST(PoolNodeCache, L4EvictedMemoryWaitsForTheReadersLease) {
  Node node(Eviction::oldest);
  for (std::uint64_t id = 0; id < 16; ++id) node.put(id);
  const std::uint64_t lease = node.cache->leases().open(node.cache->generation(), at(0));
  EXPECT_EQ(node.put(20, at(1)), NodeCache::Put::full)
      << "a reader may be reading what was dropped";
  EXPECT_TRUE(node.cache->leases().renew(lease, node.cache->generation(), at(2)));
  EXPECT_EQ(node.put(20, at(2)), NodeCache::Put::stored);
  EXPECT_EQ(node.put(21, at(20)), NodeCache::Put::stored) << "the reader died, its lease has ended";
}

TEST(PoolNodeCache, L4ReadersRefreshByGeneration) {
  Node node(Eviction::none);
  for (std::uint64_t id = 0; id < 4; ++id) node.put(id);
  const std::uint64_t seen = node.cache->generation();
  node.cache->leases().open(seen, at(0));
  EXPECT_EQ(node.cache->after(0, 100).size(), 4u);
  EXPECT_EQ(node.cache->after(0, 3).size(), 3u);
  node.cache->evict(1, 1, at(1));
  node.put(9, at(1));
  const auto changes = node.cache->after(seen, 100);
  ASSERT_EQ(changes.size(), 2u);
  EXPECT_TRUE(is_gone(changes[0]));
  EXPECT_EQ(changes[0].id, 1u);
  EXPECT_EQ(changes[1].id, 9u);
}

// A pinned record is the oldest change for ever.
TEST(PoolNodeCache, L4ChangesBehindAPinnedRecordAreCompacted) {
  Node node(Eviction::oldest);
  node.put(0);
  node.cache->pin(0, 1, true);
  const auto churn = [&node](std::uint64_t from, const auto& each) {
    for (std::uint64_t id = from; id < from + 20'000; ++id) {
      EXPECT_EQ(node.put(id), NodeCache::Put::stored);
      node.cache->evict(id, 1, at(0));
      each();
      ASSERT_LE(node.cache->log_entries(), 2 * node.cache->count() + NodeCache::kLogSlack);
    }
  };
  churn(100, [] {});
  const std::uint64_t lease = node.cache->leases().open(node.cache->generation(), at(0));
  const std::uint64_t before = node.cache->generation();
  churn(100'000, [&] { node.cache->leases().renew(lease, node.cache->generation(), at(0)); });
  EXPECT_LE(node.cache->compacted(), before) << "no reader needs the whole table for it";
  EXPECT_EQ(node.cache->after(0, 1), std::vector{*node.cache->find(0)});
}

// Memory for all that is dropped while the reader's lease protects it.
TEST(PoolNodeCache, L4ReadersThatAreFarBehindAreToldToReadTheWholeTable) {
  std::vector<std::byte> memory(1 << 20);
  NodeCache cache(memory, {"train", "a", 42, 1000, 32}, 5, {Eviction::none, 100, Duration::ms(10)});
  const std::vector<std::byte> data(32);
  cache.put(0, data, at(0));
  const std::uint64_t seen = cache.generation();
  cache.leases().open(seen, at(0));
  cache.evict(0, 1, at(0));
  EXPECT_EQ(cache.compacted(), 0u);
  for (std::uint64_t id = 1; id < 4000; ++id) {
    ASSERT_EQ(cache.put(id, data, at(0)), NodeCache::Put::stored);
    cache.evict(id, 1, at(0));
    ASSERT_LE(cache.log_entries(), 2 * cache.count() + NodeCache::kLogSlack);
  }
  EXPECT_GT(cache.compacted(), seen);
  EXPECT_LE(cache.compacted(), cache.generation());
}

TEST(PoolNodeCache, L4RestartKeepsOrderAndRecords) {
  Node node(Eviction::oldest);
  for (std::uint64_t id = 16; id-- > 0;) node.put(id);
  node.start();
  EXPECT_EQ(node.cache->counters().recovered, 16u);
  EXPECT_EQ(node.put(30), NodeCache::Put::stored);
  EXPECT_FALSE(node.cache->holds(15)) << "the oldest before the restart is the oldest after it";
}

// Records shorter than the index was made for fill it before the memory.
TEST(PoolNodeCache, L1FullIndexIsAFullNode) {
  const std::vector<std::byte> small(10);
  Node keeps(Eviction::none);
  for (std::uint64_t id = 0; id < 16; ++id)
    EXPECT_EQ(keeps.cache->put(id, small, at(0)), NodeCache::Put::stored);
  EXPECT_EQ(keeps.cache->put(16, small, at(0)), NodeCache::Put::full);
  Node drops(Eviction::oldest);
  for (std::uint64_t id = 0; id < 17; ++id)
    EXPECT_EQ(drops.cache->put(id, small, at(0)), NodeCache::Put::stored);
  EXPECT_FALSE(drops.cache->holds(0));
  EXPECT_EQ(drops.cache->count(), 16u);
}

TEST(PoolNodeCache, L4DamagedIndexEntriesAreCountedAndTheirRecordsDropped) {
  Node node(Eviction::none);
  for (std::uint64_t id = 0; id < 4; ++id) node.put(id);
  node.memory[kSuperblockBytes + 12] ^= std::byte{1};
  node.start();
  EXPECT_EQ(node.cache->counters().recovered, 3u);
  EXPECT_EQ(node.cache->counters().corrupt, 1u);
  EXPECT_EQ(node.cache->segment().free_bytes(), 13u << 10);
}

TEST(PoolNodeCache, CorruptRecordsAreDropped) {
  Node node(Eviction::none);
  node.put(1);
  node.put(2);
  const auto record = *node.cache->find(1);
  node.memory[record.offset + 100] ^= std::byte{1};
  EXPECT_FALSE(node.cache->check(1, at(0)));
  EXPECT_TRUE(node.cache->check(2, at(0)));
  EXPECT_FALSE(node.cache->holds(1));
  EXPECT_EQ(node.cache->counters().corrupt, 1u);
}

}  // namespace
}  // namespace tributary::pool
