// Derives one node's configuration from the whole tree.
#include <algorithm>
#include <map>
#include <stdexcept>

#include "config/model/bracketing.h"
#include "config/text/codec.h"
#include "config/text/lift.h"
#include "config/topology/topology_tree.h"

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
    : topology_(topology),
      job_(job),
      places_(job.config.workers),
      ranks_(topology.switches.size()) {
  for (const TopologyMember& member : members_of(topology, job)) {
    const TopologyWorker& worker = topology.workers[find_worker(topology, member.worker).value()];
    places_[member.rank] =
        aggregating(topology, Hop{find_switch(topology, worker.attached_to).value(), worker.port});
  }
  for (std::uint32_t rank = 0; rank < places_.size(); ++rank)
    for (auto hop = places_[rank]; hop; hop = above(topology, hop->node))
      ranks_[hop->node].push_back(rank);
  // The root: on the way up from any worker, the first switch with all workers below.
  auto hop = places_.empty() ? std::nullopt : places_.front();
  while (hop && ranks_[hop->node].size() < places_.size()) hop = above(topology, hop->node);
  if (!hop) return;
  top_ = hop->node;
  for (auto over = above(topology, top_); over; over = above(topology, over->node))
    ranks_[over->node].clear();
}

std::vector<ChildConfig> JobTree::children_of(std::size_t node) const {
  std::vector<ChildConfig> children;
  for (std::uint32_t rank = 0; rank < places_.size(); ++rank)
    if (places_[rank]->node == node)
      children.push_back({false, rank, 0, places_[rank]->port, {rank}});
  for (std::size_t below = 0; below < ranks_.size(); ++below) {
    if (below == top_ || !takes_part(below)) continue;
    const auto hop = above(topology_, below);
    if (!hop || hop->node != node) continue;
    const SwitchConfig& config = topology_.switches[below].config;
    children.push_back({true, config.id, config.ipv4, hop->port, ranks_[below]});
  }
  std::sort(children.begin(), children.end(), [](const ChildConfig& a, const ChildConfig& b) {
    return a.ranks.front() < b.ranks.front();
  });
  return children;
}

std::optional<Duration> JobTree::deadline_below(std::size_t node) const {
  std::optional<Duration> most;
  for (std::size_t below = 0; below < ranks_.size(); ++below) {
    if (below == top_ || !takes_part(below)) continue;
    const auto hop = above(topology_, below);
    if (hop && hop->node == node) most = std::max(most.value_or(Duration()), deadline_at(below));
  }
  return most;
}

Duration JobTree::deadline_at(std::size_t node) const {
  if (topology_.switches[node].deadline) return *topology_.switches[node].deadline;
  const auto below = deadline_below(node);
  return below ? deadline_above(*below, job_.config.deadline) : job_.config.deadline;
}

JobConfig JobTree::config_at(std::size_t node) const {
  JobConfig config = job_.config;
  config.deadline = deadline_at(node);
  config.children = children_of(node);
  config.tree_digest = digest();
  for (const ChildConfig& child : config.children)
    if (!child.is_switch) config.members.push_back({child.id, child.port});
  if (config.bracketing) config.child_order = order_over(*config.bracketing, config.children);
  // The completion engine must know the expression that the tree computes.
  if (config.order == wire::Order::reproducible && !config.bracketing)
    config.bracketing = expression();
  if (node == top_) return config;
  const std::size_t parent = above(topology_, node)->node;
  const SwitchConfig& up = topology_.switches[parent].config;
  const auto siblings = children_of(parent);
  const auto self = std::find_if(siblings.begin(), siblings.end(), [&](const ChildConfig& c) {
    return c.is_switch && c.id == topology_.switches[node].config.id;
  });
  // Frames that a router passes on have its address, not the sender's.
  const auto& routes = topology_.switches[node].config.routes;
  const auto mac_of = [&](const SwitchConfig& other) {
    if (route_through_router(routes, other.ipv4) != nullptr) return wire::MacAddress{};
    return other.mac.value_or(derived_mac(other.ipv4));
  };
  config.parent = ParentConfig{up.name,
                               up.id,
                               up.ipv4,
                               mac_of(up),
                               topology_.switches[node].uplink,
                               static_cast<std::uint16_t>(self - siblings.begin()),
                               static_cast<std::uint16_t>(siblings.size())};
  const SwitchConfig& root = topology_.switches[top_].config;
  const std::string& name = topology_.switches[node].config.name;
  if (name != kRootHost && is_among(config.completion_hosts, name))
    config.hosting = HostingConfig{root.ipv4, mac_of(root)};
  return config;
}

std::uint32_t JobTree::digest() const {
  std::map<std::uint32_t, std::string> parts;  // by id: the order in the file does not matter
  for (std::size_t node = 0; node < ranks_.size(); ++node) {
    if (!takes_part(node)) continue;
    std::string& part = parts[topology_.switches[node].config.id];
    for (const ChildConfig& c : children_of(node))
      part.append(c.is_switch ? " s" : " w")
          .append(std::to_string(c.id))
          .append(":")
          .append(ranks_text(c.ranks));
  }
  std::string text = job_.config.bracketing ? format_bracket(*job_.config.bracketing) : "";
  for (const auto& [id, part] : parts) text.append("/").append(std::to_string(id)).append(part);
  std::uint32_t hash = 0x811C9DC5u;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x01000193u;
  return hash == 0 ? 1 : hash;
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

}  // namespace

SwitchConfig node_config(const Topology& topology, const std::string& name) {
  const auto node = find_switch(topology, name);
  if (!node) {
    std::string names;
    for (const auto& sw : topology.switches) names += (names.empty() ? "" : ", ") + sw.config.name;
    throw std::invalid_argument("there is no switch " + quoted(name) + "; allowed: " + names);
  }
  SwitchConfig config = topology.switches[*node].config;
  for (const TopologyJob& job : topology.jobs) {
    const JobTree tree(topology, job);
    if (topology.switches[*node].aggregate && tree.takes_part(*node))
      config.jobs.push_back(tree.config_at(*node));
  }
  config.completion.hosts = hosts_at(topology, *node);
  trust_neighbours(topology, topology.switches[*node], config);
  const VlanMode standby = has_paths(topology) ? VlanMode::paths : VlanMode::none;
  for (const std::string& name_of_port : standby_ports(topology, *node))
    for (PortConfig& port : config.ports)
      if (port.name == name_of_port) port.vlan = {standby, {}, {}, {}};
  return config;
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
