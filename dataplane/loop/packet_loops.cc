#include "dataplane/loop/packet_loops.h"

#include <algorithm>

#include "config/change/change.h"
#include "dataplane/host/socket_memory.h"

namespace tributary::dataplane {

PacketLoops::PacketLoops(const config::SwitchConfig& config, std::span<Port* const> ports,
                         const FramePools& pools, const Randomness& randomness) {
  const std::size_t lcores = config::lcore_count(config);
  const config::Machine& machine = pools.plan().machine;
  if (lcores > 1) handover_ = std::make_unique<Handover>(lcores, machine.lcores);
  if (lcores > 1 && config.forwarding.snooping.enabled)
    group_rings_ = std::make_unique<GroupRings>(lcores, machine.lcores);
  for (std::size_t lcore = 0; lcore < lcores; ++lcore) {
    const SocketMemory memory(config::lcore_socket(machine, lcore));
    packet_loops_.push_back(std::make_unique<PacketLoop>(
        config, ports, pools.of_lcore(lcore), randomness,
        LoopPlace{lcore, handover_.get(), group_rings_.get(), open_desk_.get()}));
  }
}

PortCounters PacketLoops::port_counters(std::size_t port) const {
  PortCounters sum;
  for (const auto& packet_loop : packet_loops_) sum.include(packet_loop->port_counters(port));
  return sum;
}

bool PacketLoops::any_late() const {
  return std::any_of(begin(), end(),
                     [](const auto& packet_loop) { return packet_loop->is_late(); });
}

std::vector<LoopJob> PacketLoops::jobs(const config::SwitchConfig& config) const {
  std::vector<LoopJob> placed;
  std::vector<std::size_t> next(packet_loops_.size());
  std::vector<bool> late;  // one look: it may be over at any time, and then all of its jobs count
  for (const auto& packet_loop : packet_loops_) late.push_back(packet_loop->is_late());
  for (const config::JobConfig& job : config.jobs)
    for (std::uint8_t plane = 0; plane < job.planes; ++plane) {
      const std::size_t lcore = config::job_lcore(config, job, plane);
      const std::size_t index = next[lcore]++;
      if (!late[lcore]) placed.push_back({lcore, index, packet_loops_[lcore].get()});
    }
  return placed;
}

std::vector<PacketLoop*> PacketLoops::owners_of(const config::SwitchConfig& config,
                                                std::uint32_t job) const {
  const config::JobConfig* const found = config::find_job(config, job);
  if (found == nullptr) return {packet_loops_[0].get()};
  std::vector<PacketLoop*> owners;
  for (std::uint8_t plane = 0; plane < found->planes; ++plane)
    owners.push_back(packet_loops_[config::job_lcore(config, *found, plane)].get());
  return owners;
}

}  // namespace tributary::dataplane
