// Desired against actual: the pods and groups of a cluster, its nodes, and what is to happen next.
//
//   create, remove ──┐                              ┌─▶ work of each node, with a revision
//   attend, report ──┼─▶ records, nodes, leases ────┤
//   advance(now) ────┘   schedule_one()             └─▶ changed records, for the store
//
//   a node's lease   starts with each report. The agent ends its containers before the lease is
//                    over; after the lease and a margin the node's pods are lost.
//
// Pure, one thread; time is the caller's.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/time.h"
#include "manager/pods/manifest.h"
#include "manager/pods/pod_record.h"
#include "manager/pods/scheduler.h"

namespace tributary::manager {

struct BookLimits {
  Thresholds thresholds = {};
  Duration lease = Duration::seconds(30);
  Duration margin = Duration::seconds(10);
};

struct InstanceReport {
  PodPhase phase = PodPhase::pending;
  std::vector<ContainerStatus> containers;
  std::string message;
  Duration idle = {};  // for so long it has used neither CPUs nor its devices
};

struct NodeReport {
  Node figures;               // all but `ready` and what is used
  std::uint64_t applied = 0;  // revision of the work that the agent has carried out
  std::map<std::string, InstanceReport> instances;
};

struct NodeRecord {
  Node node;  // `ready`: the lease holds and figures are known
  Instant heard;
  std::uint64_t revision = 1;  // of its work
};

class PodBook {
 public:
  // Pods and devices that are claimed in one step: a commit of the store is bounded.
  static constexpr std::size_t kMostClaims = 120;
  // `tell(pod, kind, message)`: each decision, with its reason.
  using Tell = std::function<void(const std::string&, const std::string&, const std::string&)>;

  PodBook(const BookLimits& limits, Tell tell) : limits_(limits), tell_(std::move(tell)) {}

  // As the store has it; nodes with pods get a lease from `now` on.
  void restore(PodRecord record, Instant now);
  void restore(PodGroup group);
  // Nodes as an earlier book of this manager knew them, with newer work than it had. Before all
  // else.
  void keep_nodes(const PodBook& earlier);
  void resume_at(std::uint64_t sequence) { next_ = sequence; }
  [[nodiscard]] std::uint64_t next_sequence() const { return next_; }

  // All objects or none. Throws std::invalid_argument, and AlreadyThere.
  struct AlreadyThere : std::invalid_argument {
    using std::invalid_argument::invalid_argument;
  };
  void create(const Manifest& manifest);
  // False: there is none.
  bool remove(const std::string& pod);
  // Throws std::invalid_argument while the group has pods.
  bool remove_group(const std::string& group);

  void report(const std::string& node, NodeReport report, Instant now);
  // Pods of nodes whose lease is over are lost; finished ones go when their time to live is over.
  void advance(Instant now);
  // Places one pod or group; false: none more can be placed now. A group with a job has its job
  // admitted at `jobs` with its places, or has neither.
  bool schedule_one(const Distances& distances, JobDesk* jobs = nullptr);
  // Starts pods whose job runs, ends jobs whose pods have ended, and takes the places of pods whose
  // job is gone: what was done by halves when a manager was killed, or undone by a switch.
  void tend(JobDesk& jobs);
  // Whether a pod or group has to do with a job.
  [[nodiscard]] bool has_jobs() const;
  // Restarts schedule_one() at the oldest pod.
  void begin_scheduling();

  struct Work {
    std::uint64_t revision = 0;
    std::vector<const PodRecord*> pods;
  };
  [[nodiscard]] Work work(const std::string& node) const;
  [[nodiscard]] const BookLimits& limits() const { return limits_; }
  [[nodiscard]] const std::map<std::string, PodRecord>& pods() const { return pods_; }
  [[nodiscard]] const std::map<std::string, PodGroup>& groups() const { return groups_; }
  [[nodiscard]] const std::map<std::string, NodeRecord>& nodes() const { return nodes_; }
  // The nodes with what pods hold of them.
  [[nodiscard]] std::vector<Node> nodes_in_use() const;
  // Names whose records differ from those of the last call.
  std::set<std::string> take_changed_pods() { return std::exchange(changed_pods_, {}); }
  std::set<std::string> take_changed_groups() { return std::exchange(changed_groups_, {}); }

 private:
  using Records = std::vector<PodRecord*>;

  void check(const Manifest& manifest) const;
  void check_ranks(const Manifest& manifest) const;
  void change(const PodRecord& record);
  static bool is_idle(const PodRecord& record, const NodeReport& report);
  void report_pod(PodRecord& record, const NodeReport& report);
  void lose(PodRecord& record);
  void unplace(PodRecord& record, const std::string& reason, const std::string& message);
  void unplace_gangs(const std::set<std::string>& groups);
  void tend_pod(PodRecord& record, JobDesk::State state);
  void need_port(PodRecord& record) const;
  void forget(const std::string& pod);
  void expire(Instant now);
  [[nodiscard]] Records pending_like(const PodRecord& first);
  [[nodiscard]] Gang gang_of(const Records& records, std::vector<Node>& nodes) const;
  bool try_place(const Records& records, const Distances& distances, JobDesk* jobs);
  void refuse(PodRecord& record, const std::string& why);
  [[nodiscard]] static Placement within_a_commit(Placement placement);
  [[nodiscard]] const PodGroup* job_group_of(const PodRecord& record) const;
  [[nodiscard]] std::string waits_for_old_job(const PodGroup& group) const;
  Placement place_with_job(const PodGroup& group, const Gang& gang, std::vector<Node> nodes,
                           const Distances& distances, JobDesk& jobs, std::vector<Seat>& seats);
  void bind(PodRecord& record, const Node& node, const Spot& spot, const std::string& why);

  BookLimits limits_;
  Tell tell_;
  std::map<std::string, PodRecord> pods_;
  std::map<std::string, PodGroup> groups_;
  std::map<std::string, NodeRecord> nodes_;
  std::uint64_t next_ = 1;
  std::uint64_t schedule_after_ = 0;  // pods up to this sequence were looked at
  std::set<std::string> changed_pods_;
  std::set<std::string> changed_groups_;
};

}  // namespace tributary::manager
