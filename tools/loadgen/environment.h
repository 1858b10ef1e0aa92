// DPDK for a generator: one lcore, which is the calling thread, on all CPUs that the process may
// use (taskset says which), and one pool of buffers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

struct rte_mempool;

namespace tributary::loadgen {

struct Environment {
  std::string program;
  std::uint32_t buffers = 0;
  std::size_t buffer_bytes = 0;  // of the largest frame
  bool hugepages = false;
  std::string log_level = "error";  // of DPDK's libraries and drivers
};

// Starts DPDK, once per process, and makes the pool. Faults in memory that a peer has taken away
// end a burst, not the process. Throws std::runtime_error.
rte_mempool* start(const Environment& environment);

}  // namespace tributary::loadgen
