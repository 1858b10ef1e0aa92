// Filling ahead of use: bounded, complete, and clear about what failed (L1).
#include "pool/store/prefetcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/pool/no_threads.h"
#include "tests/pool/store/fake_store.h"

namespace tributary::pool {
namespace {

// Two shards of 1,000 records of 100 bytes each, of which record i is full of its id.
struct Filling {
  explicit Filling(const FillOptions& options) : prefetcher(store, manifest, options) {
    for (int shard = 0; shard < 2; ++shard) {
      std::string data;
      for (int i = 0; i < 1000; ++i)
        data += std::string(100, static_cast<char>((shard * 1000 + i) % 251));
      shared->objects["s" + std::to_string(shard)] = data;
    }
  }
  Prefetcher::Target target(std::uint64_t capacity = 1 << 30) {
    return {[this](std::uint64_t id) { return wants(id); },
            [this, capacity](std::uint64_t id, std::span<const std::byte> data) {
              const std::lock_guard lock(mutex);
              if (got.size() >= capacity) return Prefetcher::Taken::full;
              EXPECT_EQ(data.size(), 100u);
              for (const std::byte b : data) {
                if (b != static_cast<std::byte>(id % 251)) wrong = true;
              }
              EXPECT_TRUE(got.emplace(id, 1).second) << "twice: " << id;
              return Prefetcher::Taken::stored;
            }};
  }
  std::function<bool(std::uint64_t)> wants = [](std::uint64_t) { return true; };
  std::shared_ptr<FakeStore::Shared> shared = std::make_shared<FakeStore::Shared>();
  FakeStore store{shared};
  std::vector<std::byte> bytes = write_manifest(
      Format::fixed, 100, 0, {{"s0", 100'000, 1, 0, 1000}, {"s1", 100'000, 1, 0, 1000}}, {});
  Manifest manifest{bytes};
  std::mutex mutex;
  std::map<std::uint64_t, int> got;
  bool wrong = false;
  Prefetcher prefetcher;
};

FillOptions options(std::uint32_t parallel = 4, OnDamaged on_damaged = OnDamaged::skip) {
  return {parallel, {Duration::us(10), Duration::us(10), 2}, on_damaged};
}

TEST(PoolPrefetcherTimed, L1EveryRecordOnceInFewRequests) {
  Filling fill(options());
  fill.prefetcher.run(0, 2000, fill.target());
  EXPECT_EQ(fill.got.size(), 2000u);
  EXPECT_FALSE(fill.wrong);
  EXPECT_EQ(fill.shared->reads, 2) << "one a shard";
  const FillProgress progress = fill.prefetcher.progress();
  EXPECT_EQ(progress.stored, 2000u);
  EXPECT_EQ(progress.stored_bytes, 200'000u);
  EXPECT_FALSE(progress.running);
}

TEST(PoolPrefetcherTimed, L1ParallelismIsBounded) {
  Filling fill(options(3));
  fill.wants = [](std::uint64_t id) { return id % 500 == 0; };  // too far apart for one request
  fill.prefetcher.run(0, 2000, fill.target());
  EXPECT_EQ(fill.got.size(), 4u);
  EXPECT_LE(fill.shared->most_at_once, 3);
}

TEST(PoolPrefetcherTimed, L1FillsOnItsOwnThreadWhereNoOtherIsLeft) {
  Filling fill(options());
  {
    const NoThreads none;
    EXPECT_THROW(std::thread([] {}), std::system_error);
    fill.prefetcher.run(0, 2000, fill.target());
  }
  EXPECT_EQ(fill.got.size(), 2000u);
  EXPECT_FALSE(fill.wrong);
  EXPECT_EQ(fill.prefetcher.progress().failed, 0u);
}

TEST(PoolPrefetcherTimed, L1RecordsForWhichMemoryIsShortAreNamedAndTheOthersRead) {
  Filling fill(options(1));
  fill.shared->before = [](const std::string& name, int) {
    if (name == "s0") throw std::bad_alloc();
  };
  fill.prefetcher.run(0, 2000, fill.target());
  EXPECT_EQ(fill.got.size(), 1000u);
  const FillProgress progress = fill.prefetcher.progress();
  EXPECT_EQ(progress.failed, 1000u);
  ASSERT_FALSE(progress.errors.empty());
  EXPECT_THAT(progress.errors[0], testing::HasSubstr("s0, records 0 to"));
}

TEST(PoolPrefetcherTimed, L1RecordsThatAWorkerLeftUndoneAreCounted) {
  Filling fill(options(1));
  Prefetcher::Target target = fill.target();
  const auto deliver = target.deliver;
  target.deliver = [&](std::uint64_t id, std::span<const std::byte> data) {
    if (id == 7) throw std::bad_alloc();
    return deliver(id, data);
  };
  fill.wants = [&](std::uint64_t id) { return !fill.got.contains(id); };
  fill.prefetcher.run(0, 2000, target);
  EXPECT_EQ(fill.got.size(), 7u);
  EXPECT_EQ(fill.prefetcher.progress().failed, 1993u);
  EXPECT_FALSE(fill.prefetcher.progress().running);
}

TEST(PoolPrefetcherTimed, RangeAndWishesAreKept) {
  Filling fill(options());
  fill.wants = [](std::uint64_t id) { return id % 2 == 0; };
  fill.prefetcher.run(990, 20, fill.target());
  EXPECT_EQ(fill.got.size(), 10u);
  EXPECT_EQ(fill.got.begin()->first, 990u);
  EXPECT_EQ(fill.got.rbegin()->first, 1008u);
  fill.prefetcher.run(1995, 1000, fill.target());
  EXPECT_EQ(fill.got.rbegin()->first, 1998u) << "no further than the manifest";
}

TEST(PoolPrefetcherTimed, L1DamagedShardIsSkippedAndNamed) {
  Filling fill(options());
  fill.shared->before = [](const std::string& name, int) {
    if (name == "s1") throw StoreError(StoreFault::not_found, "HTTP 404");
  };
  fill.prefetcher.run(0, 2000, fill.target());
  EXPECT_EQ(fill.got.size(), 1000u);
  const FillProgress progress = fill.prefetcher.progress();
  EXPECT_EQ(progress.failed, 1000u);
  ASSERT_FALSE(progress.errors.empty());
  EXPECT_THAT(progress.errors[0], testing::StartsWith("s1, records 1"));
  EXPECT_THAT(progress.errors[0], testing::HasSubstr("HTTP 404"));
}

TEST(PoolPrefetcherTimed, L1DamagedShardEndsTheFillWhereTheUserSaysSo) {
  Filling fill(options(1, OnDamaged::stop));
  fill.shared->before = [](const std::string& name, int) {
    if (name == "s0") throw StoreError(StoreFault::denied, "HTTP 403");
  };
  fill.prefetcher.run(0, 2000, fill.target());
  EXPECT_TRUE(fill.got.empty());
}

TEST(PoolPrefetcherTimed, L1LaterFillsOfAStoppedOneAreWhole) {
  Filling fill(options(1, OnDamaged::stop));
  fill.shared->before = [](const std::string& name, int) {
    if (name == "s0") throw StoreError(StoreFault::denied, "HTTP 403");
  };
  fill.prefetcher.run(0, 2000, fill.target());
  fill.shared->before = nullptr;
  fill.prefetcher.run(0, 2000, fill.target());
  EXPECT_EQ(fill.got.size(), 2000u);
  EXPECT_EQ(fill.prefetcher.progress().failed, 0u);
  fill.got.clear();
  fill.prefetcher.stop();
  fill.prefetcher.run(0, 2000, fill.target());
  EXPECT_TRUE(fill.got.empty()) << "the node is ending";
}

TEST(PoolPrefetcherTimed, L1NothingIsReadThatHasNoRoom) {
  Filling fill(options(1));
  Prefetcher::Target target = fill.target(1000);
  target.has_room = [&](std::uint32_t bytes) { return bytes == 100 && fill.got.size() < 1000; };
  fill.prefetcher.run(0, 2000, target);
  EXPECT_EQ(fill.got.size(), 1000u);
  EXPECT_EQ(fill.shared->reads, 1) << "the second shard is not read";
  EXPECT_EQ(fill.prefetcher.progress().wanted, 2000u);
  EXPECT_EQ(fill.prefetcher.progress().full, 1000u);
}

TEST(PoolPrefetcherTimed, FullNodeIsCounted) {
  Filling fill(options());
  fill.prefetcher.run(0, 2000, fill.target(100));
  EXPECT_EQ(fill.prefetcher.progress().stored, 100u);
  EXPECT_EQ(fill.prefetcher.progress().full, 1900u);
}

}  // namespace
}  // namespace tributary::pool
