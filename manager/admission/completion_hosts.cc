#include "manager/admission/completion_hosts.h"

#include <algorithm>

#include "config/topology/topology_tree.h"

namespace tributary::manager {
namespace {

std::string allowed(const config::Topology& topology) {
  std::string names;
  for (const auto& sw : topology.switches)
    if (sw.aggregate && sw.config.name != config::kRootHost)
      names.append(names.empty() ? "" : ", ").append(sw.config.name);
  return "; allowed: switches below the job's root (" + names + "), and root as the last";
}

}  // namespace

std::string wrong_host(const config::TopologyJob& job, const config::Topology& topology) {
  for (const std::string& host : switch_hosts(job.config)) {
    const std::string names = "job.completion_hosts: names '" + host + "'";
    const bool server = std::any_of(topology.servers.begin(), topology.servers.end(),
                                    [&](const auto& one) { return one.config.name == host; });
    if (!server && config::find_switch(topology, host)) continue;
    if (server || config::find_worker(topology, host))
      return names + ", a " + (server ? "parameter server" : "worker") +
             ", which is told of its jobs by its file when it starts, and a manager's job has no "
             "id before it runs" +
             allowed(topology) + ", or a job of the switches' own file";
    return names + ", and the topology has no such switch" + allowed(topology);
  }
  return "";
}

std::vector<std::string> switch_hosts(const config::JobConfig& job) {
  std::vector<std::string> names = job.completion_hosts;
  std::erase(names, config::kRootHost);
  return names;
}

bool has_ranked_hosts(const config::JobConfig& job) {
  return !switch_hosts(job).empty() && (job.host_choice == config::HostChoice::least_load ||
                                        job.host_choice == config::HostChoice::two_stage);
}

}  // namespace tributary::manager
