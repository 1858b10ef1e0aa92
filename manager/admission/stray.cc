#include "manager/admission/stray.h"

#include <utility>

namespace tributary::manager {
namespace {

bool is_there(const config::TopologyWorker& place, const config::Topology& topology,
              const TreeIndex& index) {
  const auto at = index.worker_at(place.name);
  if (!at) return false;
  const config::TopologyWorker& now = topology.workers[*at];
  return now.attached_to == place.attached_to && now.port == place.port;
}

}  // namespace

config::TopologyWorker place_of(const config::TopologyWorker& worker) {
  return {worker.name, worker.attached_to, worker.port, worker.ipv4};
}

Told with_places(const Job& job, const config::Topology& topology, const TreeIndex& index) {
  Told told = {*job.placed, {}, ""};
  for (config::TopologyWorker place : job.places) {
    if (is_there(place, topology, index)) continue;
    for (config::TopologyMember& member : told.job.members) {
      if (member.worker != place.name) continue;
      told.names.append(told.names.empty() ? "" : ", ").append(place.name);
      member.worker = "left-" + std::to_string(job.id) + "-" + std::to_string(member.rank);
      place.name = member.worker;
      told.left.push_back(std::move(place));
      break;
    }
  }
  return told;
}

}  // namespace tributary::manager
