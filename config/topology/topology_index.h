// Switches and workers of a topology by name, each looked up in constant time: find_switch(),
// find_worker() and above() are linear. For functions that look up many. Internal to the
// topology_*.cc and to the manager. Refers to the topology, which has to outlive it unchanged.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "config/topology/topology_tree.h"

namespace tributary::config {

class TopologyIndex {
 public:
  explicit TopologyIndex(const Topology& topology);

  [[nodiscard]] const Topology& topology() const { return topology_; }
  // Each returns the first of that name.
  [[nodiscard]] std::optional<std::size_t> switch_at(std::string_view name) const;
  [[nodiscard]] std::optional<std::size_t> worker_at(std::string_view name) const;
  // The switch above, whether it aggregates or not; nullopt: the root.
  [[nodiscard]] std::optional<std::size_t> parent_of(std::size_t node) const {
    return parents_[node];
  }
  // As the functions of these names in topology_tree.h. Require one tree.
  [[nodiscard]] std::optional<Hop> aggregating(std::optional<Hop> from) const;
  [[nodiscard]] std::optional<Hop> above(std::size_t node) const;

 private:
  using Names = std::unordered_map<std::string_view, std::size_t>;

  [[nodiscard]] std::optional<Hop> way_up(std::size_t node) const;

  const Topology& topology_;
  Names switches_;
  Names workers_;
  std::vector<std::optional<std::size_t>> parents_;  // by switch
};

}  // namespace tributary::config
