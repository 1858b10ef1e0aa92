#include "control/collisions/collision_remedy.h"

#include <algorithm>
#include <bit>

namespace tributary::control {
namespace {

std::string key_of(const CollisionCounters& job, const char* key) {
  return "jobs." + std::to_string(job.job) + "." + key;
}

}  // namespace

std::optional<CollisionRemedy> partition_remedy(const CollisionCounters& job) {
  if (job.has_rules) return std::nullopt;
  return CollisionRemedy{key_of(job, "slots"), kPartition};
}

std::optional<CollisionRemedy> window_remedy(const CollisionCounters& job, std::uint32_t slots,
                                             std::uint32_t sharers) {
  if (job.in_tree) return std::nullopt;
  const std::uint32_t share = std::bit_floor(slots / std::max(sharers, 1u));
  if (share == 0 || share >= job.window) return std::nullopt;
  return CollisionRemedy{key_of(job, "window"), std::to_string(share)};
}

}  // namespace tributary::control
