#include "completion/pieces/cover.h"

#include <gtest/gtest.h>

#include <list>

namespace tributary::completion {
namespace {

class CoverTest : public ::testing::Test {
 protected:
  using Ranks = std::vector<std::uint32_t>;

  CoverTest() : covered_(1), lost_(1) { chunk_.covered = covered_; }

  void hold(const Ranks& ranks) {
    sets_.emplace_back(1);
    for (const auto r : ranks) insert(sets_.back(), r);
    pieces_.emplace_back();
    Piece& piece = pieces_.back();
    piece.ranks = sets_.back();
    piece.next = chunk_.pieces;
    chunk_.pieces = &piece;
    unite(chunk_.covered, piece.ranks);
  }
  Fit fits(const Ranks& ranks) {
    std::vector<std::uint64_t> set(1);
    for (const auto r : ranks) insert(set, r);
    return fit(chunk_, set, lost_);
  }
  Ranks lost() const {
    Ranks ranks;
    for_each(lost_, [&](std::uint32_t r) { ranks.push_back(r); });
    return ranks;
  }

  Chunk chunk_;
  std::vector<std::uint64_t> covered_;
  std::vector<std::uint64_t> lost_;
  std::list<std::vector<std::uint64_t>> sets_;
  std::list<Piece> pieces_;
};

TEST_F(CoverTest, DisjointPiecesJoin) {
  EXPECT_EQ(fits({1, 2}), Fit::disjoint);
  hold({1, 2});
  EXPECT_EQ(fits({0}), Fit::disjoint);
  EXPECT_EQ(lost(), Ranks{});
}

TEST_F(CoverTest, WhatIsCoveredIsADuplicate) {
  hold({0});
  hold({1, 2, 3});
  EXPECT_EQ(fits({0}), Fit::duplicate);
  EXPECT_EQ(fits({2}), Fit::duplicate);
  EXPECT_EQ(fits({0, 1}), Fit::duplicate);
  EXPECT_EQ(lost(), Ranks{});
}

// Rule 7: A alone must not waste B and C of {A, B, C}.
TEST_F(CoverTest, AnAggregateReplacesTheSinglesInIt) {
  hold({0});
  hold({5});
  EXPECT_EQ(fits({0, 1, 2}), Fit::replaces);
  EXPECT_EQ(lost(), Ranks{});
}

TEST_F(CoverTest, WhicheverCoversMoreStays) {
  hold({0, 1});
  EXPECT_EQ(fits({1, 2, 3}), Fit::replaces);
  EXPECT_EQ(lost(), Ranks{0});
  EXPECT_EQ(fits({1, 2}), Fit::dropped);
  EXPECT_EQ(lost(), Ranks{2});
  hold({2, 3, 4});
  EXPECT_EQ(fits({1, 2, 9}), Fit::dropped);
  EXPECT_EQ(lost(), Ranks{9});
}

}  // namespace
}  // namespace tributary::completion
