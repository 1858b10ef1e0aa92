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
    Sampler sampler({100, 7, rank, 3, true, Uneven::keep});
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

// The ids of an epoch by rank.
std::vector<std::vector<std::uint64_t>> epoch(std::uint64_t records, std::uint64_t ranks,
                                              Uneven uneven) {
  std::vector<std::vector<std::uint64_t>> out(ranks);
  for (std::uint64_t rank = 0; rank < ranks; ++rank) {
    Sampler sampler({records, 7, rank, ranks, false, uneven});
    for (auto ids = sampler.next({1, false}, ten_bytes); !ids.empty();
         ids = sampler.next({1, false}, ten_bytes))
      out[rank].push_back(ids.at(0));
    EXPECT_EQ(out[rank].size(), sampler.share());
    EXPECT_EQ(sampler.epoch(), 1u);
  }
  return out;
}

using Shares = std::vector<std::vector<std::uint64_t>>;

// What torch.utils.data.DistributedSampler(range(n), ranks, rank, shuffle=False, drop_last=...)
// gives.
TEST(PoolSampler, RanksHaveEquallyManyRecordsAsInPyTorch) {
  EXPECT_EQ(epoch(10, 4, Uneven::pad), (Shares{{0, 4, 8}, {1, 5, 9}, {2, 6, 0}, {3, 7, 1}}));
  EXPECT_EQ(epoch(10, 4, Uneven::drop), (Shares{{0, 4}, {1, 5}, {2, 6}, {3, 7}}));
  EXPECT_EQ(epoch(3, 8, Uneven::pad), (Shares{{0}, {1}, {2}, {0}, {1}, {2}, {0}, {1}}));
  EXPECT_EQ(epoch(3, 4, Uneven::drop), Shares(4));
  EXPECT_EQ(epoch(8, 4, Uneven::pad), epoch(8, 4, Uneven::keep));
}

TEST(PoolSampler, RanksWithFewerRecordsMayAskForAsManyAsTheOthers) {
  EXPECT_EQ(epoch(10, 4, Uneven::keep), (Shares{{0, 4, 8}, {1, 5, 9}, {2, 6}, {3, 7}}));
  EXPECT_EQ(epoch(2, 3, Uneven::keep), (Shares{{0}, {1}, {}}));
  Sampler last({10, 7, 3, 4, false, Uneven::keep});
  EXPECT_EQ(last.next({3, false}, ten_bytes).size(), 2u);
  EXPECT_THROW(last.next({4, false}, ten_bytes), std::invalid_argument);
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
