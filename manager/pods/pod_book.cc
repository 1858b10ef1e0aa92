#include "manager/pods/pod_book.h"

#include <algorithm>
#include <stdexcept>

namespace tributary::manager {

void PodBook::keep_nodes(const PodBook& earlier) {
  nodes_ = earlier.nodes_;
  for (auto& [name, node] : nodes_) ++node.revision;
}

void PodBook::restore(PodRecord record, Instant now) {
  next_ = std::max(next_, record.sequence + 1);
  if (!record.node.empty()) {
    NodeRecord& node = nodes_[record.node];
    node.node.name = record.node;
    node.heard = std::max(node.heard, now);
    if (record.deleting) record.dropped_at = node.revision;
  }
  need_port(record);
  std::string name = record.pod.metadata.name;
  pods_[std::move(name)] = std::move(record);
}

void PodBook::restore(PodGroup group) {
  std::string name = group.metadata.name;
  groups_[std::move(name)] = std::move(group);
}

void PodBook::check(const Manifest& manifest) const {
  std::set<std::string> groups;
  for (const PodGroup& group : manifest.groups) {
    if (groups_.contains(group.metadata.name))
      throw AlreadyThere("podgroup " + group.metadata.name + " is already there");
    groups.insert(group.metadata.name);
  }
  for (const Pod& pod : manifest.pods) {
    const std::string& name = pod.metadata.name;
    if (const auto at = pods_.find(name); at != pods_.end())
      throw AlreadyThere(std::string("pod ").append(name).append(
          at->second.deleting ? " is being deleted" : " is already there"));
    const std::string& group = pod.spec.group;
    if (!group.empty() && !groups.contains(group) && !groups_.contains(group))
      throw std::invalid_argument(
          std::string("pod ")
              .append(name)
              .append(": spec.schedulingGroup.podGroupName: there is no podgroup ")
              .append(group));
  }
  check_ranks(manifest);
  if (manifest.pods.size() + manifest.groups.size() > kMostClaims)
    throw std::invalid_argument("the manifest has " +
                                std::to_string(manifest.pods.size() + manifest.groups.size()) +
                                " objects; allowed at once: " + std::to_string(kMostClaims));
}

// A group with a job has as many pods as the job has ranks.
void PodBook::check_ranks(const Manifest& manifest) const {
  std::map<std::string, std::size_t> pods;
  for (const auto& [name, record] : pods_) ++pods[record.pod.spec.group];
  for (const Pod& pod : manifest.pods) ++pods[pod.spec.group];
  const auto check_group = [&pods](const PodGroup& group) {
    const std::size_t count = pods[group.metadata.name];
    if (has_job(group) && count > group.min_count)
      throw std::invalid_argument("podgroup " + group.metadata.name + " has a job of " +
                                  std::to_string(group.min_count) + " ranks, and would have " +
                                  std::to_string(count) + " pods");
  };
  for (const PodGroup& group : manifest.groups) check_group(group);
  for (const Pod& pod : manifest.pods)
    if (const auto group = groups_.find(pod.spec.group); group != groups_.end())
      check_group(group->second);
}

void PodBook::create(const Manifest& manifest) {
  check(manifest);
  for (const PodGroup& group : manifest.groups) {
    groups_[group.metadata.name] = group;
    changed_groups_.insert(group.metadata.name);
  }
  for (const Pod& pod : manifest.pods) {
    PodRecord record;
    record.pod = pod;
    record.ask = ask_of(pod);
    record.sequence = next_++;
    need_port(record);
    change(pods_[pod.metadata.name] = std::move(record));
    tell_(pod.metadata.name, "created", "waits for a place");
  }
}

bool PodBook::remove(const std::string& pod) {
  const auto at = pods_.find(pod);
  if (at == pods_.end()) return false;
  PodRecord& record = at->second;
  if (record.deleting) return true;
  const auto node = nodes_.find(record.node);
  if (node == nodes_.end()) {
    forget(pod);
    return true;
  }
  record.deleting = true;
  record.dropped_at = ++node->second.revision;
  change(record);
  tell_(pod, "deleting", "waits for node " + record.node);
  return true;
}

bool PodBook::remove_group(const std::string& group) {
  if (!groups_.contains(group)) return false;
  for (const auto& [name, record] : pods_)
    if (record.pod.spec.group == group)
      throw std::invalid_argument(
          std::string("podgroup ").append(group).append(" still has pod ").append(name));
  groups_.erase(group);
  changed_groups_.insert(group);
  return true;
}

void PodBook::forget(const std::string& pod) {
  const bool is_expired = pods_.at(pod).is_expired;
  const std::string group = pods_.at(pod).pod.spec.group;
  pods_.erase(pod);
  const bool is_last = std::none_of(pods_.begin(), pods_.end(), [&](const auto& entry) {
    return entry.second.pod.spec.group == group;
  });
  if (is_expired && is_last && groups_.erase(group) > 0) changed_groups_.insert(group);
  changed_pods_.insert(pod);
  tell_(pod, "deleted", "its record is gone");
}

void PodBook::change(const PodRecord& record) {
  changed_pods_.insert(record.pod.metadata.name);
}

void PodBook::report(const std::string& node, NodeReport report, Instant now) {
  NodeRecord& known = nodes_[node];
  if (!known.node.ready) tell_("", "node", node + " is ready");
  known.heard = now;
  known.node = std::move(report.figures);
  known.node.name = node;
  known.node.ready = true;
  std::vector<std::string> gone;
  std::vector<std::string> idle;
  for (auto& [name, record] : pods_) {
    if (record.node != node) continue;
    const bool there = report.instances.contains(record.instance());
    if (record.deleting && !there && report.applied >= record.dropped_at)
      gone.push_back(name);
    else if (there && !record.finished())
      report_pod(record, report);
    if (there && is_idle(record, report)) idle.push_back(name);
  }
  for (const std::string& name : gone) forget(name);
  for (const std::string& name : idle) {
    tell_(name, "idle", "for " + std::to_string(pods_.at(name).ask.idle_after_s) + " s: removed");
    remove(name);
  }
}

// A rank of a job waits for others and uses nothing: it is never idle.
bool PodBook::is_idle(const PodRecord& record, const NodeReport& report) {
  const std::uint32_t most_s = record.ask.idle_after_s;
  return most_s > 0 && !record.seat && !record.deleting && record.phase == PodPhase::running &&
         report.instances.at(record.instance()).idle >= Duration::seconds(most_s);
}

void PodBook::report_pod(PodRecord& record, const NodeReport& report) {
  const InstanceReport& now = report.instances.at(record.instance());
  record.containers = now.containers;
  if (!now.message.empty() || record.phase != now.phase) record.message = now.message;
  if (record.phase == now.phase) return;
  record.phase = now.phase;
  record.reason = name_of(now.phase);
  // A finished pod is no work any more, and its agent has to know.
  if (record.finished()) ++nodes_[record.node].revision;
  change(record);
  tell_(record.pod.metadata.name, name_of(now.phase),
        "on node " + record.node + (now.message.empty() ? "" : ": " + now.message));
}

void PodBook::lose(PodRecord& record) {
  const std::string where = record.node;
  const bool again = record.pod.spec.restart_policy != RestartPolicy::never;
  unplace(
      record, "NodeLost",
      "node " + where + " was not heard of for a lease" + (again ? "; to be placed again" : ""));
  if (!again) record.phase = PodPhase::failed;
  tell_(record.pod.metadata.name, "lost", record.message);
}

// The pod waits again, as another attempt.
void PodBook::unplace(PodRecord& record, const std::string& reason, const std::string& message) {
  ++nodes_[std::exchange(record.node, "")].revision;
  record.devices.clear();
  record.containers.clear();
  record.seat.reset();
  record.phase = PodPhase::pending;
  ++record.attempt;
  record.reason = reason;
  record.message = message;
  change(record);
}

void PodBook::advance(Instant now) {
  std::set<std::string> broken;  // gangs that lack a rank now
  for (auto& [node, known] : nodes_) {
    if (now < known.heard + limits_.lease + limits_.margin) continue;
    if (std::exchange(known.node.ready, false)) tell_("", "node", node + " is lost");
    std::vector<std::string> gone;
    for (auto& [name, record] : pods_) {
      if (record.node != node) continue;
      if (record.deleting) {
        gone.push_back(name);
      } else if (!record.finished()) {
        if (record.seat) broken.insert(record.pod.spec.group);
        lose(record);
      }
    }
    if (!gone.empty()) ++known.revision;
    for (const std::string& name : gone) forget(name);
  }
  unplace_gangs(broken);
  expire(now);
}

void PodBook::expire(Instant now) {
  std::vector<std::string> old;
  for (auto& [name, record] : pods_) {
    if (!record.finished() || record.deleting || !record.ask.ttl_s) continue;
    if (record.ended == Instant{}) record.ended = now;
    if (now >= record.ended + Duration::seconds(*record.ask.ttl_s)) old.push_back(name);
  }
  for (const std::string& name : old) {
    pods_.at(name).is_expired = true;
    tell_(name, "expired",
          "finished " + std::to_string(*pods_.at(name).ask.ttl_s) + " s ago: removed");
    remove(name);
  }
}

PodBook::Work PodBook::work(const std::string& node) const {
  Work work;
  const auto known = nodes_.find(node);
  work.revision = known == nodes_.end() ? 1 : known->second.revision;
  for (const auto& [name, record] : pods_)
    if (record.node == node && !record.deleting && (!record.seat || record.seat->started))
      work.pods.push_back(&record);
  return work;
}

std::vector<Node> PodBook::nodes_in_use() const {
  std::vector<Node> all;
  std::map<std::string, std::size_t> places;
  for (const auto& [name, known] : nodes_) {
    places[name] = all.size();
    all.push_back(known.node);
  }
  for (const auto& [name, record] : pods_) {
    const auto at = places.find(record.node);
    if (!record.holds() || at == places.end()) continue;
    Node& node = all[at->second];
    node.cpu_millis_used += record.ask.cpu_millis;
    node.memory_used += record.ask.memory_bytes;
    for (Device& device : node.devices)
      if (std::find(record.devices.begin(), record.devices.end(), device.name) !=
          record.devices.end())
        device.claimed_by = name;
  }
  return all;
}

}  // namespace tributary::manager
