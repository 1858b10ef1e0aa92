// T11: the host that each policy chooses; ties, and the same outcome every time.
#include "config/model/host_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace tributary::config {
namespace {

using testing::ElementsAre;

std::vector<std::size_t> order_of(HostChoice choice, const std::vector<HostCandidate>& candidates,
                                  std::uint32_t job = 1) {
  std::vector<std::size_t> order(candidates.size());
  order_hosts(choice, job, candidates, order);
  return order;
}

// node, hops, cost, load, shortlisted
const std::vector<HostCandidate> kFour = {{10, 2, 7, 50, false},
                                          {11, 1, 9, std::nullopt, true},
                                          {12, 3, 7, 20, true},
                                          {13, 1, 2, 0, false}};

TEST(HostChoice, T11_FixedKeepsTheOrderOfTheList) {
  EXPECT_THAT(order_of(HostChoice::fixed, kFour), ElementsAre(0, 1, 2, 3));
}

TEST(HostChoice, T11_LeastLoadPutsTheUnknownLast) {
  EXPECT_THAT(order_of(HostChoice::least_load, kFour), ElementsAre(3, 2, 0, 1));
}

TEST(HostChoice, T11_FewestHopsAndLowestCostBreakTiesByTheList) {
  EXPECT_THAT(order_of(HostChoice::fewest_hops, kFour), ElementsAre(1, 3, 0, 2));
  EXPECT_THAT(order_of(HostChoice::lowest_cost, kFour), ElementsAre(3, 0, 2, 1));
}

// The caller's list first, and among these the root's own measure; the others stand in after them.
TEST(HostChoice, T11_TwoStagePicksAmongTheShortlisted) {
  EXPECT_THAT(order_of(HostChoice::two_stage, kFour), ElementsAre(1, 2, 3, 0));
  auto nobody = kFour;
  for (HostCandidate& c : nobody) c.shortlisted = false;
  EXPECT_THAT(order_of(HostChoice::two_stage, nobody), ElementsAre(3, 1, 0, 2));
}

TEST(HostChoice, T11_AllEqualIsTheOrderOfTheList) {
  const std::vector<HostCandidate> equal(5, {1, 1, 1, 3, true});
  for (const auto choice :
       {HostChoice::fixed, HostChoice::random, HostChoice::least_load, HostChoice::fewest_hops,
        HostChoice::lowest_cost, HostChoice::two_stage})
    EXPECT_THAT(order_of(choice, equal), ElementsAre(0, 1, 2, 3, 4)) << name_of(choice);
}

// By node and job alone: the order of the list says nothing, and jobs are spread.
TEST(HostChoice, T11_RandomIsByIdAndTheSameForEverybody) {
  EXPECT_EQ(random_rank(0, 0), 0xE220A8397B1DCDAFULL) << "SplitMix64's first output for seed 0";
  std::vector<HostCandidate> reversed(kFour.rbegin(), kFour.rend());
  std::vector<std::uint32_t> first_of(4);
  for (std::uint32_t job = 1; job <= 400; ++job) {
    const auto order = order_of(HostChoice::random, kFour, job);
    const auto other = order_of(HostChoice::random, reversed, job);
    for (std::size_t i = 0; i < order.size(); ++i)
      EXPECT_EQ(kFour[order[i]].node, reversed[other[i]].node) << "job " << job;
    ++first_of[order[0]];
  }
  for (const std::uint32_t times : first_of) EXPECT_GT(times, 60u);
}

}  // namespace
}  // namespace tributary::config
