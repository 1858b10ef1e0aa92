#include "dataplane/workers.h"

#include "config/change.h"
#include "dataplane/socket_memory.h"

namespace tributary::dataplane {

Workers::Workers(const config::SwitchConfig& config, std::span<Port* const> ports,
                 const FramePools& pools, const Randomness& randomness) {
  const std::size_t lcores = config::lcore_count(config);
  const config::Machine& machine = pools.plan().machine;
  if (lcores > 1) handover_ = std::make_unique<Handover>(lcores, machine.lcores);
  if (lcores > 1 && config.forwarding.snooping.enabled)
    group_ways_ = std::make_unique<GroupWays>(lcores, machine.lcores);
  for (std::size_t lcore = 0; lcore < lcores; ++lcore) {
    const SocketMemory memory(config::lcore_socket(machine, lcore));
    workers_.push_back(
        std::make_unique<Worker>(config, ports, pools.of_lcore(lcore), randomness,
                                 LoopPlace{lcore, handover_.get(), group_ways_.get()}));
  }
}

PortCounters Workers::port_counters(std::size_t port) const {
  PortCounters sum;
  for (const auto& worker : workers_) sum.include(worker->port_counters(port));
  return sum;
}

std::vector<PlacedJob> Workers::jobs(const config::SwitchConfig& config) const {
  std::vector<PlacedJob> placed;
  std::vector<std::size_t> next(workers_.size());
  for (const config::JobConfig& job : config.jobs)
    for (std::uint8_t plane = 0; plane < job.planes; ++plane) {
      const std::size_t lcore = config::job_lcore(config, job, plane);
      Worker* const worker = workers_[lcore].get();
      // A loop that has not come to the configuration yet has other jobs.
      if (next[lcore] < worker->engine().job_count())
        placed.push_back({lcore, next[lcore]++, worker});
    }
  return placed;
}

std::vector<Worker*> Workers::owners_of(const config::SwitchConfig& config,
                                        std::uint32_t job) const {
  const config::JobConfig* const found = config::find_job(config, job);
  if (found == nullptr) return {workers_[0].get()};
  std::vector<Worker*> owners;
  for (std::uint8_t plane = 0; plane < found->planes; ++plane)
    owners.push_back(workers_[config::job_lcore(config, *found, plane)].get());
  return owners;
}

}  // namespace tributary::dataplane
