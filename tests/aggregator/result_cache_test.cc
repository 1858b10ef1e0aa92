#include "aggregator/result_cache.h"

#include <gtest/gtest.h>

namespace tributary::aggregator {
namespace {

ChunkDescription named(std::uint32_t op, std::uint32_t chunk) {
  ChunkDescription d;
  d.op = op;
  d.chunk = chunk;
  return d;
}

TEST(ResultCache, OldestGoesWhenItIsFull) {
  ResultCache cache(3);
  for (std::uint32_t i = 0; i < 3; ++i) EXPECT_EQ(cache.put(0, i, 10 + i, 0, named(i, 0)), kNone);
  EXPECT_EQ(cache.put(0, 3, 13, 0, named(3, 0)), 10u);
  EXPECT_EQ(cache.find(0, 0, 0), nullptr);
  for (std::uint32_t i = 1; i < 4; ++i) EXPECT_EQ(cache.find(0, i, 0)->buffer, 10 + i);
}

TEST(ResultCache, JobsDoNotMixAndLeaveAlone) {
  ResultCache cache(4);
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

TEST(ResultCache, WithoutRoomItGivesTheBufferBack) {
  ResultCache cache(0);
  EXPECT_EQ(cache.put(0, 0, 9, 0, named(0, 0)), 9u);
  EXPECT_EQ(cache.find(0, 0, 0), nullptr);
}

}  // namespace
}  // namespace tributary::aggregator
