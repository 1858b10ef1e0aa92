#include "manager/topology/worker_address.h"

#include <optional>

#include "config/model/devargs.h"
#include "config/text/codec.h"
#include "config/topology/topology_tree.h"

namespace tributary::manager {
namespace {

// "memif://SOCKET?id=N"; none for a port of another kind.
std::optional<std::string> memif_interface(const std::string& devargs) {
  const config::Devargs device = config::parse_devargs(devargs);
  const auto socket = device.get("socket");
  if (device.driver != "net_memif" || !socket) return std::nullopt;
  return "memif://" + std::string(*socket) + "?id=" + std::to_string(device.number("id", 0));
}

}  // namespace

std::string address_of(const config::Topology& topology, const std::string& worker) {
  const auto at = config::find_worker(topology, worker);
  if (!at) return "";
  const auto below = config::find_switch(topology, topology.workers[*at].attached_to);
  if (!below) return "";
  const auto serving = config::aggregating(topology, config::Hop{*below, ""});
  if (!serving) return "";
  const config::SwitchConfig& config = topology.switches[serving->node].config;
  static const auto usual = config::SwitchConfig{}.udp_base_port;
  const std::string ipv4 = config::format_ipv4(config.ipv4);
  const std::string port =
      config.udp_base_port == usual ? "" : std::to_string(config.udp_base_port);
  for (const auto& own : topology.switches[*below].config.ports) {
    if (own.name != topology.workers[*at].port) continue;
    const auto memif = memif_interface(own.devargs);
    if (memif) return *memif + "&switch=" + ipv4 + (port.empty() ? "" : "&port=" + port);
  }
  return "udp://" + ipv4 + (port.empty() ? "" : ":" + port);
}

}  // namespace tributary::manager
