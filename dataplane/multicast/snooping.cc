#include "dataplane/multicast/snooping.h"

#include <algorithm>

#include "config/schema/schema.h"

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

// The largest report, of records of 8 bytes, is not beyond the limit whenever it comes.
static_assert(config::kMaxMtu / 8 <= Snooping::kGroupsPerSecond);

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

Snooping::Snooping(const config::SwitchConfig& config, std::uint64_t seed, const GroupEnd& end)
    : rules_(config) {
  if (!end.keeps()) {
    view_.emplace(rules_.config.groups, seed);
    return;
  }
  keeper_.emplace(rules_.config.groups, seed, end.ways);
}

PortMask Snooping::routers(std::uint16_t vlan, Instant now) const {
  return rules_.fixed_routers | (keeper_ ? keeper_->routers(vlan, now) : view_->routers(vlan, now));
}

bool Snooping::has_querier(std::uint16_t vlan, bool ipv6, Instant now) const {
  return keeper_ ? keeper_->has_querier(vlan, ipv6, now) : view_->has_querier(vlan, ipv6, now);
}

std::optional<PortMask> Snooping::members(const wire::MacAddress& group, std::uint16_t vlan,
                                          Instant now) const {
  return keeper_ ? keeper_->members(group, vlan, now) : view_->members(group, vlan, now);
}

void Snooping::add_router_row(std::uint16_t vlan, Instant now, std::vector<GroupRow>& into) const {
  const PortMask there = keeper_->routers(vlan, now) & ~rules_.fixed_routers;
  const bool queried = has_querier(vlan, false, now) || has_querier(vlan, true, now);
  if (there == 0 && !queried) return;
  into.push_back({{}, vlan, there | rules_.fixed_routers, keeper_->routers_left(vlan, now)});
}

void Snooping::rows(std::uint32_t& place, std::uint32_t looks, Instant now,
                    std::vector<GroupRow>& into) const {
  for (; place < kFirstGroup && looks != 0; ++place, --looks)
    add_router_row(static_cast<std::uint16_t>(place), now, into);
  if (looks == 0) return;
  std::uint32_t group = place - kFirstGroup;
  groups().rows(group, looks, now, into);
  place = kFirstGroup + group;
}

Snooping::Way Snooping::way_of(std::uint16_t ingress, const wire::EthernetView& frame, bool linear,
                               std::uint16_t vlan, Instant now, PortMask& to) {
  const GroupMessage message = find_group_message(frame, linear);
  if (message.kind != GroupKind::none) return way_of_message(ingress, message, vlan, now, to);
  to = keeper_ ? of_group(*keeper_, frame.destination, vlan, now)
               : of_group(*view_, frame.destination, vlan, now);
  return Way::ports;
}

Snooping::Way Snooping::way_of_message(std::uint16_t ingress, const GroupMessage& message,
                                       std::uint16_t vlan, Instant now, PortMask& to) {
  if (message.kind == GroupKind::malformed) return Way::malformed;
  if (message.kind == GroupKind::report && !budgets_[ingress].take(now, message.most_records()))
    return Way::beyond_limit;
  if (!is_sound(message)) return Way::malformed;
  if (!keeper_) return Way::keeper;
  to = on_message(ingress, message, vlan, now);
  return Way::ports;
}

template <typename Known>
PortMask Snooping::of_group(const Known& known, const wire::MacAddress& group, std::uint16_t vlan,
                            Instant now) const {
  const bool ipv6 = group[0] == 0x33;
  if (is_for_everybody(group) || !known.has_querier(vlan, ipv6, now)) return kAll;
  const auto members = known.members(group, vlan, now);
  if (!members && rules_.config.flood_unknown) return kAll;
  return members.value_or(0) | rules_.fixed_routers | known.routers(vlan, now);
}

PortMask Snooping::on_message(std::uint16_t ingress, const GroupMessage& message,
                              std::uint16_t vlan, Instant now) {
  if (message.kind == GroupKind::report) {
    on_report(ingress, message, vlan, now);
    // To no other host: it would take another host's report for its own (RFC 4541, 2.1.1).
    const PortMask who_asks =
        routers(vlan, now) | keeper_->queried_through(vlan, message.ipv6, now);
    return who_asks != 0 ? who_asks : kAll;
  }
  if ((rules_.hosts & mask_of(ingress)) != 0) {
    counters_.queries_refused.add();
    return 0;  // the real querier would fall silent for it
  }
  on_query(ingress, message, vlan, now);
  return kAll;
}

void Snooping::on_query(std::uint16_t ingress, const GroupMessage& query, std::uint16_t vlan,
                        Instant now) {
  counters_.queries.add();
  keeper_->on_query(ingress, vlan, query.ipv6, query.from_router, now,
                    now + rules_.config.router_ageing);
}

void Snooping::on_report(std::uint16_t ingress, const GroupMessage& report, std::uint16_t vlan,
                         Instant now) {
  counters_.reports.add();
  GroupTable& groups = keeper_->table();
  GroupRecords records(report);
  for (GroupRecord record; records.next(record);) {
    if (is_for_everybody(record.group)) continue;
    if (record.wanted)
      groups.join(record.group, vlan, ingress, now + rules_.config.membership);
    else
      groups.leave(record.group, vlan, ingress, now + rules_.config.leave_delay);
  }
}

}  // namespace tributary::dataplane
