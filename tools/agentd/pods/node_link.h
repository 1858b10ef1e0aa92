// The stream between this node and the manager, on a thread of its own: reports go up each second
// and whenever a state changes, work comes down.
#pragma once

#include <memory>
#include <string>

#include "manager/api/client.h"
#include "tools/agentd/pods/pod_runner.h"
#include "tools/agentd/terms.h"

namespace tributary::agentd {

class NodeLink {
 public:
  // `state`: folder.
  NodeLink(const manager::Target& target, const NodeOptions& options, const std::string& state,
           Terms& terms);
  ~NodeLink();
  NodeLink(const NodeLink&) = delete;
  NodeLink& operator=(const NodeLink&) = delete;

  [[nodiscard]] std::uint64_t turns() const;

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace tributary::agentd
