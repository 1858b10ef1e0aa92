// The way up that a switch uses, among those that the topology declares (`other_uplinks`).
#pragma once

#include <map>
#include <string>

#include "config/topology/topology.h"

namespace tributary::manager {

// By switch: its own port of the way that it uses, where that is not the file's.
using Ways = std::map<std::string, std::string>;

// The topology with that way in use. Throws std::invalid_argument where there is no such switch or
// way, and where the switches would be no tree.
config::Topology with_way(config::Topology topology, const std::string& node,
                          const std::string& uplink);
// The topology with all of them. Erases those that it does not have.
config::Topology with_ways(config::Topology topology, Ways& ways);
// Port of the way in use; empty: there is no such switch, or it is the root.
std::string way_of(const config::Topology& topology, const std::string& node);

}  // namespace tributary::manager
