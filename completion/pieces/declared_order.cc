#include "completion/pieces/declared_order.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/invariant.h"

namespace tributary::completion {

using aggregator::Kernels;

struct DeclaredOrder::Evaluation {
  const Kernels& kernels;
  std::span<const Piece* const> at;
  std::span<const void*> scratch;
  std::size_t n;
  std::span<std::byte* const> accumulators;

  // Positions that a piece at `begin` fills; 0: no piece begins there.
  [[nodiscard]] std::uint32_t length(std::uint32_t begin) const {
    return at[begin] == nullptr ? 0 : at[begin]->count;
  }
  // Collects the contributions at the start of a bracket in `scratch`; returns their number.
  std::size_t gather(std::span<const Item> items) const {
    std::size_t k = 0;
    for (; k < items.size(); ++k) {
      const Piece* const piece = at[items[k].begin];
      if (items[k].bracket != kLeaf || piece == nullptr || piece->wide || piece->count != 1) break;
      scratch[k] = piece->buffer.data();
    }
    return k;
  }
  void load(std::byte* acc, const Piece& piece) const {
    if (piece.wide)
      std::memcpy(acc, piece.buffer.data(), n * kernels.acc_bytes);
    else
      kernels.open(acc, piece.buffer.data(), n);
  }
  [[nodiscard]] bool add(std::byte* acc, const Piece& piece) const {
    return piece.wide ? kernels.merge(acc, piece.buffer.data(), n)
                      : kernels.fold(acc, piece.buffer.data(), n);
  }
};

DeclaredOrder::DeclaredOrder(const std::optional<config::Bracket>& declared, std::uint32_t workers)
    : position_(workers) {
  config::Bracket flat;
  for (std::uint32_t rank = 0; !declared && rank < workers; ++rank) {
    flat.items.emplace_back();
    flat.items.back().rank = rank;
  }
  const config::Bracket& order = declared ? *declared : flat;
  config::Bracket alone;  // a single rank is a bracket of one
  if (order.items.empty()) alone.items.push_back(order);
  compile(order.items.empty() ? alone : order, 1);
  TRIBUTARY_INVARIANT(next_position_ == workers);
}

std::uint32_t DeclaredOrder::compile(const config::Bracket& bracket, std::size_t depth) {
  depth_ = std::max(depth_, depth);
  std::vector<Item> items;
  for (const config::Bracket& inner : bracket.items) {
    Item item;
    item.begin = next_position_;
    if (inner.items.empty())
      position_[inner.rank] = next_position_++;
    else
      item.bracket = compile(inner, depth + 1);
    item.end = next_position_;
    items.push_back(item);
  }
  brackets_.push_back(std::move(items));
  return static_cast<std::uint32_t>(brackets_.size() - 1);
}

std::uint32_t DeclaredOrder::position_of(ConstRankSet ranks) const {
  std::uint32_t first = static_cast<std::uint32_t>(position_.size());
  for_each(ranks, [&](std::uint32_t rank) { first = std::min(first, position_[rank]); });
  return first;
}

bool DeclaredOrder::is_step(ConstRankSet ranks) const {
  const std::uint32_t begin = position_of(ranks);
  const std::uint32_t end = begin + count(ranks);
  bool adjacent = true;
  for_each(ranks, [&](std::uint32_t rank) { adjacent &= position_[rank] < end; });
  if (!adjacent) return false;
  if (end == begin + 1) return true;
  return std::any_of(brackets_.begin(), brackets_.end(), [&](const std::vector<Item>& items) {
    return items.front().begin == begin &&
           std::any_of(items.begin(), items.end(), [&](const Item& i) { return i.end == end; });
  });
}

bool DeclaredOrder::evaluate(const Kernels& kernels, std::span<const Piece* const> at,
                             std::span<const void*> scratch, std::size_t n,
                             std::span<std::byte* const> accumulators) const {
  const Evaluation e{kernels, at, scratch, n, accumulators};
  return evaluate(e, static_cast<std::uint32_t>(brackets_.size() - 1), 0);
}

bool DeclaredOrder::evaluate(const Evaluation& e, std::uint32_t bracket, std::size_t level) const {
  const std::vector<Item>& items = brackets_[bracket];
  std::byte* const acc = e.accumulators[level];
  std::uint32_t done = items.front().begin + e.length(items.front().begin);
  bool overflow = false;
  // A piece may contain the first item or more of them; one that ends earlier belongs to an inner
  // bracket.
  if (const std::size_t k = e.gather(items); k > 1) {
    overflow = e.kernels.fuse(acc, e.scratch.data(), k, e.n);
    done = items[k - 1].end;
  } else if (done >= items.front().end) {
    e.load(acc, *e.at[items.front().begin]);
  } else {
    overflow = evaluate(e, items.front().bracket, level);
    done = items.front().end;
  }
  for (const Item& item : items) {
    if (item.end <= done) continue;
    if (item.begin + e.length(item.begin) == item.end) {
      overflow |= e.add(acc, *e.at[item.begin]);
      continue;
    }
    overflow |= evaluate(e, item.bracket, level + 1);
    overflow |= e.kernels.merge(acc, e.accumulators[level + 1], e.n);
  }
  return overflow;
}

}  // namespace tributary::completion
