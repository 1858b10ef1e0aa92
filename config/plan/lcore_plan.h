// Assigns work to a switch's packet loops ("lcores"): the one place that assigns queues and jobs to
// loops, and that divides the memory that loops share.
//
//   queues   ports[].lcores, or all of them in turn; a reload moves a queue only if it must
//            (config/plan/port_places.h)
//   jobs     jobs[].lcore, or the id modulo the number of lcores: a job that stays in the file is
//            not moved, whichever jobs come and go beside it
//   planes   of a job that has several: each on another lcore, jobs[].lcores, or the job's and
//            those that follow it
//   slots    of a shard: the static jobs have theirs wherever they are; all dynamic jobs share one
//            pool, so they are on one lcore, and that has the pool
//   memory   cache and reserve in equal parts; the completion engines' memory by jobs
//
// A loop gets its part as a configuration of its own, with its own jobs only; of a job with several
// planes it has one, which JobConfig::plane names.
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
// The CPU that the loop is pinned to; -1: none.
inline int lcore_cpu(const SwitchConfig& config, std::size_t lcore) {
  return config.lcores.empty() ? config.lcore : config.lcores[lcore];
}

// A pair of queues of a port, and the loop that polls and fills them.
struct QueuePlace {
  std::uint16_t port = 0;
  std::uint16_t queue = 0;
  std::uint16_t lcore = 0;
};
// Ordered by port, then by queue.
std::vector<QueuePlace> queue_places(const SwitchConfig& config);
std::size_t queue_count(const SwitchConfig& config);

// The queue through which a loop's frames leave a port: its own, or the first of several. A loop
// without one uses another loop's, and such loops do not all use the same one.
struct WayOut {
  static constexpr std::uint16_t kNobody = 0xFFFF;
  std::uint16_t queue = 0;
  std::uint16_t lcore = kNobody;  // the queue's loop; kNobody: there is no such port

  bool operator==(const WayOut&) const = default;
};
// Indexed by port.
std::vector<WayOut> ways_out(const SwitchConfig& config, std::size_t lcore);

std::uint16_t job_lcore(const SwitchConfig& config, const JobConfig& job, std::uint8_t plane = 0);
// The plane of the job that runs on this lcore; nullopt if none does.
std::optional<std::uint8_t> plane_on(const SwitchConfig& config, const JobConfig& job,
                                     std::size_t lcore);
// The number of a job's planes in a configuration: all of them, or a loop's only one.
inline std::size_t planes_in(const SwitchConfig& config, const JobConfig& job) {
  return config.share ? 1 : job.planes;
}

// The loop's part of the shared memory, by the configuration that the switch starts with.
LcoreShare lcore_share(const SwitchConfig& config, std::size_t lcore);
// A loop's part of that configuration or of a later one. With one loop: all of it.
SwitchConfig lcore_part(const SwitchConfig& config, std::size_t lcore, const LcoreShare& share);

}  // namespace tributary::config
