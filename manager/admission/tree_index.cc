#include "manager/admission/tree_index.h"

#include <algorithm>
#include <utility>

namespace tributary::manager {

TreeIndex::TreeIndex(const config::Topology& topology) {
  for (std::size_t i = 0; i < topology.switches.size(); ++i)
    switches_.emplace(topology.switches[i].config.name, i);
  for (std::size_t i = 0; i < topology.workers.size(); ++i)
    workers_.emplace(topology.workers[i].name, i);
  for (const config::TopologySwitch& sw : topology.switches)
    parents_.push_back(switch_at(sw.parent));
  add_sites(topology);
}

std::optional<std::size_t> TreeIndex::switch_at(const std::string& name) const {
  const auto at = switches_.find(name);
  return at == switches_.end() ? std::nullopt : std::optional(at->second);
}

std::optional<std::size_t> TreeIndex::worker_at(const std::string& name) const {
  const auto at = workers_.find(name);
  return at == workers_.end() ? std::nullopt : std::optional(at->second);
}

std::optional<std::size_t> TreeIndex::aggregating(const config::Topology& topology,
                                                  std::optional<std::size_t> node) const {
  while (node && !topology.switches[*node].aggregate) node = parents_[*node];
  return node;
}

void TreeIndex::add_sites(const config::Topology& topology) {
  std::vector<std::pair<std::size_t, std::size_t>> by_depth;
  for (std::size_t node = 0; node < topology.switches.size(); ++node) {
    if (!topology.switches[node].aggregate) continue;
    std::size_t depth = 0;
    for (auto up = parents_[node]; up; up = parents_[*up]) ++depth;
    by_depth.emplace_back(depth, node);
  }
  std::sort(by_depth.begin(), by_depth.end());
  std::vector<std::optional<std::size_t>> site_of(topology.switches.size());
  for (const auto& [depth, node] : by_depth) {
    const auto up = parents_[node] ? aggregating(topology, parents_[node]) : std::nullopt;
    site_of[node] = sites_.size();
    sites_.push_back({.parent = up ? site_of[*up] : std::nullopt});
    nodes_.push_back(node);
  }
  workers_of_.resize(sites_.size());
  for (std::size_t worker = 0; worker < topology.workers.size(); ++worker) {
    const auto node = aggregating(topology, switch_at(topology.workers[worker].attached_to));
    site_of_worker_.push_back(node ? site_of[*node] : std::nullopt);
    if (node) workers_of_[*site_of[*node]].push_back(worker);
  }
}

}  // namespace tributary::manager
