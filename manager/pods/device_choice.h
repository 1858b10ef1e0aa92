// The ways in which a pod can have devices of a node, the best first: the least loaded, of these
// those with the least memory. Devices that are alike give one way.
#pragma once

#include <functional>
#include <vector>

#include "manager/pods/filter.h"

namespace tributary::manager {

// Whether a pod that names no device can tell the two apart.
bool is_like(const Device& a, const Device& b);
// Calls `use(indices)` for each way until it returns true; returns whether it has.
bool each_choice(const Node& node, const Ask& ask, const Thresholds& thresholds,
                 const std::function<bool(const std::vector<std::size_t>&)>& use);

}  // namespace tributary::manager
