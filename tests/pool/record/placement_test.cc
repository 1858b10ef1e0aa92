// Rendezvous hashing: balance, minimal movement, agreement (L1).
#include "pool/record/placement.h"

#include <gtest/gtest.h>

#include <array>
#include <stdexcept>

namespace tributary::pool {
namespace {

std::vector<PlacedNode> nodes(std::size_t count) {
  std::vector<PlacedNode> out;
  for (std::size_t i = 0; i < count; ++i) out.push_back({"node" + std::to_string(i), 1});
  return out;
}

TEST(PoolPlacement, L1RecordsSpreadEvenly) {
  const Placement placement(nodes(8), 0, 0);
  std::array<int, 8> counts{};
  for (std::uint64_t id = 0; id < 80'000; ++id) ++counts[placement.owners(id).nodes[0]];
  for (const int count : counts) EXPECT_NEAR(count, 10'000, 500);
}

TEST(PoolPlacement, WeightsAreShares) {
  auto some = nodes(3);
  some[1].weight = 2;
  const Placement placement(some, 0, 0);
  std::array<int, 3> counts{};
  for (std::uint64_t id = 0; id < 40'000; ++id) ++counts[placement.owners(id).nodes[0]];
  EXPECT_NEAR(counts[1], 20'000, 600);
  EXPECT_NEAR(counts[0], 10'000, 500);
}

TEST(PoolPlacement, L1NodeThatLeavesMovesOnlyItsOwn) {
  const auto all = nodes(5);
  auto fewer = all;
  fewer.pop_back();
  const Placement before(all, 2, 0);
  const Placement after(fewer, 2, 0);
  for (std::uint64_t id = 0; id < 5'000; ++id) {
    const Owners a = before.owners(id);
    const Owners b = after.owners(id);
    ASSERT_EQ(a.count, 3);
    if (!a.contains(4)) {
      for (int i = 0; i < 3; ++i) EXPECT_EQ(a.nodes[i], b.nodes[i]) << id;
    } else if (a.nodes[0] == 4) {
      EXPECT_EQ(b.nodes[0], a.nodes[1]) << "the first replica becomes the primary, id " << id;
    }
  }
}

TEST(PoolPlacement, ReplicasAreOnOtherNodesAndAsManyAsThereAre) {
  const Placement placement(nodes(2), 2, 0);
  const Owners owners = placement.owners(9);
  ASSERT_EQ(owners.count, 2);
  EXPECT_NE(owners.nodes[0], owners.nodes[1]);
}

TEST(PoolPlacement, GroupsStayTogether) {
  const Placement placement(nodes(4), 1, 4);
  for (std::uint64_t id = 0; id < 64; ++id)
    EXPECT_EQ(placement.owners(id).nodes[0], placement.owners(id & ~15ULL).nodes[0]);
  EXPECT_EQ(group_shift_for(784), 8u);
  EXPECT_EQ(group_shift_for(100 << 10), 1u);
  EXPECT_EQ(group_shift_for(1 << 20), 0u);
  EXPECT_EQ(group_shift_for(0), 12u);
}

// Another version of the code that places differently would lose every record of a pool.
TEST(PoolPlacement, PlacesAsItAlwaysDid) {
  const Placement placement(nodes(5), 1, 0);
  std::string placed;
  for (std::uint64_t id = 0; id < 16; ++id) {
    placed += std::to_string(placement.owners(id).nodes[0]);
    placed += std::to_string(placement.owners(id).nodes[1]) + " ";
  }
  EXPECT_EQ(placed, "21 30 12 41 32 34 30 21 14 03 13 24 34 03 30 21 ");
}

TEST(PoolPlacement, SaysWhatIsAllowed) {
  EXPECT_THROW(Placement({}, 0, 0), std::invalid_argument);
  EXPECT_THROW(Placement(nodes(2), 3, 0), std::invalid_argument);
  EXPECT_THROW(Placement({{"a", 0}}, 0, 0), std::invalid_argument);
}

}  // namespace
}  // namespace tributary::pool
