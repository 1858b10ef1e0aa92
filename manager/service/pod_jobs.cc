#include "manager/service/pod_jobs.h"

#include <utility>

#include "config/topology/topology_tree.h"
#include "manager/topology/worker_address.h"

namespace tributary::manager {
namespace {

// Workers that a job cannot have while these switches are full.
std::set<std::string> workers_at(const config::Topology& topology,
                                 const std::set<std::string>& full) {
  std::set<std::string> workers;
  for (const config::TopologyWorker& worker : topology.workers) {
    const auto below = config::find_switch(topology, worker.attached_to);
    const auto hop = below ? config::aggregating(topology, config::Hop{*below, ""}) : std::nullopt;
    if (hop && full.contains(topology.switches[hop->node].config.name)) workers.insert(worker.name);
  }
  return workers;
}

}  // namespace

JobDesk::Answer PodJobs::admit(const std::string& group, const JobRequest& request) {
  const Admission::Attempt attempt = service_.admit_now(request, group, now_);
  Answer answer;
  answer.id = attempt.id;
  if (attempt.id != 0) {
    admitted_.push_back({.outcome = Outcome::admitted,
                         .job = request.job.config.name,
                         .tenant = request.tenant,
                         .id = attempt.id,
                         .reason = "with the pods of podgroup " + group,
                         .at = now_});
    return answer;
  }
  answer.shortage = attempt.shortage;
  answer.ports = workers_at(service_.admission().topology(), attempt.full);
  answer.ports.insert(service_.drained().begin(), service_.drained().end());
  return answer;
}

std::string PodJobs::address_of(const std::string& worker) const {
  return manager::address_of(service_.admission().topology(), worker);
}

JobDesk::State PodJobs::state_of(const std::string& job, std::uint32_t id) const {
  const auto& jobs = service_.admission().jobs();
  const auto at = jobs.find(job);
  if (at == jobs.end() || at->second.id != id) return State::gone;
  return phase_of(at->second, switches_) == Phase::running ? State::running : State::starting;
}

std::map<std::string, std::string> PodJobs::owners() const {
  std::map<std::string, std::string> owners;
  for (const auto& [name, job] : service_.admission().jobs())
    if (!job.owner.empty()) owners[name] = job.owner;
  return owners;
}

void PodJobs::end(const std::string& job, const std::string& reason) {
  auto told = service_.cancel(job, now_, reason);
  if (told) decisions_.push_back(std::move(*told));
}

std::vector<std::uint64_t> PodJobs::keep_with(Writer& writer, std::span<const Write> writes) {
  auto revisions = service_.keep_with(writer, writes, now_);
  for (Decision& decision : std::exchange(admitted_, {})) decisions_.push_back(std::move(decision));
  return revisions;
}

}  // namespace tributary::manager
