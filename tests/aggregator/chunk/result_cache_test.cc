#include "aggregator/chunk/result_cache.h"

#include <gtest/gtest.h>

#include <vector>

namespace tributary::aggregator {
namespace {

ChunkDescription named(std::uint32_t op, std::uint32_t chunk) {
  ChunkDescription d;
  d.op = op;
  d.chunk = chunk;
  return d;
}

TEST(ResultCache, OldestGoesWhenItIsFull) {
  ResultCache cache(3, 1);
  using Evicted = ResultCache::Evicted;
  for (std::uint32_t i = 0; i < 3; ++i)
    EXPECT_EQ(cache.put(0, i, 10 + i, 0, named(i, 0)), Evicted());
  EXPECT_EQ(cache.put(0, 3, 13, 0, named(3, 0)), (Evicted{0, 10}));
  EXPECT_EQ(cache.find(0, 0, 0), nullptr);
  for (std::uint32_t i = 1; i < 4; ++i) EXPECT_EQ(cache.find(0, i, 0)->buffer, 10 + i);
}

TEST(ResultCache, JobsDoNotMixAndLeaveAlone) {
  ResultCache cache(4, 3);
  cache.put(1, 0, 1, 0, named(5, 6));
  cache.put(2, 0, 2, 0, named(5, 6));
  EXPECT_EQ(cache.find(1, 5, 6)->buffer, 1u);
  std::uint32_t put_back = kNone;
  cache.drop(1, [&](std::uint32_t buffer) { put_back = buffer; });
  EXPECT_EQ(put_back, 1u);
  EXPECT_EQ(cache.find(1, 5, 6), nullptr);
  EXPECT_EQ(cache.find(2, 5, 6)->buffer, 2u);
  EXPECT_EQ(cache.size(), 1u);
}

// The job that evicts is not the one that loses.
TEST(ResultCache, EvictionSaysWhoseResultHadToGo) {
  ResultCache cache(2, 3);
  cache.put(1, 0, 10, 0, named(0, 0));
  cache.put(2, 0, 11, 0, named(0, 0));
  EXPECT_EQ(cache.put(0, 0, 12, 0, named(0, 0)), (ResultCache::Evicted{1, 10}));
  EXPECT_EQ(cache.put(0, 1, 13, 0, named(1, 0)), (ResultCache::Evicted{2, 11}));
  EXPECT_EQ(cache.put(0, 2, 14, 0, named(2, 0)), (ResultCache::Evicted{0, 12}));
}

// A job's end costs what the job has here, however much others have.
TEST(ResultCache, ListsOfJobsSurviveEvictionAtBothEnds) {
  ResultCache cache(6, 2);
  std::uint32_t next = 0;
  std::vector<std::uint32_t> kept;  // buffers of job 1, newest first
  const auto put = [&](std::uint32_t job) {
    const ResultCache::Evicted evicted = cache.put(job, next, next, 0, named(next, 0));
    if (evicted.job == 1) std::erase(kept, evicted.buffer);
    if (job == 1) kept.insert(kept.begin(), next);
    ++next;
  };
  const auto drop = [&](std::uint32_t job) {
    std::vector<std::uint32_t> dropped;
    cache.drop(job, [&](std::uint32_t buffer) { dropped.push_back(buffer); });
    return dropped;
  };
  for (const std::uint32_t job : {1u, 0u, 1u, 1u, 0u, 1u, 0u, 1u}) put(job);
  ASSERT_EQ(kept.size(), 4u);
  EXPECT_EQ(drop(1), kept);
  kept.clear();
  EXPECT_EQ(cache.size(), 2u);
  for (const std::uint32_t job : {1u, 1u, 0u}) put(job);
  EXPECT_EQ(drop(1), kept);
  EXPECT_EQ(drop(1), std::vector<std::uint32_t>());
  EXPECT_EQ(drop(0).size(), 2u);
  EXPECT_EQ(cache.size(), 0u);
}

TEST(ResultCache, WithoutRoomItGivesTheBufferBack) {
  ResultCache cache(0, 1);
  EXPECT_EQ(cache.put(0, 0, 9, 0, named(0, 0)), (ResultCache::Evicted{0, 9}));
  EXPECT_EQ(cache.find(0, 0, 0), nullptr);
}

}  // namespace
}  // namespace tributary::aggregator
