// Memory of a switch for ranks by RDMA, worked out from its configuration: what the front ends of
// all packet loops take at start, on top of the memory of the sums. A port takes none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "config/model/switch_config.h"

namespace tributary::dataplane {

struct RdmaMemory {
  std::size_t queue_pairs = 0;   // UD: one for each job
  std::size_t connections = 0;   // RC and UC: one for each rank of jobs that can have them
  std::uint64_t pair_bytes = 0;  // each packet loop has all pairs
  std::uint64_t connection_bytes = 0;
  [[nodiscard]] std::uint64_t total() const { return pair_bytes + connection_bytes; }
};
RdmaMemory rdma_memory(const config::SwitchConfig& config);
// A line for the operator; empty if no job takes RDMA.
std::string describe_rdma(const config::SwitchConfig& config);

}  // namespace tributary::dataplane
