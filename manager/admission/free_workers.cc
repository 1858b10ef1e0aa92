#include "manager/admission/free_workers.h"

namespace tributary::manager {

void FreeWorkers::set_workers(const config::Topology& topology, const TreeIndex& index) {
  free_.assign(topology.workers.size(), false);
  free_at_.assign(index.sites().size(), 0);
  jobs_.assign(topology.workers.size(), 0);
  for (std::size_t worker = 0; worker < topology.workers.size(); ++worker) {
    const config::TopologyWorker& one = topology.workers[worker];
    free_[worker] = one.node.empty() && !drained_.contains(one.name);
    if (const auto site = index.site_of(worker); site && free_[worker]) ++free_at_[*site];
  }
}

bool FreeWorkers::drain(const std::string& worker, bool drained, const config::Topology& topology,
                        const TreeIndex& index) {
  if (drained == drained_.contains(worker)) return false;
  if (drained)
    drained_.insert(worker);
  else
    drained_.erase(worker);
  const auto at = index.worker_at(worker);
  if (at && topology.workers[*at].node.empty()) {
    free_[*at] = !drained;
    if (const auto site = index.site_of(*at)) drained ? --free_at_[*site] : ++free_at_[*site];
  }
  return true;
}

void FreeWorkers::count(const config::TopologyJob& job, const TreeIndex& index, bool comes) {
  for (const config::TopologyMember& member : job.members)
    if (const auto worker = index.worker_at(member.worker))
      comes ? ++jobs_[*worker] : --jobs_[*worker];
}

}  // namespace tributary::manager
