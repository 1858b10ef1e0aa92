// Counters of a job with dynamic slots, and its share of the pool (O7).
#pragma once

#include <cstdint>
#include <string>

namespace tributary::control {

struct CollisionCounters {
  std::uint32_t job = 0;
  std::uint8_t plane = 0;
  std::string name;              // as texts name it: the job, with its plane if it has several
  std::uint64_t chunks = 0;      // finished in the switch
  std::uint64_t collisions = 0;  // escalated, because another job's chunk had their slot
  std::uint64_t no_slot = 0;     // escalated, because the job had its share, or lost a slot
  std::uint32_t most_slots = 0;  // the job's quota, or its window
  std::uint32_t window = 0;
  bool has_rules = false;  // a quota or a priority: only a dynamic job has them
  bool in_tree = false;    // its window is that of other switches, too
};

}  // namespace tributary::control
