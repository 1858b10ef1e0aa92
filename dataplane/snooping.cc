#include "dataplane/snooping.h"

#include <algorithm>

namespace tributary::dataplane {
namespace {

// Groups of the link itself, of jobs, and of all IPv6 nodes: also for those that do not report.
bool is_for_everybody(const wire::MacAddress& group) {
  if (group[0] == 0x33 && group[1] == 0x33)
    return group == wire::MacAddress{0x33, 0x33, 0, 0, 0, 1};
  constexpr auto kJobs = 0x43;  // 239.195.0.0/16: config::job_group_ipv4()
  const bool ipv4 = group[0] == 0x01 && group[1] == 0x00 && group[2] == 0x5e;
  return !ipv4 || (group[3] == 0 && group[4] == 0) || group[3] == kJobs;
}

static_assert((config::job_group_ipv4(0) >> 16 & 0x7F) == 0x43);

}  // namespace

Snooping::Rules::Rules(const config::SwitchConfig& all) : config(all.forwarding.snooping) {
  const auto mask = [&](const std::vector<std::string>& names) {
    PortMask ports = 0;
    for (std::uint16_t port = 0; port < all.ports.size(); ++port)
      if (std::find(names.begin(), names.end(), all.ports[port].name) != names.end())
        ports |= mask_of(port);
    return ports;
  };
  fixed_routers = mask(config.router_ports);
  hosts = mask(config.host_ports);
}

Snooping::Snooping(const config::SwitchConfig& config, std::uint64_t seed)
    : rules_(config),
      ports_(config.ports.size()),
      queriers_(kVlanIds),
      routers_(kVlanIds * config::kMaxPorts),
      groups_(rules_.config.groups, seed) {}

PortMask Snooping::routers(std::uint16_t vlan, Instant now) const {
  PortMask out = rules_.fixed_routers;
  for (std::uint16_t port = 0; port < ports_; ++port)
    if (now < routers_[std::size_t{vlan} * config::kMaxPorts + port]) out |= mask_of(port);
  return out;
}

std::vector<GroupRow> Snooping::router_rows(Instant now) const {
  std::vector<GroupRow> out;
  for (std::uint16_t vlan = 0; vlan < kVlanIds; ++vlan) {
    const PortMask there = routers(vlan, now) & ~rules_.fixed_routers;
    const bool queried = has_querier(vlan, false, now) || has_querier(vlan, true, now);
    if (there == 0 && !queried) continue;
    Duration left;
    for (std::uint16_t port = 0; port < ports_; ++port)
      left = std::max(left, routers_[std::size_t{vlan} * config::kMaxPorts + port] - now);
    out.push_back({{}, vlan, there | rules_.fixed_routers, left});
  }
  return out;
}

bool Snooping::has_querier(std::uint16_t vlan, bool ipv6, Instant now) const {
  return now < queriers_[vlan].until[ipv6 ? 1 : 0];
}

void Snooping::forget(std::uint16_t port) {
  for (std::uint16_t vlan = 0; vlan < kVlanIds; ++vlan) router_until(vlan, port) = Instant();
  groups_.forget(port);
}

std::optional<PortMask> Snooping::ports_for(std::uint16_t ingress, const wire::EthernetView& frame,
                                            bool linear, std::uint16_t vlan, Instant now) {
  const GroupMessage message = read_group_message(frame, linear);
  const bool ipv6 = frame.destination[0] == 0x33;
  switch (message.kind) {
    case GroupKind::malformed: return std::nullopt;
    case GroupKind::query:
      if ((rules_.hosts & mask_of(ingress)) != 0) {
        counters_.queries_refused.add();
        return PortMask{0};  // the real querier would fall silent for it
      }
      on_query(ingress, message, vlan, now);
      return kAll;
    case GroupKind::report: {
      on_report(ingress, message, vlan, now);
      const PortMask routers_there = routers(vlan, now);
      return routers_there != 0 ? routers_there : kAll;
    }
    case GroupKind::none: break;
  }
  if (is_for_everybody(frame.destination) || !has_querier(vlan, ipv6, now)) return kAll;
  if (const auto members = groups_.lookup(frame.destination, vlan, now))
    return *members | routers(vlan, now);
  return rules_.config.flood_unknown ? kAll : routers(vlan, now);
}

void Snooping::on_query(std::uint16_t ingress, const GroupMessage& query, std::uint16_t vlan,
                        Instant now) {
  counters_.queries.add();
  queriers_[vlan].until[query.ipv6 ? 1 : 0] = now + rules_.config.router_ageing;
  if (query.from_router) router_until(vlan, ingress) = now + rules_.config.router_ageing;
}

void Snooping::on_report(std::uint16_t ingress, const GroupMessage& report, std::uint16_t vlan,
                         Instant now) {
  counters_.reports.add();
  GroupRecords records(report);
  for (GroupRecord record; records.next(record);) {
    if (is_for_everybody(record.group)) continue;
    if (record.wanted)
      groups_.join(record.group, vlan, ingress, now + rules_.config.membership);
    else
      groups_.leave(record.group, vlan, ingress, now + rules_.config.leave_delay);
  }
}

}  // namespace tributary::dataplane
