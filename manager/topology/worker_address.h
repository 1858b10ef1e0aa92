// The address at which a worker joins its jobs.
#pragma once

#include <string>

#include "config/topology/topology.h"

namespace tributary::manager {

// "udp://10.77.0.201", or "memif://..." if the worker is attached to a port in shared memory, which
// its machine has. Empty: no such worker, or no switch above it aggregates.
std::string address_of(const config::Topology& topology, const std::string& worker);

}  // namespace tributary::manager
