#include "worker/agreement/switch_agreement.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tributary::worker {
namespace {

PlaceVote maximum_of(const std::vector<PlaceVote>& votes) {
  PlaceVote maximum = votes.front();
  for (const PlaceVote& vote : votes)
    for (std::size_t i = 0; i < vote.size(); ++i) maximum[i] = std::max(maximum[i], vote[i]);
  return maximum;
}

TEST(SwitchAgreement, A2_TheSamePlaceOnAllRanksIsRight) {
  for (const std::uint32_t place : {0u, 15u}) {
    std::vector<PlaceVote> votes;
    for (const std::uint32_t rank : {0u, 1u, 65535u}) votes.push_back(vote_for_place(place, rank));
    EXPECT_EQ(why_places_differ(maximum_of(votes), "udp://10.0.0.1"), "");
  }
}

TEST(SwitchAgreement, A2_NamesBothSides) {
  EXPECT_EQ(why_places_differ(
                maximum_of({vote_for_place(1, 2), vote_for_place(1, 3), vote_for_place(0, 4)}),
                "udp://10.0.0.1"),
            "the ranks' address lists name udp://10.0.0.1 at different places: rank 4 has it at "
            "place 0, rank 3 has it at place 1 (counted from 0); all ranks need the same list");
}

TEST(SwitchAgreement, A3_OtherAddressBitsAreNamedOnBothSides) {
  const auto differ = [](const AddressBits& one, const AddressBits& other) {
    return why_places_differ(maximum_of({vote_for_place(0, 2, one), vote_for_place(0, 1, other),
                                         vote_for_place(0, 0, one)}),
                             "udp://10.0.0.1");
  };
  EXPECT_EQ(differ({16, 1}, {16, 1}), "");
  EXPECT_EQ(
      differ({16, 1}, {}),
      "the ranks choose switches by different address bits: rank 1 has none, rank 2 has 1 from "
      "bit 16 on; all ranks need the same");
  EXPECT_NE(differ({16, 1}, {16, 2}), "");
  EXPECT_NE(differ({16, 1}, {17, 1}), "");
  EXPECT_NE(differ({1, 30}, {30, 1}), "");
  // Ranks of lists in another order, too.
  EXPECT_NE(why_places_differ(
                maximum_of({vote_for_place(0, 0, {16, 1}), vote_for_place(1, 1, {16, 1})}), "a"),
            "");
}

TEST(SwitchAgreement, A2_SwitchesHaveToCutAndSumAlike) {
  wire::StartInfo first;
  first.chunk_bytes = 1024;
  wire::StartInfo other = first;
  other.window = first.window + 1;  // each its own
  EXPECT_EQ(why_switches_differ(first, other), "");
  other.chunk_bytes = 512;
  EXPECT_EQ(why_switches_differ(first, other), "chunk_bytes is 1024 there and 512 here");
  other = first;
  other.arithmetic = 1;
  EXPECT_EQ(why_switches_differ(first, other), "arithmetic is 0 there and 1 here");
}

}  // namespace
}  // namespace tributary::worker
