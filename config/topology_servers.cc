// Parameter servers of a tree: what each is told, and what they and their jobs ask of each other.
#include <algorithm>
#include <array>
#include <stdexcept>

#include "config/check_server.h"
#include "config/codec.h"
#include "config/lift.h"
#include "config/topology_tree.h"

namespace tributary::config {
namespace {

std::string server_path(std::size_t i, const char* key) {
  return item_path("servers", i) + '.' + key;
}

void check_heartbeat(const Topology& t, std::size_t i, ReadContext& context) {
  const ServerConfig& server = t.servers[i].config;
  if (const auto problem = heartbeat_problem(t, server.name, server.heartbeat))
    context.report(server_path(i, "heartbeat"), *problem);
}

// Packets between a server and the roots have room on the roots' ports; and on the server's own?
void check_mtu(const Topology& t, std::size_t i, const ServerConfig& told, ReadContext& context) {
  std::size_t packet = 0;
  for (const ServedJobConfig& served : told.jobs)
    packet =
        std::max(packet, job_frame_bytes(served.job) - wire::kEthernetBytes - wire::kVlanBytes);
  const TopologyServer& server = t.servers[i];
  for (const PortConfig& port : t.switches[*find_switch(t, server.attached_to)].config.ports)
    if (port.name == server.port && port.mtu < packet)
      context.report(server_path(i, "port"), "has an MTU of " + std::to_string(port.mtu) +
                                                 ", and packets of its jobs have up to " +
                                                 std::to_string(packet) +
                                                 " bytes; allowed: an mtu of at least that");
}

// As the server itself will see it.
void check_as_server(std::size_t i, const ServerConfig& config, ReadContext& context) {
  const std::array parts = {ReadContext::Renaming{item_path("servers", i), "server"}};
  ReadContext part = context.part(parts);
  check(config, part);
  context.adopt(part, parts);
}

}  // namespace

std::optional<std::size_t> find_server(const Topology& topology, const std::string& name) {
  for (std::size_t i = 0; i < topology.servers.size(); ++i)
    if (topology.servers[i].config.name == name) return i;
  return std::nullopt;
}

ServerConfig server_config(const Topology& topology, const std::string& name) {
  const auto place = find_server(topology, name);
  if (!place) {
    std::string names;
    for (const auto& s : topology.servers) names += (names.empty() ? "" : ", ") + s.config.name;
    throw std::invalid_argument("there is no parameter server " + quoted(name) +
                                "; allowed: " + (names.empty() ? "none" : names));
  }
  ServerConfig config = topology.servers[*place].config;
  for (const TopologyJob& job : topology.jobs) {
    if (!is_among(job.config.completion_hosts, name)) continue;
    const JobTree tree(topology, job);
    const SwitchConfig& root = topology.switches[tree.top()].config;
    config.jobs.push_back(
        {tree.config_at(tree.top()), root.ipv4, root.udp_base_port, job.optimizer});
  }
  return config;
}

void check_servers(const Topology& t, ReadContext& context) {
  for (std::size_t i = 0; i < t.servers.size(); ++i) {
    const ServerConfig told = server_config(t, t.servers[i].config.name);
    if (told.jobs.empty())
      context.report(item_path("servers", i),
                     "no job names " + quoted(told.name) +
                         " in its completion_hosts; allowed: servers that some job names");
    check_heartbeat(t, i, context);
    check_mtu(t, i, told, context);
    check_as_server(i, told, context);
  }
}

}  // namespace tributary::config
