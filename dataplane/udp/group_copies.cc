#include "dataplane/udp/group_copies.h"

#include <algorithm>

namespace tributary::dataplane {
namespace {

// The rest of a tag is priority, which may differ between frames of one VLAN.
bool same_vlan(std::optional<std::uint16_t> a, std::optional<std::uint16_t> b) {
  constexpr std::uint16_t kVlanId = 0x0FFF;
  return a.has_value() == b.has_value() && (a.value_or(0) & kVlanId) == (b.value_or(0) & kVlanId);
}

// Members that came by another front end get their copies there.
bool is_udp(const aggregator::Member& member) {
  return member.peer.front_end() == FrontEndId::udp;
}

}  // namespace

GroupCopies::GroupCopies(const config::SwitchConfig& config) : plans_(config.jobs.size()) {
  for (const config::JobConfig& job : config.jobs) {
    const std::size_t members = config::job_fan_in(job);
    Plan& plan = plans_.add(job.id);
    plan.copies.reserve(members);
    plan.ports.reserve(members);
    plan.routed.reserve(members);
  }
}

void GroupCopies::make(Plan& plan, const aggregator::Members& members) {
  plan.copies.clear();  // within their capacity from here on
  plan.ports.clear();
  plan.routed.clear();
  add_tags(plan, members);
  add_routed(plan, members);
}

// A member sees only frames of its own VLAN, so each VLAN needs its own copy of a result.
void GroupCopies::add_tags(Plan& plan, const aggregator::Members& members) {
  for (std::size_t first = 0; first < members.list.size(); ++first) {
    const wire::UdpPeer one(members.list[first].peer);
    if (!is_udp(members.list[first]) || one.is_routed()) continue;
    const auto tagged = [&](const UdpCopy& c) { return same_vlan(c.group_vlan, one.vlan_tci); };
    if (std::any_of(plan.copies.begin(), plan.copies.end(), tagged)) continue;
    const std::size_t begin = plan.ports.size();
    for (const aggregator::Member& member : members.list.subspan(first)) {
      const wire::UdpPeer peer(member.peer);
      if (!is_udp(member) || peer.is_routed() || !same_vlan(peer.vlan_tci, one.vlan_tci)) continue;
      const auto mine = plan.ports.begin() + static_cast<std::ptrdiff_t>(begin);
      if (std::find(mine, plan.ports.end(), peer.port) == plan.ports.end())
        plan.ports.push_back(peer.port);
    }
    plan.copies.push_back(
        {.ports = std::span(plan.ports).subspan(begin), .group_vlan = one.vlan_tci});
  }
}

void GroupCopies::add_routed(Plan& plan, const aggregator::Members& members) {
  for (const aggregator::Member& member : members.list) {
    const wire::UdpPeer peer(member.peer);
    if (!is_udp(member) || !peer.is_routed()) continue;
    const auto is_there = [&](const wire::UdpPeer& other) {
      return other.ipv4 == peer.ipv4 && other.udp_port == peer.udp_port;
    };
    if (std::any_of(plan.routed.begin(), plan.routed.end(), is_there)) continue;
    const wire::UdpPeer& kept = plan.routed.emplace_back(peer);
    plan.copies.push_back({.ports = std::span(&kept.port, 1), .member = &kept});
  }
}

}  // namespace tributary::dataplane
