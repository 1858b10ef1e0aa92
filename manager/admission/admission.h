// Admission: which jobs run, where, and why the others wait (T20, O1). A function of its calls and
// of `now`: no clock, no I/O.
//
//            ┌ refused: can never run as things are (tenant, name, file, capacity, quota)
//   submit ──┤
//            └ queued ──fits──▶ admitted ──cancel, lease ends──▶ ended (forgotten; its id rests)
//
// The queue is in the order of priority, then of the tenants' fair share, then of arrival. A job
// that waits for room on switches keeps that room: a job behind it may start only on switches that
// it does not need. One that waits for its tenant's quota, for a worker that is drained, or for
// more than a switch has at all, holds up no other. Each tenant has places in the queue that the
// others cannot take.
//
// advance() looks at what may have changed: a job that was found without room is looked at again
// once room, a quota, a worker or a place in the order has become free.
// Invariant: the amount in use of a switch is never more than its capacity.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "config/topology/topology.h"
#include "core/time.h"
#include "manager/admission/amount.h"
#include "manager/admission/fitter.h"
#include "manager/admission/free_workers.h"
#include "manager/admission/job_ids.h"
#include "manager/admission/job_request.h"
#include "manager/admission/queue_places.h"
#include "manager/admission/switch_amounts.h"
#include "manager/admission/tenants.h"
#include "manager/admission/tree_index.h"

namespace tributary::manager {

enum class Outcome : std::uint8_t { refused, queued, admitted, cancelled, expired };
const char* name_of(Outcome outcome);

struct Decision {
  Outcome outcome = Outcome::refused;
  std::string job;
  std::string tenant;
  std::uint32_t id = 0;     // admitted, or was
  std::string reason;       // refused and queued: with figures
  bool name_taken = false;  // refused because a job has this name
  Instant at;
};

// The queue's findings on a job that waits.
struct Turn {
  bool done = false;                                        // nothing has become free since
  bool held_back = false;                                   // by jobs before it
  std::set<std::string> holds = {};                         // switches, from those behind it
  std::optional<std::map<std::string, Amount>> needs = {};  // of members that it names
};

struct Job {
  JobRequest request;
  std::uint64_t sequence = 0;  // of arrival
  std::uint32_t id = 0;        // 0: queued
  std::string waits_for;       // queued: why
  Instant renewed;             // its lease
  // Admitted: with its id and members; what each switch of it is needed for.
  std::optional<config::TopologyJob> placed;
  std::map<std::string, Amount> needs;
  // The same on the tree that a move leaves; empty: no switch moves.
  std::map<std::string, Amount> needs_before = {};
  // Admitted: its workers as the topology had them then.
  std::vector<config::TopologyWorker> places = {};
  // Admitted: why the topology carries it no more; it runs on. Empty: the topology does.
  std::string stray = {};
  bool described = true;  // the topology with `places` carries it: documents have it
  // PodGroup with which it comes and goes; empty: a caller submitted it.
  std::string owner = {};
  Turn turn = {};

  [[nodiscard]] bool admitted() const { return id != 0; }
};

class Admission {
 public:
  struct Limits {
    Duration quarantine = Duration::seconds(60);  // of the id of a job that ended
    std::size_t queue = 4096;                     // jobs that may wait, of all tenants
  };
  Admission(std::vector<Tenant> tenants, Limits limits);

  // The tree as it is now. Admitted jobs stay.
  void set_topology(config::Topology topology);
  // A switch moves, and until end_move() the switches describe jobs on the tree that it leaves,
  // too: jobs are admitted where both have room. To be called before jobs are restored. `text` is
  // for those that wait: "switch R moves from a to b".
  void begin_move(config::Topology before, std::string text);
  void end_move();
  // Worker that gets no new jobs, until `drained` is false.
  void drain(const std::string& worker, bool drained);
  // Room of a switch as the switch itself says it: less than its figures promised.
  void cap(const std::string& node, const Amount& capacity);
  // A switch has refused a job: it has no more than what is in use there, until forgive(). Jobs
  // wait for that and are not refused for it.
  void refuse(const std::string& node);
  void forgive(const std::string& node);

