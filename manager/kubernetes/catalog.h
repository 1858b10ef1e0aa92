// The cluster's objects, with versions. Any thread.
#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <string>

#include "manager/kubernetes/ledger.h"
#include "manager/service/pod_cluster.h"

namespace tributary::manager::kubernetes {

class Catalog {
 public:
  // `term`: of the store, so that versions grow over restarts. `pause`: watches look at the
  // cluster, whose lock each look holds, no more often than that, all together.
  Catalog(PodCluster& pods, std::uint64_t term, std::chrono::milliseconds pause)
      : pods_(pods), ledger_(term << 32), pause_(pause) {}

  struct List {
    Objects objects;
    std::uint64_t version = 0;
  };
  [[nodiscard]] List list(Resource resource);
  // Null: there is none.
  [[nodiscard]] Object find(Resource resource, const std::string& name);
  struct Changes {
    std::vector<Ledger::Change> changes;
    std::uint64_t version = 0;  // up to which they go
  };
  // nullopt: that version is not known any more.
  [[nodiscard]] std::optional<Changes> since(Resource resource, std::uint64_t version);

 private:
  void refresh(Resource resource);
  [[nodiscard]] std::map<std::string, Json> current(Resource resource) const;

  PodCluster& pods_;
  std::mutex mutex_;  // taken before the cluster's
  Ledger ledger_;
  const std::chrono::milliseconds pause_;
  std::map<Resource, std::chrono::steady_clock::time_point> refreshed_;
};

}  // namespace tributary::manager::kubernetes
