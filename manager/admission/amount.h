// The needs of jobs on a switch, and a switch's capacity for them. All figures come from the code
// that the switch itself uses (config/plan): the manager ranks by them, the switch's own check
// decides.
#pragma once

#include <cstdint>
#include <string>

#include "config/model/switch_config.h"

namespace tributary::manager {

struct Amount {
  std::uint64_t slots = 0;             // of each shard
  std::uint64_t bytes = 0;             // sums, held data and tables of the engine
  std::uint64_t completion_bytes = 0;  // least of the completion engine, at the root
  std::uint64_t jobs = 0;
  std::uint64_t hosted_bytes = 0;  // least of an engine that it hosts for the root

  bool operator==(const Amount&) const = default;
  Amount& operator+=(const Amount& other);
  Amount& operator-=(const Amount& other);
  [[nodiscard]] bool fits_in(const Amount& room) const;
};
Amount operator+(Amount a, const Amount& b);

// At the switch whose part of the job this is.
Amount need_of(const config::JobConfig& job);
// For all jobs together. Without memory.reserve_megabytes a running switch has bytes for none.
Amount capacity_of(const config::SwitchConfig& config);
// 0 to 100: of its scarcest resource, how much is used.
std::uint32_t percent(const Amount& used, const Amount& capacity);
// "needs 512 slots at S201, which has 4096 and 3800 in use; ...": what does not fit. Empty: all
// does.
std::string shortage(const std::string& node, const Amount& need, const Amount& used,
                     const Amount& capacity);

}  // namespace tributary::manager
