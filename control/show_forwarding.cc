// `show fdb`, `show acl`, `show groups` and `show lldp`: how traffic that is not aggregation is
// switched, and between whom.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>

#include "config/codec.h"
#include "config/schema_acl.h"
#include "control/forwarding_metrics.h"
#include "control/show.h"
#include "control/show_text.h"

namespace tributary::control {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t kMostFdbRows = 16384;

// Which addresses are asked for: "vlan=10", "port=w0", both, or all.
struct FdbFilter {
  std::optional<std::uint16_t> vlan;
  std::optional<std::size_t> port;
};

[[noreturn]] void refuse(const std::string& wrong) {
  throw std::invalid_argument(wrong + "; allowed: fdb, with vlan=0 to vlan=4095, port=NAME, both");
}

FdbFilter filter_of(const dataplane::Switch& sw, const std::string& text) {
  FdbFilter filter;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    begin = end + 1;
    if (word.starts_with("vlan=")) {
      const auto vlan = config::parse_integer(std::string_view(word).substr(5));
      if (!vlan || *vlan < 0 || *vlan > 4095) refuse("'" + word + "' names no VLAN");
      filter.vlan = static_cast<std::uint16_t>(*vlan);
    } else if (word.starts_with("port=")) {
      std::size_t port = 0;
      while (port < sw.ports().size() && sw.port_name(port) != word.substr(5)) ++port;
      if (port == sw.ports().size()) refuse("there is no port '" + word.substr(5) + "'");
      filter.port = port;
    } else if (!word.empty()) {
      refuse("'" + word + "' is unknown");
    }
  }
  return filter;
}

std::string port_names(const dataplane::Switch& sw, dataplane::PortMask ports) {
  std::string text;
  for (std::size_t port = 0; port < sw.ports().size(); ++port)
    if ((ports >> port & 1) != 0) text.append(text.empty() ? "" : ",").append(sw.port_name(port));
  return text;
}

}  // namespace

ordered_json Show::fdb(const std::string& which) {
  const FdbFilter filter = filter_of(switch_, which);
  ordered_json rows = ordered_json::array();
  const auto entries = on_loop(switch_.workers()[0],
                               [](dataplane::Worker& w, Instant now) { return w.fdb().rows(now); });
  for (const auto& entry : entries) {
    // A static address is in every VLAN.
    if (filter.vlan && !entry.is_static && entry.vlan != *filter.vlan) continue;
    if (filter.port && entry.port != *filter.port) continue;
    if (switch_.ports()[entry.port] == nullptr) continue;  // about to be forgotten
    if (rows.size() == kMostFdbRows) break;
    rows.push_back({{"mac", config::format_mac(entry.mac)},
                    {"vlan", entry.vlan},
                    {"port", switch_.port_name(entry.port)},
                    {"kind", entry.is_static ? "static" : "learned"},
                    {"age_ms", milliseconds(entry.age)}});
  }
  return rows;
}

ordered_json Show::acl() {
  ordered_json rows = ordered_json::array();
  const auto& acl = switch_.config().acl;
  const auto row = [&](std::size_t i, const std::string& name, config::AclAction action,
                       const std::string& match) {
    rows.push_back({{"rule", name},
                    {"action", action == config::AclAction::allow ? "allow" : "deny"},
                    {"frames", acl_hits(switch_, i)},
                    {"match", match}});
  };
  for (std::size_t i = 0; i < acl.rules.size(); ++i)
    row(i, config::name_of(acl.rules[i], i), acl.rules[i].action, config::match_text(acl.rules[i]));
  row(acl.rules.size(), "default", acl.otherwise, "");
  return rows;
}

ordered_json Show::groups() {
  ordered_json rows = ordered_json::array();
  // Routers first: their group is nobody's address.
  const auto entries = on_loop(switch_.workers()[0], [](dataplane::Worker& w, Instant now) {
    std::vector<dataplane::GroupRow> all;
    if (w.snooping() == nullptr) return all;
    all = w.snooping()->router_rows(now);
    for (const auto& group : w.snooping()->groups().rows(now)) all.push_back(group);
    return all;
  });
  for (const auto& entry : entries)
    rows.push_back(
        {{"vlan", entry.vlan},
         {"group", wire::is_zero(entry.group) ? "routers" : config::format_mac(entry.group)},
         {"ports", port_names(switch_, entry.ports)},
         {"left_ms", milliseconds(entry.left)}});
  return rows;
}

ordered_json Show::lldp() {
  ordered_json rows = ordered_json::array();
  const auto neighbours = on_every_loop(switch_, [](dataplane::Worker& w, Instant now) {
    return w.lldp() != nullptr ? w.lldp()->rows(now) : std::vector<dataplane::LldpRow>();
  });
  for (const auto& n : neighbours) {
    const auto& ipv4 = n.said.management_ipv4;
    rows.push_back({{"port", switch_.port_name(n.port)},
                    {"system", wire::lldp_text(n.said.system_name)},
                    {"chassis", wire::lldp_chassis_text(n.said.chassis)},
                    {"its_port", wire::lldp_port_text(n.said.port)},
                    {"address", ipv4 ? config::format_ipv4(*ipv4) : "-"},
                    {"mac", config::format_mac(n.mac)},
                    {"heard_ms", milliseconds(n.age)},
                    {"left_ms", milliseconds(n.left)},
                    {"description", wire::lldp_text(n.said.system_description)}});
  }
  return rows;
}

ordered_json Show::fragments() {
  ordered_json rows = ordered_json::array();
  if (!config::takes_fragments(switch_.config())) return rows;
  for (std::size_t port = 0; port < switch_.ports().size(); ++port) {
    const dataplane::PortCounters counters = switch_.workers().port_counters(port);
    rows.push_back({{"port", switch_.ports()[port]->name()},
                    {"put_together", counters.reassembled.get()},
                    {"cut", counters.fragmented.get()},
                    {"duplicates", counters.drops.get(DropReason::fragment_duplicate)},
                    {"overlaps", counters.drops.get(DropReason::fragment_overlap)},
                    {"timeouts", counters.drops.get(DropReason::fragment_timeout)},
                    {"evicted", counters.drops.get(DropReason::fragment_evicted)}});
  }
  return rows;
}

}  // namespace tributary::control
