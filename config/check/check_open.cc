#include "config/check/check_open.h"

#include <string>

#include "config/plan/aggregation_memory.h"

namespace tributary::config {
namespace {

constexpr const char* kMegabytes = "switch.open_jobs.megabytes";
constexpr const char* kSlots = "switch.open_jobs.slots";

// Slots of each shard that jobs of the file leave.
std::uint64_t slots_left(const SwitchConfig& config) {
  std::uint64_t taken = 0;
  std::uint32_t pool = 0;
  for (const JobConfig& job : config.jobs) {
    if (job.open) continue;
    if (job.slots == SlotMode::partition)
      taken += std::uint64_t{job.window} * job.planes;
    else
      pool = std::max(pool, job.window);
  }
  taken += pool;
  return taken < config.slots ? config.slots - taken : 0;
}

}  // namespace

void check_open_jobs(const SwitchConfig& config, ReadContext& context) {
  const OpenJobsConfig& open = config.open_jobs;
  if (!open.enabled()) return;
  if (context.usable(kMegabytes) && context.usable("switch.memory") &&
      open.megabytes > reserve_megabytes(config))
    context.report(kMegabytes, std::to_string(open.megabytes) +
                                   " MiB exceed the reserve for later jobs, " +
                                   std::to_string(reserve_megabytes(config)) +
                                   " MiB; allowed: at most that, or more "
                                   "switch.memory.reserve_megabytes");
  if (context.usable(kSlots) && context.usable("switch.slots") && context.usable("jobs") &&
      open.slots > slots_left(config))
    context.report(kSlots, std::to_string(open.slots) +
                               " exceed what jobs leave of switch.slots, " +
                               std::to_string(slots_left(config)) +
                               "; allowed: at most that, or more switch.slots");
}

}  // namespace tributary::config
