#include "control/show/show_forwarding.h"

#include <nlohmann/json.hpp>

#include "config/schema/schema_acl.h"
#include "config/text/codec.h"
#include "control/metrics/forwarding_metrics.h"
#include "control/show/group_rows.h"
#include "control/text/show_text.h"

namespace tributary::control {
namespace {

using nlohmann::ordered_json;

// Places that one look of the loop is about: some tens of microseconds.
constexpr std::uint32_t kGroupsPerLook = 256;

}  // namespace

ordered_json show_acl(const dataplane::Switch& sw) {
  ordered_json rows = ordered_json::array();
  const auto& acl = sw.config().acl;
  const auto row = [&](std::size_t i, const std::string& name, config::AclAction action,
                       const std::string& match) {
    rows.push_back({{"rule", name},
                    {"action", action == config::AclAction::allow ? "allow" : "deny"},
                    {"frames", acl_hits(sw, i)},
                    {"match", text_or_null(match)}});
  };
  for (std::size_t i = 0; i < acl.rules.size(); ++i)
    row(i, config::name_of(acl.rules[i], i), acl.rules[i].action, config::match_text(acl.rules[i]));
  row(acl.rules.size(), "default", acl.otherwise, "");
  return rows;
}

// Read on the lcore that keeps the groups, a piece at a time: there may be 65,536, and a port for
// each VLAN.
ordered_json show_groups(const dataplane::Switch& sw) {
  ordered_json rows = ordered_json::array();
  if (sw.packet_loops()[0].is_late()) return rows;
  const auto look = [](dataplane::PacketLoop& w, Instant now, std::uint32_t& place,
                       std::vector<dataplane::GroupRow>& piece) {
    if (w.snooping() == nullptr) return false;
    w.snooping()->rows(place, kGroupsPerLook, now, piece);
    return place != w.snooping()->row_places();
  };
  GroupRows entries;
  in_pieces<dataplane::GroupRow, std::uint32_t>(sw.packet_loops()[0], kGroupsPerLook, look,
                                                [&](const auto& piece) {
                                                  for (const auto& row : piece) entries.add(row);
                                                  return true;
                                                });
  for (const auto& entry : entries.all())
    rows.push_back(
        {{"vlan", entry.vlan},
         {"group", wire::is_zero(entry.group) ? "routers" : config::format_mac(entry.group)},
         {"ports", port_names(sw, entry.ports)},
         {"left_ms", milliseconds(entry.left)}});
  return rows;
}

ordered_json show_lldp(const dataplane::Switch& sw) {
  ordered_json rows = ordered_json::array();
  const auto neighbours = on_every_loop(sw, [](dataplane::PacketLoop& w, Instant now) {
    return w.lldp() != nullptr ? w.lldp()->rows(now) : std::vector<dataplane::LldpRow>();
  });
  for (const auto& n : neighbours) {
    const auto& ipv4 = n.said.management_ipv4;
    rows.push_back({{"port", sw.port_name(n.port)},
                    {"system", wire::lldp_text(n.said.system_name)},
                    {"chassis", wire::lldp_chassis_text(n.said.chassis)},
                    {"its_port", wire::lldp_port_text(n.said.port)},
                    {"address", ipv4 ? ordered_json(config::format_ipv4(*ipv4)) : ordered_json()},
                    {"mac", config::format_mac(n.mac)},
                    {"heard_ms", milliseconds(n.age)},
                    {"left_ms", milliseconds(n.left)},
                    {"description", wire::lldp_text(n.said.system_description)}});
  }
  return rows;
}

ordered_json show_fragments(const dataplane::Switch& sw) {
  ordered_json rows = ordered_json::array();
  if (!config::takes_fragments(sw.config())) return rows;
  sw.for_each_port([&](std::size_t place, const dataplane::Port& port) {
    const dataplane::PortCounters counters = sw.packet_loops().port_counters(place);
    rows.push_back({{"port", port.name()},
                    {"put_together", counters.reassembled.get()},
                    {"cut", counters.fragmented.get()},
                    {"duplicates", counters.drops.get(DropReason::fragment_duplicate)},
                    {"overlaps", counters.drops.get(DropReason::fragment_overlap)},
                    {"timeouts", counters.drops.get(DropReason::fragment_timeout)},
                    {"evicted", counters.drops.get(DropReason::fragment_evicted)}});
  });
  return rows;
}

}  // namespace tributary::control
