#include "control/stragglers/arrival_order.h"

#include <algorithm>

namespace tributary::control {

std::vector<ArrivalCounts> arrival_counts(std::span<const aggregator::OpLateness> ops) {
  std::vector<ArrivalCounts> counts;
  for (const aggregator::OpLateness& op : ops) {
    if (counts.empty()) counts.resize(op.behind.size());
    if (!op.complete || op.behind.empty() || op.behind.size() != counts.size()) continue;
    const auto [first, last] = std::minmax_element(op.behind.begin(), op.behind.end());
    if (*first == *last) continue;
    const auto latest = std::find(op.behind.begin(), op.behind.end(), *last);
    ++counts[static_cast<std::size_t>(first - op.behind.begin())].first;
    ++counts[static_cast<std::size_t>(latest - op.behind.begin())].last;
  }
  return counts;
}

}  // namespace tributary::control
