#include "config/check/check_telemetry.h"

#include <algorithm>
#include <set>

#include "config/check/check_port.h"

namespace tributary::config {
namespace {

void check_telemetry_server(const TelemetryConfig& telemetry, ReadContext& context) {
  const std::string path = "switch.telemetry.report_to";
  if (!context.usable(path) || !context.usable("switch.telemetry.node_id")) return;
  if (telemetry.enabled() && telemetry.report_to.empty())
    context.report(path, "is missing; with node_id, the address of the telemetry server");
  if (!telemetry.enabled() && !telemetry.report_to.empty())
    context.report("switch.telemetry.node_id",
                   "is missing; with report_to, the switch's number in the telemetry domain");
  if (!telemetry.enabled() && !telemetry.key_file.empty() && telemetry.report_to.empty())
    context.report("switch.telemetry.node_id",
                   "is missing; with key_file, the switch's number in the telemetry domain");
  if (telemetry.report_to.ends_with(":0"))
    context.report(path, "has port 0; allowed: the port that the telemetry server listens at");
}

void check_telemetry_ports(const SwitchConfig& config, ReadContext& context) {
  std::set<std::string> seen;
  for (std::size_t i = 0; i < config.telemetry.ports.size(); ++i) {
    const std::string path = item_path("switch.telemetry.ports", i) + ".port";
    const std::string& name = config.telemetry.ports[i].port;
    check_port_exists(config, context, path, name);
    if (context.usable(path) && !seen.insert(name).second)
      context.report(path, "'" + name + "' is listed already; allowed: each port once");
  }
}

void check_ioam(const SwitchConfig& config, ReadContext& context) {
  const IoamConfig& ioam = config.telemetry.ioam;
  if (!ioam.enabled()) return;
  std::set<std::string> seen;
  for (std::size_t i = 0; i < ioam.ports.size(); ++i) {
    const std::string path = item_path("switch.telemetry.ioam.ports", i);
    check_port_exists(config, context, path, ioam.ports[i]);
    if (context.usable(path) && !seen.insert(ioam.ports[i]).second)
      context.report(path, "'" + ioam.ports[i] + "' is listed already; allowed: each port once");
  }
  const std::string path = "switch.telemetry.node_id";
  if (!context.usable(path)) return;
  if (!config.telemetry.enabled())
    context.report(path, "is missing; with ioam.ports, the switch's number in traces");
  else if (config.telemetry.node_id > kMostIoamNode)
    context.report(path, std::to_string(config.telemetry.node_id) +
                             " has no place in an IOAM trace; allowed: 1 to " +
                             std::to_string(kMostIoamNode) + ", or no ioam.ports");
}

// Packets that the port marks would be taken for packets with metadata.
void check_telemetry_mark(const SwitchConfig& config, ReadContext& context) {
  constexpr std::uint32_t kRocePort = 4791;
  const std::string path = "switch.telemetry.udp_port";
  if (!config.telemetry.enabled() || config.telemetry.dscp || !context.usable(path)) return;
  const std::uint32_t port = config.telemetry.udp_port;
  if (port == kRocePort)
    context.report(path, "is RoCEv2's; allowed: any port that nothing else uses");
  std::uint32_t ports = kMaxShards + 1;  // with that of hosted engines
  if (!hosts_engines(config)) {
    ports = 1;
    for (const JobConfig& job : config.jobs) ports = std::max(ports, udp_ports(job));
  }
  if (!context.usable("switch.udp_base_port")) return;
  if (port >= config.udp_base_port && port < config.udp_base_port + ports)
    context.report(path, std::to_string(port) + " is one of the ports of jobs, " +
                             std::to_string(config.udp_base_port) + " to " +
                             std::to_string(config.udp_base_port + ports - 1) +
                             "; allowed: any other");
}

}  // namespace

void check_telemetry(const SwitchConfig& config, ReadContext& context) {
  check_telemetry_server(config.telemetry, context);
  check_telemetry_ports(config, context);
  check_ioam(config, context);
  check_telemetry_mark(config, context);
}

}  // namespace tributary::config
