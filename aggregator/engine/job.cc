#include "aggregator/engine/job.h"

#include <algorithm>

namespace tributary::aggregator {
namespace {

// The rest of a tag is priority, which may differ between frames of one VLAN.
bool same_vlan(std::optional<std::uint16_t> a, std::optional<std::uint16_t> b) {
  constexpr std::uint16_t kVlanId = 0x0FFF;
  return a.has_value() == b.has_value() && (a.value_or(0) & kVlanId) == (b.value_or(0) & kVlanId);
}

}  // namespace

const char* name_of(JobState state) {
  switch (state) {
    case JobState::idle: return "idle";
    case JobState::forming: return "forming";
    case JobState::running: return "running";
    case JobState::aborted: return "aborted";
  }
  return "?";
}

Job::Job(const config::JobConfig& job_config, std::uint32_t job_place,
         std::vector<std::uint16_t> pinned_ports)
    : config(job_config),
      child_map(job_config),
      place(job_place),
      membership(child_map.count(), config.lease, std::move(pinned_ports)),
      away(config.shards) {
  group_ports_.reserve(child_map.count());
  group_copies.reserve(child_map.count());
  routed_members.reserve(child_map.count());
}

wire::Header Job::header(wire::PacketType type) const {
  wire::Header h;
  h.type = type;
  h.job = config.id;
  h.epoch = membership.epoch();
  h.fan_in = static_cast<std::uint16_t>(child_map.count());
  h.plane = config.plane;
  return h;
}

void Job::start_epoch(std::uint16_t epoch, Instant now) {
  membership.start(epoch, now);
  last_abort.epoch = 0;  // the last abort is still shown, but no longer sent
  group_members();
  counters.epochs.add();
}

std::size_t Job::table_bytes() const {
  return config::kJobBytes + config::copy_bytes(config) + child_map.table_bytes() +
         membership.table_bytes() + last_abort.table_bytes() +
         group_ports_.capacity() * sizeof(std::uint16_t) +
         group_copies.capacity() * sizeof(GroupCopy) + routed_members.capacity() * sizeof(Peer) +
         away.capacity() * sizeof(Away);
}

// No router passes on what goes to a group.
void Job::collect_routed() {
  routed_members.clear();  // within its capacity from here on
  for (std::uint32_t child = 0; child < child_map.count(); ++child) {
    const Peer& peer = membership.member(child).peer;
    if (!peer.is_routed()) continue;
    const auto is_there = [&](const Peer& other) {
      return other.ipv4 == peer.ipv4 && other.udp_port == peer.udp_port;
    };
    if (std::none_of(routed_members.begin(), routed_members.end(), is_there))
      routed_members.push_back(peer);
  }
}

// A member sees only frames of its own VLAN, so each VLAN needs its own copy of a result.
void Job::group_members() {
  collect_routed();
  group_ports_.clear();  // within its capacity from here on: copies point into it
  group_copies.clear();
  for (std::uint32_t first = 0; first < child_map.count(); ++first) {
    if (membership.member(first).peer.is_routed()) continue;
    const auto tag = membership.member(first).peer.vlan_tci;
    const auto tagged = [tag](const GroupCopy& c) { return same_vlan(c.vlan_tci, tag); };
    if (std::any_of(group_copies.begin(), group_copies.end(), tagged)) continue;
    const std::size_t begin = group_ports_.size();
    for (std::uint32_t child = first; child < child_map.count(); ++child) {
      const Peer& peer = membership.member(child).peer;
      if (peer.is_routed() || !same_vlan(peer.vlan_tci, tag)) continue;
      const auto mine = group_ports_.begin() + static_cast<std::ptrdiff_t>(begin);
      if (std::find(mine, group_ports_.end(), peer.port) == group_ports_.end())
        group_ports_.push_back(peer.port);
    }
    group_copies.push_back({tag, std::span(group_ports_).subspan(begin)});
  }
}

}  // namespace tributary::aggregator
