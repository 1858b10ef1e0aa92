// The next records of a process: each once an epoch, and from any place on (L2).
#include "pool/loader/sampler.h"

#include <gtest/gtest.h>

#include <set>

namespace tributary::pool {
namespace {

std::uint64_t ten_bytes(std::uint64_t) {
  return 10;
}

TEST(PoolSampler, L2RanksShareAnEpochOfRecords) {
  std::set<std::uint64_t> seen;
  for (std::uint64_t rank = 0; rank < 3; ++rank) {
    Sampler sampler({100, 7, rank, 3, true});
    for (auto ids = sampler.next({9, false}, ten_bytes); !ids.empty();
         ids = sampler.next({9, false}, ten_bytes))
      for (const std::uint64_t id : ids) EXPECT_TRUE(seen.insert(id).second) << id;
    EXPECT_EQ(sampler.epoch(), 1u);
    EXPECT_EQ(sampler.position(), 0u);
  }
  EXPECT_EQ(seen.size(), 100u);
}

TEST(PoolSampler, L2BytesAreAsManyRecordsAsFitAndAtLeastOne) {
  Sampler sampler({100, 7, 0, 1, true});
  EXPECT_EQ(sampler.next({35, true}, ten_bytes).size(), 3u);
  EXPECT_EQ(sampler.next({1, true}, ten_bytes).size(), 1u);
  EXPECT_EQ(sampler.position(), 4u);
}

TEST(PoolSampler, GoesOnFromAnyPlace) {
  Sampler whole({50, 3, 0, 1, true});
  const auto all = whole.next({50, false}, ten_bytes);
  Sampler resumed({50, 3, 0, 1, true});
  resumed.seek(0, 20);
  const auto rest = resumed.next({50, false}, ten_bytes);
  EXPECT_TRUE(std::equal(rest.begin(), rest.end(), all.begin() + 20, all.end()));
  EXPECT_THROW(resumed.seek(0, 51), std::invalid_argument);
}

TEST(PoolSampler, SaysWhatIsAllowed) {
  EXPECT_THROW(Sampler({0, 0, 0, 1, true}), std::invalid_argument);
  EXPECT_THROW(Sampler({5, 0, 2, 2, true}), std::invalid_argument);
  Sampler sampler({5, 0, 0, 1, true});
  EXPECT_THROW(sampler.next({0, false}, ten_bytes), std::invalid_argument);
  EXPECT_THROW(sampler.next({6, false}, ten_bytes), std::invalid_argument);
}

}  // namespace
}  // namespace tributary::pool
