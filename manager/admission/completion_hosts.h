// Completion hosts of a manager's jobs (T10): the root, and switches of the job's tree below it,
// which take up and drop such jobs while they run. A parameter server or a worker's host reads
// which jobs it serves at its start alone, when the manager's jobs have no ids yet.
#pragma once

#include <string>
#include <vector>

#include "config/topology/topology.h"

namespace tributary::manager {

// Why no job of a manager can have the completion hosts that this one names; empty: it can, as far
// as their kinds go.
std::string wrong_host(const config::TopologyJob& job, const config::Topology& topology);
// Its hosts but the root, in the order of its list.
std::vector<std::string> switch_hosts(const config::JobConfig& job);
// True if the choice among them takes figures (T11), which a manager may give.
bool has_ranked_hosts(const config::JobConfig& job);

}  // namespace tributary::manager
