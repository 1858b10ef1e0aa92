// One client's watch: a JSON object for each change, one a line (Kubernetes API Concepts,
// "Efficient detection of changes").
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "manager/kubernetes/catalog.h"
#include "manager/kubernetes/request.h"
#include "manager/kubernetes/selector.h"

namespace tributary::manager::kubernetes {

class Watch {
 public:
  // From the request's resourceVersion on; without one, all objects come first. `name`: of one
  // object; empty: of all. Throws Failure.
  Watch(Catalog& catalog, PodCluster& pods, Resource resource, const std::string& name,
        const Request& request);

  // The lines that are due, or "" after `most` without any. nullopt: the watch is over.
  std::optional<std::string> next(std::chrono::milliseconds most);

 private:
  [[nodiscard]] bool is_wanted(const Object& object) const;
  void tell(const char* type, const Json& object, std::string& lines);
  std::string due();

  Catalog& catalog_;
  PodCluster& pods_;
  const Resource resource_;
  const std::string name_;
  const Selector selector_;
  const bool as_table_;
  std::optional<std::chrono::steady_clock::time_point> end_;
  std::optional<std::uint64_t> version_;  // told so far; nullopt: nothing
  std::uint64_t seen_ = 0;                // of the cluster's changes
  bool over_ = false;
};

}  // namespace tributary::manager::kubernetes
