#include "config/check/check_forwarding.h"

#include <algorithm>
#include <map>
#include <string>

#include "config/check/check_port.h"
#include "config/schema/schema_forwarding.h"

namespace tributary::config {
namespace {

void check_vlan(const PortVlan& vlan, const std::string& path, ReadContext& context) {
  if (!context.usable(path + ".mode") || !context.usable(path + ".id")) return;
  const bool access = vlan.mode == VlanMode::access;
  if (access && !vlan.id)
    context.report(path + ".id", "is missing; an access port has one VLAN, 1 to 4094");
  if (!access && vlan.id)
    context.report(path + ".id", "is of access ports only; allowed: mode access, or none");
  if (vlan.mode == VlanMode::trunk) return;
  if (!vlan.allowed.empty())
    context.report(path + ".allowed", "is of trunks only; allowed: mode trunk, or none");
  if (vlan.native)
    context.report(path + ".native", "is of trunks only; allowed: mode trunk, or none");
}

// Each destination once, and none that stays in the switch or whose port takes no frame.
void check_port_paths(const SwitchConfig& config, ReadContext& context) {
  std::map<std::string, std::string> seen;  // destination → where it is
  PathDestination own;
  own.is_mac = true;
  own.mac = config.mac.value_or(derived_mac(config.ipv4));
  const bool own_known = context.usable("switch.mac") && context.usable("switch.address");
  for (std::size_t i = 0; i < config.ports.size(); ++i) {
    const PortConfig& port = config.ports[i];
    const std::string list = item_path("ports", i) + ".paths";
    if (!context.usable(list) || port.paths.empty()) continue;
    if (port.vlan.mode == VlanMode::none)
      context.report(list, "the port is in no VLAN; allowed: another vlan.mode, such as paths");
    for (std::size_t at = 0; at < port.paths.size(); ++at) {
      const PathDestination& to = port.paths[at];
      const std::string path = item_path(list, at);
      const auto [first, fresh] = seen.emplace(text_of(to), path);
      if (!fresh)
        context.report(path, "is in " + first->second + ", too; allowed: one port");
      else if (own_known && to == own)
        context.report(path, "is the switch's own address; allowed: any other");
    }
  }
}

// Packets from a switch to the one above have no tag.
void check_uplinks(const SwitchConfig& config, ReadContext& context) {
  for (std::size_t i = 0; i < config.ports.size(); ++i) {
    const PortConfig& port = config.ports[i];
    const std::string path = item_path("ports", i) + ".vlan";
    if (port.vlan.mode != VlanMode::trunk || port.vlan.native || !context.usable(path)) continue;
    for (const JobConfig& job : config.jobs) {
      if (!job.parent || job.parent->uplink != port.name) continue;
      context.report(path + ".native",
                     "is missing; the port is the uplink of job " + std::to_string(job.id) +
                         ", whose sums go up without a tag; allowed: the VLAN that takes them");
      break;
    }
  }
}

}  // namespace

void check_forwarding(const SwitchConfig& config, ReadContext& context) {
  for (std::size_t i = 0; i < config.ports.size(); ++i)
    check_vlan(config.ports[i].vlan, item_path("ports", i) + ".vlan", context);
  check_uplinks(config, context);
  check_port_paths(config, context);
  const auto& routers = config.forwarding.snooping.router_ports;
  for (std::size_t i = 0; i < routers.size(); ++i)
    check_port_exists(config, context, item_path("forwarding.snooping.router_ports", i),
                      routers[i]);
  const auto& hosts = config.forwarding.snooping.host_ports;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const std::string path = item_path("forwarding.snooping.host_ports", i);
    check_port_exists(config, context, path, hosts[i]);
    if (std::find(routers.begin(), routers.end(), hosts[i]) != routers.end() &&
        context.usable(path))
      context.report(path, "'" + hosts[i] + "' is in router_ports, too; allowed: one of the two");
  }
}

}  // namespace tributary::config
