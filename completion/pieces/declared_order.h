// The declared order of a reproducible job (T15, protocol rule 11), applied to pieces: which sums
// are steps of the declared expression, and the expression's value over its pieces.
//
// [[0, 1, 2], [3, 4]] is ((0 + 1) + 2) + (3 + 4). Positions count the ranks from left to right. A
// sum is a step when it covers the first items of some bracket: {0, 1}, {0, 1, 2}, {3, 4}, and all.
// Disjoint steps that cover everything always make up the expression: each one's bracket is inside
// any other's item, or apart from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "aggregator/kernels/reduce.h"
#include "completion/pieces/piece_pool.h"
#include "config/model/switch_config.h"

namespace tributary::completion {

class DeclaredOrder {
 public:
  // Without a declaration: all ranks in one bracket.
  DeclaredOrder(const std::optional<config::Bracket>& declared, std::uint32_t workers);

  [[nodiscard]] bool is_step(ConstRankSet ranks) const;
  // The position of the leftmost of these ranks.
  [[nodiscard]] std::uint32_t position_of(ConstRankSet ranks) const;
  // The number of accumulators that evaluate() needs.
  [[nodiscard]] std::size_t depth() const { return depth_; }

  // accumulators[0] = the expression, `n` elements; `at` has each piece at its position, and
  // `scratch` has room for as many pointers. Returns true if an integer was saturated.
  bool evaluate(const aggregator::Kernels& kernels, std::span<const Piece* const> at,
                std::span<const void*> scratch, std::size_t n,
                std::span<std::byte* const> accumulators) const;

 private:
  static constexpr std::uint32_t kLeaf = 0xFFFFFFFF;
  struct Item {
    std::uint32_t bracket = kLeaf;
    std::uint32_t begin = 0;  // positions
    std::uint32_t end = 0;
  };
  struct Evaluation;

  std::uint32_t compile(const config::Bracket& bracket, std::size_t depth);
  bool evaluate(const Evaluation& e, std::uint32_t bracket, std::size_t level) const;

  std::vector<std::vector<Item>> brackets_;  // the outermost is the last
  std::vector<std::uint32_t> position_;      // by rank
  std::uint32_t next_position_ = 0;
  std::size_t depth_ = 0;
};

}  // namespace tributary::completion
