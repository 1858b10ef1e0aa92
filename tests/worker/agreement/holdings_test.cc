// Agreement of ranks after an epoch that ended unannounced (rule 23).
#include "worker/agreement/holdings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace tributary::worker {
namespace {

constexpr std::uint32_t kRanks = 3;

class HoldingsTest : public ::testing::Test {
 protected:
  // As if all ranks had summed their numbers.
  static Holdings holdings(const std::vector<std::int64_t>& numbers) {
    Holdings all(kRanks, 0, 0, 0);
    EXPECT_EQ(all.numbers().size(), numbers.size());
    std::copy(numbers.begin(), numbers.end(), all.numbers().begin());
    return all;
  }
};

TEST_F(HoldingsTest, Rule23_TheLowestRankThatHasAResultBringsIt) {
  const Holdings all = holdings({7, 5, 9, 6, 8, 7});
  EXPECT_EQ(all.low(), 7u);
  EXPECT_EQ(all.high(), 9u);
  EXPECT_EQ(all.holder_of(7), 1u);
  EXPECT_EQ(all.holder_of(8), 1u);
  EXPECT_FALSE(all.forgetful());
}

TEST_F(HoldingsTest, Rule23_EachRankBringsItsOwnNumbers) {
  Holdings one(kRanks, 1, 9, 4);
  EXPECT_THAT(one.numbers(), testing::ElementsAre(0, 0, 9, 4, 0, 0));
}

TEST_F(HoldingsTest, Rule23_ARankThatKeepsTooLittleIsNamed) {
  EXPECT_EQ(holdings({7, 5, 9, 8, 8, 7}).forgetful(), 1u);
  EXPECT_FALSE(holdings({0, 0, 0, 0, 0, 0}).forgetful());
}

TEST(Retry, Rule23_WhichEndsOfAnEpochAreRetried) {
  const auto may = [](wire::Reason reason) { return may_begin_anew({reason, {}, {}, {}}); };
  for (const auto reason :
       {wire::Reason::shutdown, wire::Reason::parent_lost, wire::Reason::lease_expired,
        wire::Reason::not_joined, wire::Reason::configuration_changed})
    EXPECT_TRUE(may(reason)) << wire::name_of(reason);
  for (const auto reason : {wire::Reason::none, wire::Reason::deadline, wire::Reason::rank_left,
                            wire::Reason::op_mismatch, wire::Reason::model_lost})
    EXPECT_FALSE(may(reason)) << wire::name_of(reason);
}

}  // namespace
}  // namespace tributary::worker
