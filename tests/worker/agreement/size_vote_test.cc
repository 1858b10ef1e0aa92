// What the maximum over all ranks says about the number of ranks that they want (rule 24).
#include "worker/agreement/size_vote.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace tributary::worker {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// As if the ranks had voted for these sizes, at a switch that allows 2 to 6.
SizeVote votes(const std::vector<std::uint32_t>& sizes, std::uint32_t most = 6) {
  SizeVote maximum = vote_for_size(sizes[0], 0, 2, most);
  for (std::uint32_t rank = 1; rank < sizes.size(); ++rank) {
    const SizeVote one = vote_for_size(sizes[rank], rank, 2, most);
    for (std::size_t i = 0; i < one.size(); ++i) maximum[i] = std::max(maximum[i], one[i]);
  }
  return maximum;
}

TEST(SizeVote, Rule24_RanksThatWantTheSameAgree) {
  for (const std::uint32_t size : {2u, 4u, 6u}) {
    const SizeVerdict verdict = verdict_of(votes({size, size, size}), size, 3, 1);
    EXPECT_TRUE(verdict.agreed);
    EXPECT_EQ(verdict.impossible + verdict.differ, "");
  }
}

TEST(SizeVote, Rule24_RanksThatDifferAreNamed) {
  const SizeVerdict verdict = verdict_of(votes({4, 3, 5}), 4, 3, 9);
  EXPECT_FALSE(verdict.agreed);
  EXPECT_EQ(
      verdict.differ,
      "job 9: the ranks want different sizes: rank 1 wants 3, rank 2 wants 5; the job stays at 3");
  EXPECT_THAT(verdict.ranks, ElementsAre(1, 2));
  EXPECT_THAT(verdict_of(votes({0, 0xFFFFFFFF}), 0, 2, 9).differ, HasSubstr("rank 0 wants 0"));
}

TEST(SizeVote, Rule24_SizesBeyondTheSwitchsLimitsAreImpossible) {
  for (const std::uint32_t size : {0u, 1u, 7u, 0xFFFFFFFFu}) {
    const SizeVerdict verdict = verdict_of(votes({size, size}), size, 2, 9);
    EXPECT_FALSE(verdict.agreed);
    EXPECT_THAT(verdict.impossible, HasSubstr("job 9 has 2 to 6 ranks"));
  }
  EXPECT_THAT(verdict_of(votes({3, 3}, 0), 3, 2, 9).impossible,
              HasSubstr("has no min_workers at its switch; allowed: 2"));
}

}  // namespace
}  // namespace tributary::worker
