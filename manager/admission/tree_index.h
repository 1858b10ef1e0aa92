// Names, sites and workers of a topology, looked up once when it is set: the cost of a decision
// then grows with the job and not with the number of names.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "config/topology/topology.h"
#include "manager/admission/placement.h"

namespace tributary::manager {

class TreeIndex {
 public:
  TreeIndex() = default;
  // Every name that the topology refers to has to be in it.
  explicit TreeIndex(const config::Topology& topology);

  [[nodiscard]] std::optional<std::size_t> switch_at(const std::string& name) const;
  [[nodiscard]] std::optional<std::size_t> worker_at(const std::string& name) const;
  [[nodiscard]] std::optional<std::size_t> parent_of(std::size_t node) const {
    return parents_[node];
  }

  // The switches that aggregate, parents first, without workers and load.
  [[nodiscard]] const std::vector<Site>& sites() const { return sites_; }
  // The switch of a site.
  [[nodiscard]] std::size_t node_of(std::size_t site) const { return nodes_[site]; }
  // Workers of a site, in the topology's order.
  [[nodiscard]] const std::vector<std::size_t>& workers_of(std::size_t site) const {
    return workers_of_[site];
  }
  // Absent: no switch between the worker and the root aggregates.
  [[nodiscard]] std::optional<std::size_t> site_of(std::size_t worker) const {
    return site_of_worker_[worker];
  }

 private:
  using Index = std::unordered_map<std::string, std::size_t>;

  void add_sites(const config::Topology& topology);
  // The switch itself if it aggregates, or the next one above that does.
  [[nodiscard]] std::optional<std::size_t> aggregating(const config::Topology& topology,
                                                       std::optional<std::size_t> node) const;

  Index switches_;
  Index workers_;
  std::vector<std::optional<std::size_t>> parents_;  // by switch
  std::vector<Site> sites_;
  std::vector<std::size_t> nodes_;                    // by site
  std::vector<std::vector<std::size_t>> workers_of_;  // by site
  std::vector<std::optional<std::size_t>> site_of_worker_;
};

}  // namespace tributary::manager
