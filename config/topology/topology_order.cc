// Declared orders over a tree (T15): every switch combines one bracket, so that it has one value to
// send, whatever is inside the bracket.
//
//   [[0, 1, 2], [3, 4]]   root{A{0, 1, 2}, B{3, 4}}   A: [0, 1, 2], B: [3, 4], root: [A, B]
//   [[0, 1], [2, 3, 4]]   does not fit that tree: A's ranks 0 to 2 are no bracket
#include <algorithm>

#include "config/model/bracketing.h"
#include "config/topology/topology_tree.h"

namespace tributary::config {
namespace {

// Returns false if a rank stands apart from the other ranks of its child.
bool rename(const Bracket& from, const std::vector<ChildConfig>& children, Bracket& to) {
  auto ranks = ranks_of(from);
  std::sort(ranks.begin(), ranks.end());
  for (std::size_t i = 0; i < children.size(); ++i) {
    if (children[i].ranks != ranks) continue;
    to.rank = static_cast<std::uint32_t>(i);
    return true;
  }
  to.items.resize(from.items.size());
  for (std::size_t i = 0; i < from.items.size(); ++i)
    if (!rename(from.items[i], children, to.items[i])) return false;
  return !from.items.empty();
}

}  // namespace

std::optional<Bracket> order_over(const Bracket& declared,
                                  const std::vector<ChildConfig>& children) {
  std::vector<std::uint32_t> ranks;
  for (const ChildConfig& child : children)
    ranks.insert(ranks.end(), child.ranks.begin(), child.ranks.end());
  std::sort(ranks.begin(), ranks.end());
  const Bracket* const part = find_bracket(declared, ranks);
  Bracket order;
  if (part == nullptr || !rename(*part, children, order)) return std::nullopt;
  if (!order.items.empty()) return order;
  return Bracket{{order}, 0};  // a single child
}

}  // namespace tributary::config
