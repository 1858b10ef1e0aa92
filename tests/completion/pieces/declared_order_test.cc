#include "completion/pieces/declared_order.h"

#include <gtest/gtest.h>

#include <cstring>
#include <list>
#include <numeric>
#include <string>

#include "core/prng.h"

namespace tributary::completion {
namespace {

using aggregator::Kernels;
using config::Bracket;
using Floats = std::vector<float>;

Bracket rank(std::uint32_t r) {
  Bracket b;
  b.rank = r;
  return b;
}
Bracket of(std::vector<Bracket> items) {
  Bracket b;
  b.items = std::move(items);
  return b;
}

std::vector<std::uint64_t> set_of(const std::vector<std::uint32_t>& ranks) {
  std::vector<std::uint64_t> set(2);
  for (const auto r : ranks) insert(set, r);
  return set;
}

TEST(DeclaredOrder, FlatStepsArePrefixesAndSingleRanks) {
  const DeclaredOrder order(std::nullopt, 4);
  EXPECT_EQ(order.depth(), 1u);
  EXPECT_TRUE(order.is_step(set_of({0, 1})));
  EXPECT_TRUE(order.is_step(set_of({0, 1, 2, 3})));
  EXPECT_TRUE(order.is_step(set_of({3})));
  EXPECT_FALSE(order.is_step(set_of({1, 2})));
  EXPECT_FALSE(order.is_step(set_of({0, 2})));
}

TEST(DeclaredOrder, StepsOfABracketAreItsFirstItems) {
  // ((4 + 1) + (0 + 2)) + 3
  const DeclaredOrder order(of({of({rank(4), rank(1), of({rank(0), rank(2)})}), rank(3)}), 5);
  EXPECT_EQ(order.depth(), 3u);
  EXPECT_TRUE(order.is_step(set_of({4, 1})));
  EXPECT_TRUE(order.is_step(set_of({0, 2})));
  EXPECT_TRUE(order.is_step(set_of({4, 1, 0, 2})));
  EXPECT_TRUE(order.is_step(set_of({0, 1, 2, 3, 4})));
  EXPECT_FALSE(order.is_step(set_of({4, 1, 0})));
  EXPECT_FALSE(order.is_step(set_of({0, 2, 3})));
  EXPECT_FALSE(order.is_step(set_of({1, 0, 2})));
  EXPECT_EQ(order.position_of(set_of({1, 2})), 1u);
  EXPECT_EQ(order.position_of(set_of({3})), 4u);
}

TEST(DeclaredOrder, OneRankIsAnOrderToo) {
  EXPECT_TRUE(DeclaredOrder(rank(0), 1).is_step(set_of({0})));
  EXPECT_TRUE(DeclaredOrder(std::nullopt, 1).is_step(set_of({0})));
}

// Random expressions over floats that round at every step, cut at random into steps of which some
// come summed: the same bits as evaluating the whole from its contributions.
class DeclaredOrderValue : public ::testing::Test {
 protected:
  static constexpr std::size_t kElements = 3;

  Bracket random_bracket(Prng& prng, std::vector<std::uint32_t>& ranks, int depth) {
    Bracket b;
    for (std::uint32_t n = 1 + prng.below(4); n > 0 && !ranks.empty(); --n) {
      if (depth > 0 && prng.chance_ppm(400'000)) {
        b.items.push_back(random_bracket(prng, ranks, depth - 1));
      } else {
        b.items.push_back(rank(ranks.back()));
        ranks.pop_back();
      }
    }
    return b;
  }
  Floats value(const Bracket& b, std::size_t items) const {
    Floats acc = b.items.empty() ? data_[b.rank] : value(b.items[0], b.items[0].items.size());
    for (std::size_t i = 1; i < items; ++i) {
      const Floats next = value(b.items[i], b.items[i].items.size());
      for (std::size_t e = 0; e < kElements; ++e) acc[e] += next[e];
    }
    return acc;
  }
  static void ranks_in(const Bracket& b, std::size_t items, std::vector<std::uint32_t>& out) {
    if (b.items.empty()) out.push_back(b.rank);
    for (std::size_t i = 0; i < items; ++i) ranks_in(b.items[i], b.items[i].items.size(), out);
  }
  // Pieces for one bracket: its first items as one sum, perhaps, and the rest apart.
  void cut(const Bracket& b, Prng& prng, const DeclaredOrder& order) {
    if (b.items.empty()) return hold(b, 0, false, order);
    std::size_t at = 0;
    if (prng.chance_ppm(500'000)) {
      at = 1 + prng.below(static_cast<std::uint32_t>(b.items.size()));
      hold(b, at, true, order);
    }
    for (; at < b.items.size(); ++at) cut(b.items[at], prng, order);
  }
  void hold(const Bracket& b, std::size_t items, bool wide, const DeclaredOrder& order) {
    std::vector<std::uint32_t> ranks;
    ranks_in(b, items, ranks);
    sets_.push_back(set_of(ranks));
    ASSERT_TRUE(order.is_step(sets_.back()));
    values_.push_back(value(b, items));
    Piece piece;
    piece.ranks = sets_.back();
    piece.count = static_cast<std::uint32_t>(ranks.size());
    piece.wide = wide;
    piece.buffer = std::as_writable_bytes(std::span(values_.back()));
    pieces_.push_back(piece);
    at_[order.position_of(piece.ranks)] = &pieces_.back();
  }

  std::vector<Floats> data_;
  std::list<std::vector<std::uint64_t>> sets_;
  std::list<Floats> values_;
  std::list<Piece> pieces_;
  std::vector<const Piece*> at_;
};

TEST_F(DeclaredOrderValue, IsThatOfTheWholeExpressionHoweverItIsCut) {
  const Kernels& kernels = *aggregator::find_kernels(wire::DType::float32, wire::ReduceOp::sum,
                                                     aggregator::Arithmetic::saturating);
  int in_several = 0;
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Prng prng(seed);
    const std::uint32_t workers = 1 + prng.below(20);
    std::vector<std::uint32_t> ranks(workers);
    std::iota(ranks.begin(), ranks.end(), 0u);
    for (std::uint32_t i = workers; i > 1; --i) std::swap(ranks[i - 1], ranks[prng.below(i)]);
    Bracket whole;
    while (!ranks.empty()) whole.items.push_back(random_bracket(prng, ranks, 3));
    data_.clear();
    for (std::uint32_t r = 0; r < workers; ++r) {
      data_.emplace_back(kElements);
      for (float& x : data_.back()) x = (static_cast<float>(prng.below(2000)) - 1000.0F) / 7.0F;
    }
    const DeclaredOrder order(whole, workers);
    at_.assign(workers, nullptr);
    pieces_.clear();
    cut(whole, prng, order);
    in_several += pieces_.size() > 1 ? 1 : 0;

    std::vector<Floats> levels(order.depth(), Floats(kElements));
    std::vector<std::byte*> accumulators;
    for (Floats& level : levels)
      accumulators.push_back(std::as_writable_bytes(std::span(level)).data());
    std::vector<const void*> scratch(workers);
    EXPECT_FALSE(order.evaluate(kernels, at_, scratch, kElements, accumulators));
    ASSERT_EQ(levels[0], value(whole, whole.items.size()));
  }
  EXPECT_GT(in_several, 500);
}

}  // namespace
}  // namespace tributary::completion