  Decision submit(JobRequest request, Instant now);
  // A job whose members are named, for the pods of `owner`: admitted at once, behind all jobs that
  // wait, or nothing changes.
  struct Attempt {
    std::uint32_t id = 0;             // 0: not admitted
    std::string shortage = {};        // why not
    std::set<std::string> full = {};  // switches that lack room for it
  };
  Attempt admit_now(JobRequest request, const std::string& owner, Instant now);
  // Nullopt: there is no such job.
  std::optional<Decision> cancel(const std::string& name, Instant now, const std::string& reason);
  // Back into the queue, in its old place: a switch has refused it.
  void requeue(const std::string& name, Instant now, const std::string& reason);
  bool renew(const std::string& name, Instant now);
  // Ends leases, then admits what has room now. In the order in which it happened.
  std::vector<Decision> advance(Instant now);

  // Finds what an admitted job needs of each switch, with workers that left the topology where they
  // were (`places`). Sets `stray` where the topology carries it so no more, and then keeps `needs`.
  void settle(Job& job) const;
  // As it was before a restart; its lease starts anew. Throws std::invalid_argument when its id or
  // name is taken.
  void restore(Job job, Instant now);
  [[nodiscard]] JobIds& ids() { return ids_; }
  // Names of jobs that came, went, started or stopped since forget_changes().
  [[nodiscard]] const std::set<std::string>& changes() const { return changes_; }
  void forget_changes() { changes_.clear(); }

  [[nodiscard]] const std::map<std::string, Job>& jobs() const { return jobs_; }
  [[nodiscard]] const config::Topology& topology() const { return topology_; }
  [[nodiscard]] const Tenants& tenants() const { return tenants_; }
  [[nodiscard]] const TreeIndex& index() const { return index_; }
  [[nodiscard]] Usage used_by(const std::string& tenant) const;
  [[nodiscard]] const SwitchAmounts& amounts() const { return amounts_; }

 private:
  using Names = std::set<std::string>;
  struct Queued {
    std::uint64_t sequence = 0;
    Job* job = nullptr;
  };
  // By priority and tenant, the next one last.
  using Line = std::map<std::string, std::vector<Queued>>;
  using Queue = std::map<std::uint32_t, Line, std::greater<>>;

  // Why the job can never run; finds what the members that it names need.
  [[nodiscard]] std::string impossible(Job& job) const;
  [[nodiscard]] Fitter fitter() const;
  [[nodiscard]] std::string excess_of(const Job& job, const Fit& fit) const;
  [[nodiscard]] std::string leased_member(const JobRequest& request) const;
  [[nodiscard]] Queue queue();
  template <typename Visit>
  bool in_order(Visit visit);
  void expire(Instant now, std::vector<Decision>& decisions);
  bool pass(Instant now, std::vector<Decision>& decisions);
  bool look_at(Job& job, Names& held, Instant now, std::vector<Decision>& decisions);
  void stir();
  void admit(Job& job, Fit fit, Instant now, std::vector<Decision>& decisions);
  void release(Job& job, Instant now);

  Tenants tenants_;
  QueuePlaces places_;
  config::Topology topology_;
  TreeIndex index_;
  std::optional<TreeBefore> before_;  // a switch moves
  SwitchAmounts amounts_;
  FreeWorkers workers_;
  std::map<std::string, Usage> usage_;  // by tenant
  bool news_ = false;                   // a job that waits is to be looked at
  JobIds ids_;
  std::uint64_t next_sequence_ = 1;
  std::map<std::string, Job> jobs_;
  std::set<std::string> changes_;
};

}  // namespace tributary::manager
