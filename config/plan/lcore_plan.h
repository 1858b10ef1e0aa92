// Who does what where a switch has several packet loops ("lcores"): the one place where queues and
// jobs get their loop, and where what the loops share is divided.
//
//   queues   ports[].lcores, or all of them in turn; a reload moves none that it need not
//            (config/plan/port_places.h)
//   jobs     jobs[].lcore, or the id modulo the number of lcores: a job that stays in the file is
//            not moved, whatever comes and goes beside it
//   planes   of a job that has several: each on another lcore, jobs[].lcores, or the job's and
//            those that follow it
//   slots    of a shard: the static jobs have theirs wherever they are; all dynamic jobs share one
//            pool, so they are on one lcore, and that has the pool
//   memory   cache and reserve in equal parts; what completion engines have, by jobs
//
// A loop is given its part as a configuration of its own, with its jobs alone; of a job with
// several planes it has one, and JobConfig::plane says which.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "config/model/switch_config.h"

namespace tributary::config {

inline std::size_t lcore_count(const SwitchConfig& config) {
  return config.lcores.empty() ? 1 : config.lcores.size();
}
// CPU that it is pinned to; -1: none.
inline int lcore_cpu(const SwitchConfig& config, std::size_t lcore) {
  return config.lcores.empty() ? config.lcore : config.lcores[lcore];
}

// A pair of queues of a port, and the loop that polls and fills them.
struct QueuePlace {
  std::uint16_t port = 0;
  std::uint16_t queue = 0;
  std::uint16_t lcore = 0;
};
// By port, then by queue.
std::vector<QueuePlace> queue_places(const SwitchConfig& config);
std::size_t queue_count(const SwitchConfig& config);

// Where a loop's frames leave a port: through its own queue there, the first of several; where it
// has none, through another's, and not all through the same one.
struct WayOut {
  static constexpr std::uint16_t kNobody = 0xFFFF;
  std::uint16_t queue = 0;
  std::uint16_t lcore = kNobody;  // whose queue it is; kNobody: there is no such port

  bool operator==(const WayOut&) const = default;
};
// By port.
std::vector<WayOut> ways_out(const SwitchConfig& config, std::size_t lcore);

std::uint16_t job_lcore(const SwitchConfig& config, const JobConfig& job, std::uint8_t plane = 0);
// The plane of the job that is on this lcore; nullopt: none is.
std::optional<std::uint8_t> plane_on(const SwitchConfig& config, const JobConfig& job,
                                     std::size_t lcore);
// How many planes of a job a configuration is about: all of them, or a loop's own.
inline std::size_t planes_in(const SwitchConfig& config, const JobConfig& job) {
  return config.share ? 1 : job.planes;
}

// What the loop has of the shared memory, by the configuration that the switch starts with.
LcoreShare lcore_share(const SwitchConfig& config, std::size_t lcore);
// The part of a loop, of that configuration or of a later one. With one loop: all of it.
SwitchConfig lcore_part(const SwitchConfig& config, std::size_t lcore, const LcoreShare& share);

}  // namespace tributary::config
