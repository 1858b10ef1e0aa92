// Workers of the tree that may get jobs, neither drained nor leased to containers, and how many
// jobs each worker has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "config/topology/topology.h"
#include "manager/admission/tree_index.h"

namespace tributary::manager {

class FreeWorkers {
 public:
  // The tree as it is now: no worker has jobs until count(). Those that are drained stay so.
  void set_workers(const config::Topology& topology, const TreeIndex& index);
  // No new jobs for this one, until `drained` is false. False: it was so before.
  bool drain(const std::string& worker, bool drained, const config::Topology& topology,
             const TreeIndex& index);
  // A job with members comes, or goes.
  void count(const config::TopologyJob& job, const TreeIndex& index, bool comes);

  [[nodiscard]] bool is_drained(const std::string& worker) const {
    return drained_.contains(worker);
  }
  [[nodiscard]] bool is_free(std::size_t worker) const { return free_[worker]; }
  // How many are free.
  [[nodiscard]] std::uint32_t at_site(std::size_t site) const { return free_at_[site]; }
  [[nodiscard]] std::uint32_t jobs_of(std::size_t worker) const { return jobs_[worker]; }

 private:
  std::set<std::string> drained_;
  std::vector<bool> free_;              // by worker
  std::vector<std::uint32_t> free_at_;  // by site: how many
  std::vector<std::uint32_t> jobs_;     // by worker: how many
};

}  // namespace tributary::manager
