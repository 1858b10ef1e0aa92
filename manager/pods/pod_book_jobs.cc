// The jobs of a PodBook's groups: pods get places and a job at once, and lose both at once.
#include <algorithm>

#include "manager/pods/pod_book.h"

namespace tributary::manager {
namespace {

const Device* port_of(const Node& node, const Spot& spot) {
  for (const std::size_t i : spot.devices)
    if (node.devices[i].kind == kPortKind) return &node.devices[i];
  return nullptr;
}

std::string worker_of(const Device& port) {
  return port.name.substr(std::string_view(kPortPrefix).size());
}

std::vector<config::TopologyMember> members_of(const Placement& placement,
                                               const std::vector<Node>& nodes) {
  std::vector<config::TopologyMember> members;
  for (const auto& spot : placement.spots)
    if (const Device* const port = port_of(nodes[spot->node], *spot))
      members.push_back({static_cast<std::uint32_t>(members.size()), worker_of(*port)});
  return members;
}

// Ranks of one node are numbered among themselves, too.
std::vector<Seat> seats_of(const JobRequest& request, std::uint32_t id, const Placement& placement,
                           const JobDesk& jobs) {
  std::vector<Seat> seats;
  std::map<std::size_t, std::uint32_t> locals;
  for (std::size_t i = 0; i < placement.spots.size(); ++i) {
    const std::string& worker = request.job.members[i].worker;
    seats.push_back({.job = request.job.config.name,
                     .id = id,
                     .rank = static_cast<std::uint32_t>(i),
                     .size = static_cast<std::uint32_t>(placement.spots.size()),
                     .local_rank = locals[placement.spots[i]->node]++,
                     .port = worker,
                     .address = jobs.address_of(worker)});
  }
  for (std::size_t i = 0; i < seats.size(); ++i)
    seats[i].local_size = locals[placement.spots[i]->node];
  return seats;
}

// False: there was none of them that could have been chosen.
bool withhold(const std::set<std::string>& workers, std::vector<Node>& nodes) {
  bool any = false;
  for (Node& node : nodes)
    for (Device& device : node.devices) {
      if (device.kind != kPortKind || !device.problem.empty() ||
          !workers.contains(worker_of(device)))
        continue;
      device.problem = "its switch has no room for the job";
      any = true;
    }
  return any;
}

Placement refused(std::size_t pods, const std::string& why) {
  Placement placement;
  placement.spots.resize(pods);
  placement.reasons.assign(pods, why);
  return placement;
}

}  // namespace

const PodGroup* PodBook::job_group_of(const PodRecord& record) const {
  const auto group = groups_.find(record.pod.spec.group);
  return group != groups_.end() && has_job(group->second) ? &group->second : nullptr;
}

bool PodBook::has_jobs() const {
  return std::any_of(groups_.begin(), groups_.end(),
                     [](const auto& entry) { return has_job(entry.second); }) ||
         std::any_of(pods_.begin(), pods_.end(),
                     [](const auto& entry) { return entry.second.seat.has_value(); });
}

void PodBook::need_port(PodRecord& record) const {
  if (job_group_of(record) != nullptr) record.ask.devices[kPortKind] = 1;
}

std::string PodBook::waits_for_old_job(const PodGroup& group) const {
  for (const auto& [name, record] : pods_)
    if (record.pod.spec.group == group.metadata.name && record.holds())
      return "the group's job still has pod " + name + ", and all its pods start at once";
  return "";
}

// Where switches have no room for the job, their ports are left out, and the next best places are
// tried.
Placement PodBook::place_with_job(const PodGroup& group, const Gang& gang, std::vector<Node> nodes,
                                  const Distances& distances, JobDesk& jobs,
                                  std::vector<Seat>& seats) {
  JobRequest request = job_request_of(group);
  std::string why;
  for (;;) {
    Placement found = within_a_commit(schedule(nodes, gang, distances, limits_.thresholds));
    if (!found.placed) return why.empty() ? found : refused(gang.asks.size(), why);
    request.job.members = members_of(found, nodes);
    const JobDesk::Answer answer = jobs.admit(group.metadata.name, request);
    if (answer.id != 0) {
      seats = seats_of(request, answer.id, found, jobs);
      return found;
    }
    if (why.empty()) why = "job " + request.job.config.name + ": " + answer.shortage;
    if (!withhold(answer.ports, nodes)) return refused(gang.asks.size(), why);
  }
}

void PodBook::tend(JobDesk& jobs) {
  std::map<std::string, std::vector<PodRecord*>> seated;
  for (auto& [name, record] : pods_)
    if (record.seat && record.holds()) seated[record.seat->job].push_back(&record);
  for (const auto& [job, group] : jobs.owners())
    if (!seated.contains(job)) jobs.end(job, "the pods of podgroup " + group + " have ended");
  for (const auto& [job, records] : seated)
    for (PodRecord* const record : records) tend_pod(*record, jobs.state_of(job, record->seat->id));
}

void PodBook::tend_pod(PodRecord& record, JobDesk::State state) {
  if (record.deleting) return;
  if (state == JobDesk::State::gone) {
    const bool once =
        record.seat->started && record.pod.spec.restart_policy == RestartPolicy::never;
    unplace(record, "JobLost",
            std::string("its job has ended") + (once ? "" : "; to be placed again"));
    if (once) record.phase = PodPhase::failed;
    tell_(record.pod.metadata.name, "lost", record.message);
  } else if (state == JobDesk::State::running && !record.seat->started) {
    record.seat->started = true;
    ++nodes_[record.node].revision;
    change(record);
    tell_(record.pod.metadata.name, "starts",
          "job " + record.seat->job + " runs: rank " + std::to_string(record.seat->rank) + " of " +
              std::to_string(record.seat->size));
  }
}

// A rank that starts anew cannot go on with those that ran: the whole gang starts anew.
void PodBook::unplace_gangs(const std::set<std::string>& groups) {
  for (auto& [name, record] : pods_) {
    if (!groups.contains(record.pod.spec.group) || !record.seat || !record.holds() ||
        record.deleting || record.pod.spec.restart_policy == RestartPolicy::never)
      continue;
    unplace(record, "GangLost", "a node with another pod of its job is lost; to be placed again");
    tell_(name, "lost", record.message);
  }
}

}  // namespace tributary::manager
