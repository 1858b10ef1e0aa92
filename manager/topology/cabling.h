// Where the cables of switches lead, as their neighbours say (LLDP), against the topology.
#pragma once

#include <string>
#include <vector>

#include "config/topology/topology.h"

namespace tributary::manager {

// A neighbour that a switch has heard at one of its ports.
struct Neighbour {
  std::string port;      // its own
  std::string system;    // the neighbour's name
  std::string its_port;  // the neighbour's

  bool operator==(const Neighbour&) const = default;
};

// "port up leads to B.w4, and the topology says root.a": one for each port of `node` at which
// another end is heard than the topology has. Who is no switch of the topology is not judged: a
// switch of another kind in between says so, too, and hosts have names of their own.
std::vector<std::string> wrong_cables(const config::Topology& topology, const std::string& node,
                                      const std::vector<Neighbour>& heard);

}  // namespace tributary::manager
