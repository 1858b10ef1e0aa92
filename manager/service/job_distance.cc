#include "manager/service/job_distance.h"

#include <algorithm>

namespace tributary::manager {
namespace {

// From the switch up to the root, itself first.
std::vector<std::string> path_up(const config::Topology& topology, const std::string& from) {
  std::vector<std::string> path = {from};
  while (path.size() <= topology.switches.size()) {
    const auto at = std::find_if(topology.switches.begin(), topology.switches.end(),
                                 [&](const auto& sw) { return sw.config.name == path.back(); });
    if (at == topology.switches.end() || at->parent.empty()) break;
    path.push_back(at->parent);
  }
  return path;
}

unsigned hops(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto meet = std::find(b.begin(), b.end(), a[i]);
    if (meet != b.end()) return static_cast<unsigned>(i) + static_cast<unsigned>(meet - b.begin());
  }
  return static_cast<unsigned>(a.size() + b.size());
}

}  // namespace

Distances job_distances(const Admission& admission) {
  const config::Topology& topology = admission.topology();
  std::map<std::string, std::vector<std::string>> paths;
  for (const auto& sw : topology.switches)
    paths[sw.config.name] = path_up(topology, sw.config.name);
  Distances found;
  for (const auto& [name, job] : admission.jobs()) {
    if (!job.admitted()) continue;
    for (const auto& [leaf, path] : paths)
      for (const auto& [site, need] : job.needs) {
        const auto at = paths.find(site);
        if (at == paths.end()) continue;
        const unsigned away = hops(path, at->second);
        const auto known = found.hops.try_emplace({name, leaf}, away).first;
        known->second = std::min(known->second, away);
      }
  }
  return found;
}

}  // namespace tributary::manager
