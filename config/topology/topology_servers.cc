// Parameter servers of a tree: their configurations, and what they and jobs require of each other.
#include <algorithm>
#include <array>
#include <stdexcept>

#include "config/plan/memory_plan.h"
#include "config/server/check_server.h"
#include "config/text/codec.h"
#include "config/text/lift.h"
#include "config/topology/topology_tree.h"

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

// The largest IP packet of a job that leaves its root for a host.
std::size_t largest_from_root(const Topology& t, const TopologyJob& job, const JobConfig& told,
                              const std::string& host) {
  const std::size_t packet = job_frame_bytes(told) - wire::kEthernetBytes - wire::kVlanBytes;
  const std::size_t top = JobTree(t, job).top();
  const SwitchConfig& root = t.switches[top].config;
  if (!takes_fragments(root)) return packet;
  std::size_t most = packet;
  for (const CompletionHost& way : hosts_at(t, top))
    for (const PortConfig& port : root.ports)
      if (way.name == host && port.name == way.port) most = std::min<std::size_t>(most, port.mtu);
  return most;
}

// Packets between a server and the roots must fit the port that it is attached to, or are cut at
// the roots to their own ports' MTU. The server's own MTU is not checked here.
void check_mtu(const Topology& t, const std::string& path, const Hop& at, const ServerConfig& told,
               ReadContext& context) {
  std::size_t packet = 0;
  auto served = told.jobs.begin();
  for (const TopologyJob& job : t.jobs)
    if (is_among(job.config.completion_hosts, told.name))
      packet = std::max(packet, largest_from_root(t, job, (served++)->job, told.name));
  for (const PortConfig& port : t.switches[at.node].config.ports)
    if (port.name == at.port && port.mtu < packet)
      context.report(path, "has an MTU of " + std::to_string(port.mtu) +
                               ", and packets of its jobs have up to " + std::to_string(packet) +
                               " bytes; allowed: an mtu of at least that, or roots that cut them " +
                               "(fragments) and have no larger one on the way");
}

// A worker that hosts has a server's default settings.
void check_host_worker(const Topology& t, std::size_t i, ReadContext& context) {
  const TopologyWorker& worker = t.workers[i];
  const auto is_it = [&](const TopologyJob& job) {
    return is_among(job.config.completion_hosts, worker.name);
  };
  if (std::none_of(t.jobs.begin(), t.jobs.end(), is_it) || !find_host_worker(t, worker.name))
    return;
  const std::string path = item_path("workers", i);
  const ServerConfig told = server_config(t, worker.name);
  check_mtu(t, path + ".port", {find_switch(t, worker.attached_to).value(), worker.port}, told,
            context);
  if (const auto problem = heartbeat_problem(t, worker.name, told.heartbeat))
    context.report(path, "its heartbeat of " + *problem);
  std::uint64_t bytes = 0;
  for (const ServedJobConfig& served : told.jobs) bytes += least_served_bytes(served.job);
  if (bytes > std::uint64_t{told.megabytes} << 20)
    context.report(path, "its " + std::to_string(told.megabytes) +
                             " MiB cannot hold one chunk and the kept results of every job that it "
                             "hosts; allowed: a server with more");
}

// Checks the configuration as the server itself will see it.
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

namespace {

// The configuration without jobs of a server, or of a worker in its place.
ServerConfig node_of(const Topology& topology, const std::string& name) {
  if (const auto server = find_server(topology, name)) return topology.servers[*server].config;
  const auto worker = find_host_worker(topology, name);
  if (worker && topology.workers[*worker].ipv4) {
    ServerConfig config;
    config.name = name;
    config.ipv4 = *topology.workers[*worker].ipv4;
    return config;
  }
  std::string names;
  for (const auto& s : topology.servers) names += s.config.name + ", ";
  throw std::invalid_argument("there is no parameter server " + quoted(name) + "; allowed: " +
                              names + "a worker with an address that some job names");
}

}  // namespace

ServerConfig server_config(const Topology& topology, const std::string& name) {
  ServerConfig config = node_of(topology, name);
  for (const TopologyJob& job : topology.jobs) {
    if (!is_among(job.config.completion_hosts, name)) continue;
    const JobTree tree(topology, job);
    const SwitchConfig& root = topology.switches[tree.top()].config;
    config.jobs.push_back(
        {tree.config_at(tree.top()), root.ipv4, root.udp_base_port, job.optimizer});
  }
  if (config.jobs.empty() && !find_server(topology, name))
    throw std::invalid_argument("no job names worker " + quoted(name) + " in its completion_hosts");
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
    const TopologyServer& server = t.servers[i];
    check_mtu(t, server_path(i, "port"), {find_switch(t, server.attached_to).value(), server.port},
              told, context);
    check_as_server(i, told, context);
  }
  for (std::size_t i = 0; i < t.workers.size(); ++i) check_host_worker(t, i, context);
}

}  // namespace tributary::config
