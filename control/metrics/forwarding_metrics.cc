#include "control/metrics/forwarding_metrics.h"

#include <span>

#include "config/schema/schema_acl.h"
#include "config/text/codec.h"

namespace tributary::control {

std::uint64_t acl_hits(const dataplane::Switch& sw, std::size_t rule) {
  std::uint64_t frames = 0;
  for (const auto& packet_loop : sw.packet_loops()) {
    if (packet_loop->is_late()) continue;  // it may have other rules
    if (const auto& hits = packet_loop->acl().hits(); rule < hits.size())
      frames += hits[rule].get();
  }
  return frames;
}

namespace {

void collect_acl(Families& out, dataplane::Switch& sw) {
  auto& hits = family(out, "tributary_acl_hits_total", "Frames that an ACL rule decided on", false);
  const auto& rules = sw.config().acl.rules;
  if (sw.packet_loops().any_late()) return;
  for (std::size_t i = 0; i <= rules.size(); ++i)
    sample(hits, {{"rule", i < rules.size() ? config::name_of(rules[i], i) : "default"}},
           static_cast<double>(acl_hits(sw, i)));
}

void collect_groups(Families& out, dataplane::Switch& sw) {
  // Without snooping nothing happens to groups.
  static const dataplane::GroupTable::Counters kNoGroups;
  static const dataplane::Snooping::Counters kNoMessages;
  const auto* snooping = sw.packet_loops()[0].snooping();  // which keeps the groups
  const auto& groups = snooping != nullptr ? snooping->groups().counters() : kNoGroups;
  const auto& messages = snooping != nullptr ? snooping->counters() : kNoMessages;
  sample(family(out, "tributary_groups", "Multicast groups that a port wants", true), {},
         number(groups.groups));
  auto& events = family(out, "tributary_group_events_total", "Events of multicast groups", false);
  sample(events, {{"event", "query"}}, number(messages.queries));
  sample(events, {{"event", "query_refused"}}, number(messages.queries_refused));
  sample(events, {{"event", "report"}}, number(messages.reports));
  sample(events, {{"event", "joined"}}, number(groups.joined));
  sample(events, {{"event", "left"}}, number(groups.left));
  sample(events, {{"event", "aged"}}, number(groups.aged));
  sample(events, {{"event", "refused"}}, number(groups.refused));
  sample(events, {{"event", "evicted"}}, number(groups.evicted));
}

void collect_lldp(Families& out, dataplane::Switch& sw) {
  using Counters = dataplane::Lldp::Counters;
  const auto sum = [&](Counter Counters::*counter) {
    std::uint64_t all = 0;
    for (const auto& packet_loop : sw.packet_loops())
      if (const auto* lldp = packet_loop->lldp()) all += (lldp->counters().*counter).get();
    return static_cast<double>(all);
  };
  const bool late = sw.packet_loops().any_late();
  auto& neighbours =
      family(out, "tributary_lldp_neighbours", "Neighbours that LLDP tells of", true);
  if (!late) sample(neighbours, {}, sum(&Counters::neighbours));
  auto& events = family(out, "tributary_lldp_events_total", "LLDP events", false);
  if (late) return;
  sample(events, {{"event", "sent"}}, sum(&Counters::sent));
  sample(events, {{"event", "received"}}, sum(&Counters::received));
  sample(events, {{"event", "aged"}}, sum(&Counters::aged));
  sample(events, {{"event", "left"}}, sum(&Counters::left));
  sample(events, {{"event", "refused"}}, sum(&Counters::refused));
}

// Sums over all loops.
dataplane::NextHop::Counters counters_of(const dataplane::Switch& sw,
                                         const dataplane::NextHop& router) {
  dataplane::NextHop::Counters sum;
  for (const auto& packet_loop : sw.packet_loops())
    for (const dataplane::NextHop& same : packet_loop->next_hops().hops())
      if (same.ipv4 == router.ipv4 && same.port == router.port) sum.include(same.counters);
  return sum;
}

// Each loop asks by itself; a router is reachable where it is for all of them.
void collect_next_hops(Families& out, dataplane::Switch& sw) {
  std::span<const dataplane::NextHop> routers;
  if (!sw.packet_loops().any_late()) routers = sw.packet_loops()[0].next_hops().hops();
  const auto labels = [&](const dataplane::NextHop& router) {
    return Labels{{"router", config::format_ipv4(router.ipv4)},
                  {"port", sw.port_name(router.port)}};
  };
  auto& reachable = family(out, "tributary_next_hop_reachable",
                           "Whether the router has answered ARP of every packet loop", true);
  for (const auto& router : routers)
    sample(reachable, labels(router),
           counters_of(sw, router).reachable.get() == sw.packet_loops().size() ? 1.0 : 0.0);
  auto& events =
      family(out, "tributary_next_hop_events_total", "Events of routers that lead to peers", false);
  for (const auto& router : routers) {
    const dataplane::NextHop::Counters sum = counters_of(sw, router);
    const auto event = [&](const char* name, const Counter& counter) {
      Labels all = labels(router);
      all.push_back({"event", name});
      sample(events, all, number(counter));
    };
    event("asked", sum.asks);
    event("answered", sum.answers);
    event("moved", sum.moves);
    event("unasked", sum.unasked);
    event("lost", sum.losses);
  }
}

}  // namespace

void collect_forwarding(Families& out, dataplane::Switch& sw) {
  collect_acl(out, sw);
  collect_groups(out, sw);
  collect_lldp(out, sw);
  collect_next_hops(out, sw);
}

}  // namespace tributary::control
