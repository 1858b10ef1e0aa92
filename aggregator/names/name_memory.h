// Memory of a switch for named data, worked out from its configuration: what NameEngine takes at
// start in all packet loops, on top of the memory of the sums.
#pragma once

#include <cstdint>
#include <string>

#include "config/model/switch_config.h"

namespace tributary::aggregator {

struct NameMemory {
  std::uint64_t segments = 0;  // bytes of the caches
  std::uint64_t tables = 0;    // of names, and of requests that wait
  [[nodiscard]] std::uint64_t total() const { return segments + tables; }
};
NameMemory name_memory(const config::SwitchConfig& config);
// A line for the operator; empty if the switch has no named data.
std::string describe_names(const config::SwitchConfig& config);

}  // namespace tributary::aggregator
