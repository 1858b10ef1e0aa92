// Pinned paths of a topology (`switches[].ports[].paths`): none makes a loop over the declared
// links. For each destination that some path names, a frame goes from switch to switch: by the path
// where there is one, else along the tree.
#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include "config/schema/schema_forwarding.h"
#include "config/text/codec.h"
#include "config/topology/path_cycle.h"
#include "config/topology/topology_tree.h"

namespace tributary::config {
namespace {

PathDestination destination_of(std::uint32_t ipv4) {
  PathDestination to;
  to.prefix.bits = 32;
  for (std::size_t i = 0; i < 4; ++i)
    to.prefix.address[i] = static_cast<std::uint8_t>(ipv4 >> (24 - 8 * i));
  return to;
}

// A destination, and the switch that it is on, where the file says that.
struct Goal {
  PathDestination to;
  std::optional<std::size_t> on;
};

// Each pinned destination, and each declared address that one of them covers.
std::vector<Goal> goals_of(const Topology& t) {
  std::vector<Goal> goals;
  std::set<std::string> seen;  // each switch on a way pins the same
  for (const TopologySwitch& sw : t.switches)
    for (const PortConfig& port : sw.config.ports)
      for (const PathDestination& to : port.paths)
        if (seen.insert(text_of(to)).second) goals.push_back({to, std::nullopt});
  const auto pinned = [&, count = goals.size()](const PathDestination& to) {
    return std::any_of(goals.begin(), goals.begin() + static_cast<std::ptrdiff_t>(count),
                       [&](const Goal& goal) { return contains(goal.to, to); });
  };
  const auto add = [&](std::uint32_t ipv4, std::optional<std::size_t> on) {
    if (const PathDestination to = destination_of(ipv4); pinned(to)) goals.push_back({to, on});
  };
  for (const TopologyWorker& w : t.workers)
    if (w.ipv4) add(*w.ipv4, find_switch(t, w.attached_to));
  for (const TopologyServer& s : t.servers) add(s.config.ipv4, find_switch(t, s.attached_to));
  for (std::size_t i = 0; i < t.switches.size(); ++i) add(t.switches[i].config.ipv4, i);
  return goals;
}

// The port of the longest path that covers the destination; nullptr: there is none.
const PortConfig* port_for(const SwitchConfig& config, const PathDestination& to) {
  const PortConfig* best = nullptr;
  int bits = -1;
  for (const PortConfig& port : config.ports)
    for (const PathDestination& path : port.paths) {
      const int length = path.is_mac ? 129 : path.prefix.bits;
      if (!contains(path, to) || length <= bits) continue;
      best = &port;
      bits = length;
    }
  return best;
}

// Switches at the other end of a port's link.
std::vector<std::size_t> behind(const Topology& t, std::size_t node, const std::string& port) {
  std::vector<std::size_t> out;
  const TopologySwitch& own = t.switches[node];
  const auto add_parent = [&](const std::string& uplink, const std::string& parent) {
    if (uplink != port || parent.empty()) return;
    if (const auto up = find_switch(t, parent)) out.push_back(*up);
  };
  add_parent(own.uplink, own.parent);
  for (const TopologyUplink& way : own.other_uplinks) add_parent(way.uplink, way.parent);
  for (std::size_t i = 0; i < t.switches.size(); ++i) {
    const TopologySwitch& below = t.switches[i];
    const auto leads = [&](const std::string& parent, const std::string& parent_port) {
      return parent == own.config.name && parent_port == port;
    };
    bool there = leads(below.parent, below.parent_port);
    for (const TopologyUplink& way : below.other_uplinks)
      there = there || leads(way.parent, way.parent_port);
    if (there) out.push_back(i);
  }
  return out;
}

// The next switch along the tree; nullopt: it is this one.
std::optional<std::size_t> along_the_tree(const Topology& t, std::size_t from, std::size_t to) {
  if (from == to) return std::nullopt;
  for (auto at = std::optional(to); at; at = find_switch(t, t.switches[*at].parent))
    if (t.switches[*at].parent == t.switches[from].config.name) return at;
  return find_switch(t, t.switches[from].parent);
}

std::vector<PathStep> ways_to(const Topology& t, const Goal& goal) {
  std::vector<PathStep> ways;
  for (std::size_t i = 0; i < t.switches.size(); ++i) {
    if (const PortConfig* const port = port_for(t.switches[i].config, goal.to)) {
      for (const std::size_t next : behind(t, i, port->name)) ways.push_back({i, next});
    } else if (goal.on) {
      if (const auto next = along_the_tree(t, i, *goal.on)) ways.push_back({i, *next});
    }
  }
  return ways;
}

// Where the file says so: the first path of the cycle's switches that the destination takes.
std::string place_of(const Topology& t, const std::vector<std::size_t>& cycle, const Goal& goal) {
  for (const std::size_t node : cycle) {
    const SwitchConfig& config = t.switches[node].config;
    const PortConfig* const port = port_for(config, goal.to);
    if (port == nullptr) continue;
    const auto at = static_cast<std::size_t>(port - config.ports.data());
    return item_path(item_path("switches", node) + ".ports", at) + ".paths";
  }
  return "switches";
}

}  // namespace

bool has_paths(const Topology& topology) {
  return std::any_of(
      topology.switches.begin(), topology.switches.end(), [](const TopologySwitch& sw) {
        return std::any_of(sw.config.ports.begin(), sw.config.ports.end(),
                           [](const PortConfig& port) { return !port.paths.empty(); });
      });
}

void check_paths(const Topology& topology, ReadContext& context) {
  if (!has_paths(topology)) return;
  std::vector<std::string> names;
  for (const TopologySwitch& sw : topology.switches) names.push_back(sw.config.name);
  for (const Goal& goal : goals_of(topology)) {
    const auto cycle = find_cycle(ways_to(topology, goal));
    if (!cycle) continue;
    return context.report(place_of(topology, *cycle, goal),
                          "the way of " + text_of(goal.to) +
                              " is a cycle: " + cycle_text(names, *cycle) +
                              "; allowed: paths that end where the destination is");
  }
}

}  // namespace tributary::config
