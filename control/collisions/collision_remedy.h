// The change that ends lasting collisions of a dynamic job (O7), as `tributary set` takes it. The
// job is drained, so no op of it fails (rule 22).
//
//   the pool holds all windows      a partition of its own: static jobs never collide
//   the pool is too small           a window that is its equal share of the pool
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "control/collisions/collision_counters.h"

namespace tributary::control {

inline constexpr const char* kPartition = "static";

struct CollisionRemedy {
  std::string key;
  std::string value;
  bool operator==(const CollisionRemedy&) const = default;
};

// A partition; none for a job with rules that only dynamic jobs have.
std::optional<CollisionRemedy> partition_remedy(const CollisionCounters& job);
// A window that fits an equal share, where so many `sharers` want more than the pool has; none for
// a job whose window fits, or is that of a tree.
std::optional<CollisionRemedy> window_remedy(const CollisionCounters& job, std::uint32_t slots,
                                             std::uint32_t sharers);

}  // namespace tributary::control
