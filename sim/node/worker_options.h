// A rank as its scenario wants it.
#pragma once

#include <cstdint>
#include <string>

#include "core/net/frame.h"
#include "core/time.h"
#include "sim/scenario/scenario.h"

namespace tributary::sim {

struct WorkerOptions {
  const JobScenario* job = nullptr;
  std::uint32_t job_index = 0;
  std::uint32_t rank = 0;
  std::uint64_t workload_seed = 0;
  std::uint64_t seed = 0;
  wire::MacAddress mac{};
  std::uint32_t ipv4 = 0;
  wire::MacAddress switch_mac{};
  std::uint32_t switch_ipv4 = 0;
  std::uint16_t udp_base_port = 0;
  std::uint32_t first_seq = 0;
  std::uint32_t stray_ppm = 0;  // see LinkQuality
  Instant heal_at;
  std::uint16_t port = 0;  // through which it is on its switch
  Instant tree_settled;    // no switch or worker changes its place any more
};

// "job 1 rank 0"
inline std::string name_of(const WorkerOptions& worker) {
  return "job " + std::to_string(worker.job->id) + " rank " + std::to_string(worker.rank);
}

}  // namespace tributary::sim
