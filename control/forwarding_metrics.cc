#include "control/forwarding_metrics.h"

#include "config/schema_acl.h"

namespace tributary::control {

std::uint64_t acl_hits(const dataplane::Switch& sw, std::size_t rule) {
  std::uint64_t frames = 0;
  // A loop that has not come to the configuration yet has other rules.
  for (const auto& worker : sw.workers())
    if (const auto& hits = worker->acl().hits(); rule < hits.size()) frames += hits[rule].get();
  return frames;
}

namespace {

void collect_acl(Families& out, dataplane::Switch& sw) {
  auto& hits = family(out, "tributary_acl_hits_total", "Frames that an ACL rule decided on", false);
  const auto& rules = sw.config().acl.rules;
  for (std::size_t i = 0; i <= rules.size(); ++i)
    sample(hits, {{"rule", i < rules.size() ? config::name_of(rules[i], i) : "default"}},
           static_cast<double>(acl_hits(sw, i)));
}

void collect_groups(Families& out, dataplane::Switch& sw) {
  // Without snooping nothing happens to groups.
  static const dataplane::GroupTable::Counters kNoGroups;
  static const dataplane::Snooping::Counters kNoMessages;
  const auto* snooping = sw.workers()[0].snooping();  // the only one where it is on
  const auto& groups = snooping != nullptr ? snooping->groups().counters() : kNoGroups;
  const auto& messages = snooping != nullptr ? snooping->counters() : kNoMessages;
  sample(family(out, "tributary_groups", "Multicast groups that somebody wants", true), {},
         number(groups.groups));
  auto& events = family(out, "tributary_group_events_total", "What happened to groups", false);
  sample(events, {{"event", "query"}}, number(messages.queries));
  sample(events, {{"event", "report"}}, number(messages.reports));
  sample(events, {{"event", "joined"}}, number(groups.joined));
  sample(events, {{"event", "left"}}, number(groups.left));
  sample(events, {{"event", "aged"}}, number(groups.aged));
  sample(events, {{"event", "refused"}}, number(groups.refused));
}

void collect_lldp(Families& out, dataplane::Switch& sw) {
  using Counters = dataplane::Lldp::Counters;
  const auto sum = [&](Counter Counters::*counter) {
    std::uint64_t all = 0;
    for (const auto& worker : sw.workers())
      if (const auto* lldp = worker->lldp()) all += (lldp->counters().*counter).get();
    return static_cast<double>(all);
  };
  sample(family(out, "tributary_lldp_neighbours", "Neighbours that LLDP tells of", true), {},
         sum(&Counters::neighbours));
  auto& events = family(out, "tributary_lldp_events_total", "What happened to LLDP", false);
  sample(events, {{"event", "sent"}}, sum(&Counters::sent));
  sample(events, {{"event", "received"}}, sum(&Counters::received));
  sample(events, {{"event", "aged"}}, sum(&Counters::aged));
  sample(events, {{"event", "left"}}, sum(&Counters::left));
  sample(events, {{"event", "refused"}}, sum(&Counters::refused));
}

}  // namespace

void collect_forwarding(Families& out, dataplane::Switch& sw) {
  collect_acl(out, sw);
  collect_groups(out, sw);
  collect_lldp(out, sw);
}

}  // namespace tributary::control
