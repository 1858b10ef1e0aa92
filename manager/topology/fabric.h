// The tree of switches and workers, assembled from what each of them reports.
//
//   reports of switches ─┐
//   links (LLDP)         ├─▶ assemble() ─▶ config::Topology without jobs
//   reports of nodes    ─┘
//
// Links carry no direction. The tree hangs from the root that the operator names; without a name,
// from the switch whose farthest switch is nearest, the smallest id first. A cycle, switches that
// no link joins to the root, and ends that do not exist are refused by name.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "config/topology/topology.h"

namespace tributary::manager {

struct LinkEnd {
  std::string node;  // a switch
  std::string port;

  bool operator==(const LinkEnd&) const = default;
};

// Two ports of two switches; a neighbour that both ends report is one link.
struct Link {
  LinkEnd a;
  LinkEnd b;
  std::uint32_t cost = 1;
};

struct Inventory {
  std::vector<config::SwitchConfig> switches;  // ids set, jobs ignored
  std::vector<Link> links;
  std::vector<config::TopologyWorker> workers;
  std::string root;  // empty: chosen
};

// Every problem of an inventory, one a line.
class FabricError : public std::runtime_error {
 public:
  explicit FabricError(const std::vector<std::string>& problems);
};

// Throws FabricError.
config::Topology assemble(const Inventory& inventory);

}  // namespace tributary::manager
