// The scheduling of a PodBook: the oldest pod first, and with it the rest of its group.
#include <algorithm>
#include <stdexcept>

#include "manager/pods/pod_book.h"

namespace tributary::manager {

void PodBook::begin_scheduling() {
  schedule_after_ = 0;
}

bool PodBook::schedule_one(const Distances& distances, JobDesk* jobs) {
  std::map<std::uint64_t, PodRecord*> pending;
  for (auto& [name, record] : pods_)
    if (record.node.empty() && !record.finished() && record.sequence > schedule_after_)
      pending[record.sequence] = &record;
  std::set<std::string> seen;
  for (const auto& [sequence, record] : pending) {
    schedule_after_ = sequence;
    const std::string& group = record->pod.spec.group;
    if (!group.empty() && !seen.insert(group).second) continue;
    if (try_place(pending_like(*record), distances, jobs)) return true;
  }
  return false;
}

// The pod, or all pods of its group that wait.
PodBook::Records PodBook::pending_like(const PodRecord& first) {
  Records found;
  const std::string& group = first.pod.spec.group;
  for (auto& [name, record] : pods_) {
    if (!record.node.empty() || record.finished()) continue;
    if (&record == &first || (!group.empty() && record.pod.spec.group == group))
      found.push_back(&record);
  }
  std::sort(found.begin(), found.end(),
            [](const auto* a, const auto* b) { return a->sequence < b->sequence; });
  return found;
}

// `nodes` loses those at which the group's other pods are not, where that matters.
Gang PodBook::gang_of(const Records& records, std::vector<Node>& nodes) const {
  Gang gang;
  for (const PodRecord* record : records) gang.asks.push_back(record->ask);
  const auto group = groups_.find(records[0]->pod.spec.group);
  if (group == groups_.end()) return gang;
  std::size_t placed = 0;
  std::set<std::string> hosts;
  for (const auto& [name, record] : pods_) {
    if (!record.holds() || record.deleting || record.pod.spec.group != group->first) continue;
    ++placed;
    hosts.insert(record.node);
  }
  gang.together = group->second.together;
  gang.least = std::max<std::size_t>(
      1, group->second.min_count - std::min<std::size_t>(placed, group->second.min_count));
  if (hosts.empty() || gang.together == Together::anywhere) return gang;
  std::set<std::string> leaves;
  for (const Node& node : nodes)
    if (hosts.contains(node.name)) leaves.insert(node.leaf);
  std::erase_if(nodes, [&](const Node& node) {
    return gang.together == Together::host ? !hosts.contains(node.name)
                                           : !leaves.contains(node.leaf);
  });
  return gang;
}

void PodBook::refuse(PodRecord& record, const std::string& why) {
  // Figures change all the time: the message follows them, an event does not.
  if (std::exchange(record.reason, "Unschedulable") != "Unschedulable")
    tell_(record.pod.metadata.name, "unschedulable", why);
  record.message = why;
}

bool PodBook::try_place(const Records& records, const Distances& distances, JobDesk* jobs) {
  std::vector<Node> nodes = nodes_in_use();
  const Gang gang = gang_of(records, nodes);
  const PodGroup* const with_job = job_group_of(*records[0]);
  std::string waits;
  if (records.size() < gang.least)
    waits = "the group needs " + std::to_string(gang.least) + " pods, and has " +
            std::to_string(records.size()) + " that wait";
  else if (with_job != nullptr)
    waits = jobs == nullptr ? "jobs are not served here" : waits_for_old_job(*with_job);
  if (!waits.empty()) {
    for (PodRecord* record : records) refuse(*record, waits);
    return false;
  }
  std::vector<Seat> seats;
  Placement placement = with_job != nullptr
                            ? place_with_job(*with_job, gang, nodes, distances, *jobs, seats)
                            : within_a_commit(schedule(nodes, gang, distances, limits_.thresholds));
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (!placement.spots[i]) {
      refuse(*records[i], placement.reasons[i]);
      continue;
    }
    if (!seats.empty()) records[i]->seat = std::move(seats[i]);
    bind(*records[i], nodes[placement.spots[i]->node], *placement.spots[i], placement.reasons[i]);
  }
  return placement.placed;
}

// The claims of a placement are one commit, which is bounded.
Placement PodBook::within_a_commit(Placement placement) {
  std::size_t claims = 0;
  for (const auto& spot : placement.spots) claims += spot ? 1 + spot->devices.size() : 0;
  if (claims <= kMostClaims) return placement;
  placement.placed = false;
  std::fill(placement.spots.begin(), placement.spots.end(), std::nullopt);
  std::fill(placement.reasons.begin(), placement.reasons.end(),
            "the group needs " + std::to_string(claims) +
                " claims at once; allowed: " + std::to_string(kMostClaims));
  return placement;
}

void PodBook::bind(PodRecord& record, const Node& node, const Spot& spot, const std::string& why) {
  record.node = node.name;
  record.devices.clear();
  for (const std::size_t i : spot.devices) record.devices.push_back(node.devices[i].name);
  record.reason = "Scheduled";
  record.message = why;
  ++nodes_[node.name].revision;
  change(record);
  tell_(record.pod.metadata.name, "scheduled", "to node " + node.name + ", " + why);
}

}  // namespace tributary::manager
