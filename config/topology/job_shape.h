// A job's part of the tree, computed once for all of its switches: linear in switches and ranks,
// where JobTree computes it anew for each question. Internal to the topology_*.cc and to the
// manager. Refers to the topology and the job, which have to outlive it unchanged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "config/topology/topology_index.h"

namespace tributary::config {

class JobShape {
 public:
  // Requires a topology whose references have been checked.
  JobShape(const TopologyIndex& index, const TopologyJob& job);

  // Each answers as the JobTree's function of that name.
  [[nodiscard]] std::size_t top() const { return top_; }
  [[nodiscard]] bool takes_part(std::size_t node) const { return !ranks_[node].empty(); }
  [[nodiscard]] const std::vector<std::uint32_t>& ranks_at(std::size_t node) const {
    return ranks_[node];
  }
  [[nodiscard]] std::optional<Duration> deadline_below(std::size_t node) const {
    return deadlines_[node].below;
  }
  [[nodiscard]] Duration deadline_at(std::size_t node) const { return deadlines_[node].own; }
  [[nodiscard]] std::uint32_t digest() const { return digest_; }
  [[nodiscard]] Bracket expression_at(std::size_t node) const;
  [[nodiscard]] JobConfig config_at(std::size_t node) const;

  // Where each rank joins: its switch and port.
  [[nodiscard]] const std::vector<std::optional<Hop>>& places() const { return places_; }
  // By switch: the ranks below.
  [[nodiscard]] const std::vector<std::vector<std::uint32_t>>& ranks() const { return ranks_; }
  // By their lowest rank.
  [[nodiscard]] const std::vector<ChildConfig>& children_of(std::size_t node) const {
    return children_[node];
  }

 private:
  struct Deadlines {
    Duration own;
    std::optional<Duration> below;  // the largest of the switches directly below
  };

  void place_ranks(const TopologyIndex& index);
  void add_children(const TopologyIndex& index);
  Duration settle_deadlines(std::size_t node);
  [[nodiscard]] std::uint32_t digest_of_children() const;
  [[nodiscard]] wire::MacAddress mac_from(std::size_t node, const SwitchConfig& other) const;
  [[nodiscard]] ParentConfig parent_at(std::size_t node) const;

  const Topology& topology_;
  const TopologyJob& job_;
  std::size_t top_ = 0;
  std::vector<std::optional<Hop>> places_;         // by rank
  std::vector<std::vector<std::uint32_t>> ranks_;  // by switch, as are those below
  std::vector<std::vector<ChildConfig>> children_;
  std::vector<std::vector<std::optional<std::size_t>>> nodes_;  // of the children that are switches
  std::vector<std::optional<std::size_t>> parents_;             // that take part
  std::vector<Deadlines> deadlines_;
  std::uint32_t digest_ = 0;
};

// The shape of each job of the topology.
std::vector<JobShape> shapes_of(const TopologyIndex& index);
// The configuration of a switch with the jobs that it sums. `jobs`: those of shapes_of().
SwitchConfig node_config(const TopologyIndex& index, std::size_t node,
                         std::span<const JobShape> jobs);

}  // namespace tributary::config
