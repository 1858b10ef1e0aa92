// The declared order of a reproducible job (T15), compiled for evaluation: the position of each
// contribution, and which values are combined.
//
// Items are children of the switch. In [[0, 1, 2], [3, 4]] the positions are 0 1 2 3 4 from
// left to right, and the value is ((0 + 1) + 2) + (3 + 4). A switch that evaluates the
// whole expression gives the same bits as a tree of switches, each of which evaluates one
// bracket.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "aggregator/kernels/reduce.h"
#include "config/model/switch_config.h"
#include "config/plan/engine_tables.h"

namespace tributary::aggregator {

class Bracketing {
 public:
  // `wide` has an entry for each child: true if its data comes in the accumulator's type. Without a
  // declaration the order is flat, by child.
  Bracketing(const std::optional<config::Bracket>& declared, const std::vector<bool>& wide);

  // True without inner brackets: any prefix of the order can be combined before the rest arrives.
  [[nodiscard]] bool flat() const { return depth_ <= 1; }
  [[nodiscard]] std::size_t depth() const { return depth_; }
  [[nodiscard]] std::uint16_t position_of(std::uint16_t child) const { return position_[child]; }
  [[nodiscard]] std::uint16_t child_at(std::uint16_t position) const { return child_[position]; }

  // acc = the whole expression over sources[position], `n` elements each. `scratch` has depth() - 1
  // accumulators. Returns true if an integer was saturated.
  bool evaluate(const Kernels& kernels, void* acc, std::span<const void* const> sources,
                std::size_t n, std::span<std::byte* const> scratch) const;
  [[nodiscard]] std::size_t table_bytes() const;

 private:
  static constexpr std::uint32_t kLeaf = 0xFFFFFFFF;
  struct Run {                    // part of a bracket: adjacent contributions, or one inner bracket
    std::uint32_t inner = kLeaf;  // bracket, or a leaf run
    std::uint16_t first = 0;      // position
    std::uint16_t count = 0;
  };
  struct Node {
    std::uint32_t first_run = 0;
    std::uint32_t run_count = 0;
  };
  static_assert(sizeof(Run) == config::kOrderBytes && sizeof(Node) == config::kOrderBytes);
  struct Evaluation;

  std::uint32_t compile(const config::Bracket& bracket, std::size_t depth);
  bool evaluate(const Evaluation& e, std::uint32_t node, void* acc, std::size_t depth) const;

  bool open_run(const Evaluation& e, void* acc, std::size_t begin, std::size_t end) const;
  bool add_run(const Evaluation& e, void* acc, std::size_t begin, std::size_t end) const;

  std::vector<std::uint16_t> position_;
  std::vector<bool> wide_;  // by position
  std::vector<std::uint16_t> child_;
  std::vector<Run> runs_;
  std::vector<Node> nodes_;
  std::size_t depth_ = 1;
};

}  // namespace tributary::aggregator
