// The number of planes of a tree's jobs.
#include <algorithm>

#include "config/plan/auto_planes.h"
#include "config/plan/lcore_plan.h"
#include "config/topology/topology_tree.h"

namespace tributary::config {

void settle_planes(const Node& file, Topology& topology) {
  std::size_t lcores = kMaxLcores;
  for (const TopologySwitch& sw : topology.switches)
    if (sw.aggregate) lcores = std::min(lcores, lcore_count(sw.config));
  std::vector<JobConfig*> jobs;
  for (TopologyJob& job : topology.jobs) jobs.push_back(&job.config);
  settle_planes(file, jobs, lcores);
}

}  // namespace tributary::config
