// In how many of a job's latest ops each child was the first to come, and the last. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "aggregator/shard/status.h"

namespace tributary::control {

struct ArrivalCounts {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  bool operator==(const ArrivalCounts&) const = default;
};

// By child. Ops that lack data are left out, and so are those in which all came at once. Of
// children that came together, the first by number counts.
std::vector<ArrivalCounts> arrival_counts(std::span<const aggregator::OpLateness> ops);

}  // namespace tributary::control
