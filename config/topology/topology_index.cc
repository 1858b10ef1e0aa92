#include "config/topology/topology_index.h"

namespace tributary::config {
namespace {

std::optional<std::size_t> found(const std::unordered_map<std::string_view, std::size_t>& names,
                                 std::string_view name) {
  const auto at = names.find(name);
  return at == names.end() ? std::nullopt : std::optional(at->second);
}

}  // namespace

TopologyIndex::TopologyIndex(const Topology& topology) : topology_(topology) {
  switches_.reserve(topology.switches.size());
  workers_.reserve(topology.workers.size());
  for (std::size_t i = 0; i < topology.switches.size(); ++i)
    switches_.emplace(topology.switches[i].config.name, i);
  for (std::size_t i = 0; i < topology.workers.size(); ++i)
    workers_.emplace(topology.workers[i].name, i);
  parents_.reserve(topology.switches.size());
  for (const TopologySwitch& sw : topology.switches) parents_.push_back(switch_at(sw.parent));
}

std::optional<std::size_t> TopologyIndex::switch_at(std::string_view name) const {
  return found(switches_, name);
}

std::optional<std::size_t> TopologyIndex::worker_at(std::string_view name) const {
  return found(workers_, name);
}

std::optional<Hop> TopologyIndex::aggregating(std::optional<Hop> from) const {
  while (from && !topology_.switches[from->node].aggregate) from = way_up(from->node);
  return from;
}

std::optional<Hop> TopologyIndex::above(std::size_t node) const {
  return aggregating(way_up(node));
}

std::optional<Hop> TopologyIndex::way_up(std::size_t node) const {
  if (!parents_[node]) return std::nullopt;
  return Hop{*parents_[node], topology_.switches[node].parent_port};
}

}  // namespace tributary::config
