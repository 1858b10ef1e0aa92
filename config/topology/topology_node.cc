// Derives one node's configuration from the whole tree.
#include <algorithm>
#include <stdexcept>

#include "config/text/codec.h"
#include "config/topology/job_shape.h"

namespace tributary::config {

Duration deadline_above(Duration below, Duration base) {
  const Duration slack = std::max(base / 8, Duration::ms(100));
  return below + Duration::ms((slack.to_ns() + 999'999) / 1'000'000);
}

std::string ranks_text(const std::vector<std::uint32_t>& ranks) {
  std::string text;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    if (!text.empty()) text += ',';
    text += std::to_string(ranks[i]);
    if (last > i) text.append("-").append(std::to_string(ranks[last]));
    i = last;
  }
  return text;
}

wire::MacAddress mac_from(const SwitchConfig& from, const SwitchConfig& other) {
  if (route_through_router(from.routes, other.ipv4) != nullptr) return {};
  return other.mac.value_or(derived_mac(other.ipv4));
}

std::optional<std::size_t> find_switch(const Topology& topology, const std::string& name) {
  for (std::size_t i = 0; i < topology.switches.size(); ++i)
    if (topology.switches[i].config.name == name) return i;
  return std::nullopt;
}

std::optional<std::size_t> find_worker(const Topology& topology, const std::string& name) {
  for (std::size_t i = 0; i < topology.workers.size(); ++i)
    if (topology.workers[i].name == name) return i;
  return std::nullopt;
}

std::optional<Hop> aggregating(const Topology& topology, std::optional<Hop> from) {
  while (from && !topology.switches[from->node].aggregate) {
    const TopologySwitch& sw = topology.switches[from->node];
    const auto parent = find_switch(topology, sw.parent);
    from = parent ? std::optional(Hop{*parent, sw.parent_port}) : std::nullopt;
  }
  return from;
}

std::optional<Hop> above(const Topology& topology, std::size_t node) {
  const TopologySwitch& sw = topology.switches[node];
  const auto parent = find_switch(topology, sw.parent);
  if (!parent) return std::nullopt;
  return aggregating(topology, Hop{*parent, sw.parent_port});
}

std::vector<TopologyMember> members_of(const Topology& topology, const TopologyJob& job) {
  if (!job.members.empty()) return job.members;
  std::vector<TopologyMember> all;
  for (std::uint32_t rank = 0; rank < job.config.workers && rank < topology.workers.size(); ++rank)
    all.push_back({rank, topology.workers[rank].name});
  return all;
}

JobTree::JobTree(const Topology& topology, const TopologyJob& job)
    : topology_(topology), job_(job) {
  const JobShape shape(TopologyIndex(topology), job);
  places_ = shape.places();
  ranks_ = shape.ranks();
  top_ = shape.top();
}

std::vector<ChildConfig> JobTree::children_of(std::size_t node) const {
  return JobShape(TopologyIndex(topology_), job_).children_of(node);
}

std::optional<Duration> JobTree::deadline_below(std::size_t node) const {
  return JobShape(TopologyIndex(topology_), job_).deadline_below(node);
}

Duration JobTree::deadline_at(std::size_t node) const {
  return JobShape(TopologyIndex(topology_), job_).deadline_at(node);
}

JobConfig JobTree::config_at(std::size_t node) const {
  return JobShape(TopologyIndex(topology_), job_).config_at(node);
}

std::uint32_t JobTree::digest() const {
  return JobShape(TopologyIndex(topology_), job_).digest();
}

Bracket JobTree::expression_at(std::size_t node) const {
  return JobShape(TopologyIndex(topology_), job_).expression_at(node);
}

namespace {

// Ports that lead to switches with telemetry are trusted.
void trust_neighbours(const Topology& topology, const TopologySwitch& own, SwitchConfig& config) {
  if (!config.telemetry.enabled()) return;
  const auto trust = [&](const TopologySwitch& other, const std::string& port) {
    auto& ports = config.telemetry.ports;
    const auto is_it = [&](const TelemetryPort& one) { return one.port == port; };
    if (!other.config.telemetry.enabled()) return;
    if (const auto found = std::find_if(ports.begin(), ports.end(), is_it); found != ports.end())
      found->trusted = true;
    else
      ports.push_back({port, true, 0});
  };
  for (const TopologySwitch& other : topology.switches) {
    if (other.config.name == own.parent) trust(other, own.uplink);
    if (other.parent == own.config.name) trust(other, other.parent_port);
    for (const TopologyUplink& way : own.other_uplinks)
      if (other.config.name == way.parent) trust(other, way.uplink);
    for (const TopologyUplink& way : other.other_uplinks)
      if (way.parent == own.config.name) trust(other, way.parent_port);
  }
}

// The switches with which this one may sum jobs that ranks open.
void join_openers(const TopologyIndex& index, std::size_t node, SwitchConfig& config) {
  const auto& switches = index.topology().switches;
  const auto opens = [&](std::size_t other) {
    return switches[other].aggregate && switches[other].config.open_jobs.enabled();
  };
  if (!opens(node)) return;
  const SwitchConfig& own = switches[node].config;
  const auto add = [&](const SwitchConfig& other, const std::string& port) {
    return OpenNeighbour{other.name, other.id, other.ipv4, mac_from(own, other), port};
  };
  if (const auto up = index.above(node); up && opens(up->node))
    config.open_jobs.parent = add(switches[up->node].config, switches[node].uplink);
  for (std::size_t other = 0; other < switches.size(); ++other)
    if (const auto up = index.above(other); up && up->node == node && opens(other))
      config.open_jobs.children.push_back(add(switches[other].config, up->port));
}

}  // namespace

SwitchConfig node_config(const TopologyIndex& index, std::size_t node,
                         std::span<const JobShape> jobs) {
  const Topology& topology = index.topology();
  const TopologySwitch& own = topology.switches[node];
  SwitchConfig config = own.config;
  for (const JobShape& job : jobs)
    if (own.aggregate && job.takes_part(node)) config.jobs.push_back(job.config_at(node));
  config.completion.hosts = hosts_at(topology, node);
  trust_neighbours(topology, own, config);
  join_openers(index, node, config);
  const auto standby = standby_ports(topology, node);
  if (standby.empty()) return config;
  const VlanMode mode = has_paths(topology) ? VlanMode::paths : VlanMode::none;
  for (const std::string& name : standby)
    for (PortConfig& port : config.ports)
      if (port.name == name) port.vlan = {mode, {}, {}, {}};
  return config;
}

SwitchConfig node_config(const Topology& topology, const std::string& name) {
  const TopologyIndex index(topology);
  const auto node = index.switch_at(name);
  if (node) return node_config(index, *node, shapes_of(index));
  std::string names;
  for (const auto& sw : topology.switches) names += (names.empty() ? "" : ", ") + sw.config.name;
  throw std::invalid_argument("there is no switch " + quoted(name) + "; allowed: " + names);
}

namespace {

// The nodes that finish escalated chunks, in the order in which they replace each other.
std::string hosts_text(const JobConfig& job) {
  std::string text;
  for (const std::string& host : job.completion_hosts)
    text.append(text.empty() ? "; completion hosts " : ", ").append(host);
  return text;
}

}  // namespace

std::string describe_tree(const SwitchConfig& config) {
  std::string text;
  for (const JobConfig& job : config.jobs) {
    text.append("job ").append(std::to_string(job.id)).append(" at ").append(config.name);
    const char* separator = ": ";
    for (const ChildConfig& c : job.children) {
      text.append(separator).append(c.is_switch ? "switch " : "worker");
      if (c.is_switch) text += std::to_string(c.id);
      text.append(" {").append(ranks_text(c.ranks)).append("} on ").append(c.port);
      separator = ", ";
    }
    if (job.parent)
      text.append("; child ")
          .append(std::to_string(job.parent->child))
          .append(" of ")
          .append(std::to_string(job.parent->fan_in))
          .append(" of ")
          .append(job.parent->name)
          .append(" through ")
          .append(job.parent->uplink);
    else
      text.append("; results are final here").append(hosts_text(job));
    if (job.hosting)
      text.append("; may finish chunks for the root, ").append(format_ipv4(job.hosting->root_ipv4));
    text.append("; deadline ").append(format_duration(job.deadline)).append("\n");
  }
  return text;
}

}  // namespace tributary::config
