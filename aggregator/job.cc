#include "aggregator/job.h"

#include <algorithm>

namespace tributary::aggregator {

const char* name_of(JobState state) {
  switch (state) {
    case JobState::idle: return "idle";
    case JobState::forming: return "forming";
    case JobState::running: return "running";
    case JobState::aborted: return "aborted";
  }
  return "?";
}

Job::Job(const config::JobConfig& job_config, std::vector<std::uint16_t> pinned_ports)
    : config(job_config), membership(config.workers, config.lease, std::move(pinned_ports)) {
  last_abort.missing.reserve(kMaxListedIds);
  group_ports.reserve(config.workers);
}

wire::Header Job::header(wire::PacketType type) const {
  wire::Header h;
  h.type = type;
  h.job = config.id;
  h.epoch = membership.epoch();
  h.fan_in = static_cast<std::uint16_t>(config.workers);
  return h;
}

void Job::refresh_gauges() {
  std::uint64_t open = 0;
  std::uint64_t retained = 0;
  for (const auto& shard : shards) {
    open += shard->open();
    retained += shard->retained();
  }
  counters.slots_open.set(open);
  counters.slots_high_water.raise_to(open);
  counters.results_retained.set(retained);
  counters.members.set(membership.present());
}

void Job::start_epoch(std::uint16_t epoch, std::uint32_t first_seq, Instant now) {
  membership.start(epoch, now);
  clear_tables(first_seq);
  last_abort.reason = wire::Reason::none;
  group_ports.clear();
  group_vlan = membership.member(0).peer.vlan_tci;
  for (std::uint32_t rank = 0; rank < config.workers; ++rank) {
    const Peer& peer = membership.member(rank).peer;
    if (std::find(group_ports.begin(), group_ports.end(), peer.port) == group_ports.end())
      group_ports.push_back(peer.port);
    if (peer.vlan_tci != group_vlan) group_vlan.reset();
  }
  counters.epochs.add();
}

void Job::clear_tables(std::uint32_t first_seq) {
  for (const auto& shard : shards) shard->reset(first_seq);
}

}  // namespace tributary::aggregator
