// Admission: which jobs run, where, and why the others wait (T20, O1). A function of its calls and
// of `now`: no clock, no I/O.
//
//            ┌ refused: can never run as things are (tenant, name, file, capacity, quota)
//   submit ──┤
//            └ queued ──fits──▶ admitted ──cancel, lease ends──▶ ended (forgotten; its id rests)
//
// The queue is in the order of priority, then of the tenants' fair share, then of arrival. A job
// that waits for room on switches keeps that room: a job behind it may start only on switches that
// it does not need. One that waits for its tenant's quota holds up no other tenant.
// Invariant: the amount in use of a switch is the sum of the needs of its admitted jobs, and never
// more than its capacity.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "config/topology/topology.h"
#include "core/time.h"
#include "manager/admission/amount.h"
#include "manager/admission/job_ids.h"
#include "manager/admission/job_request.h"
#include "manager/admission/tenants.h"

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

struct Job {
  JobRequest request;
  std::uint64_t sequence = 0;  // of arrival
  std::uint32_t id = 0;        // 0: queued
  std::string waits_for;       // queued: why
  Instant renewed;             // its lease
  // Admitted: with its id and members; what each switch of it is needed for.
  std::optional<config::TopologyJob> placed;
  std::map<std::string, Amount> needs;
  // PodGroup with which it comes and goes; empty: a caller submitted it.
  std::string owner = {};

  [[nodiscard]] bool admitted() const { return id != 0; }
};

class Admission {
 public:
  struct Limits {
    Duration quarantine = Duration::seconds(60);  // of the id of a job that ended
    std::size_t queue = 4096;                     // jobs that may wait
  };
  Admission(std::vector<Tenant> tenants, Limits limits);

  // The tree as it is now. Admitted jobs stay; their switches and workers have to be in it.
  void set_topology(config::Topology topology);
  // Worker that gets no new jobs, until `drained` is false.
  void drain(const std::string& worker, bool drained);
  // Room on a switch as the switch itself has refused it: less than its figures promised.
  void cap(const std::string& node, const Amount& capacity);

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

  // The amount that a placed job needs of each switch. Throws std::invalid_argument when the
  // topology does not carry the job.
  [[nodiscard]] std::map<std::string, Amount> needs_of(const config::TopologyJob& placed) const;
  // As it was before a restart; its lease starts anew. Throws std::invalid_argument when its id or
  // name is taken.
  void restore(Job job, Instant now);
  [[nodiscard]] JobIds& ids() { return ids_; }

  [[nodiscard]] const std::map<std::string, Job>& jobs() const { return jobs_; }
  [[nodiscard]] const config::Topology& topology() const { return topology_; }
  [[nodiscard]] const Tenants& tenants() const { return tenants_; }
  [[nodiscard]] Usage used_by(const std::string& tenant) const;
  [[nodiscard]] Amount used_at(const std::string& node) const;
  [[nodiscard]] Amount capacity_at(const std::string& node) const;

 private:
  struct Fit {
    config::TopologyJob placed;
    std::map<std::string, Amount> needs;
    std::string shortage;         // empty: it fits
    std::set<std::string> nodes;  // that it needs, also where it does not fit
    std::set<std::string> full;   // of these, those without room
  };
  using Used = std::map<std::string, Amount>;

  [[nodiscard]] std::string impossible(const JobRequest& request) const;
  // Where it would go with `used` in use, and without the switches in `held`.
  [[nodiscard]] Fit fit(const JobRequest& request, const Used& used,
                        const std::set<std::string>& held) const;
  [[nodiscard]] Fit fit_members(config::TopologyJob job, const Used& used,
                                const std::set<std::string>& held) const;
  [[nodiscard]] Fit fit_anywhere(const config::TopologyJob& job, const Used& used,
                                 std::set<std::string> without) const;
  [[nodiscard]] bool waits_for_room(const JobRequest& request, const Fit& fit) const;
  [[nodiscard]] std::vector<Job*> queue();
  [[nodiscard]] Amount total_capacity() const;
  [[nodiscard]] std::map<std::string, std::uint32_t> jobs_of_workers() const;
  [[nodiscard]] std::string leased_member(const JobRequest& request) const;
  void admit(Job& job, Fit fit, Instant now, std::vector<Decision>& decisions);
  void release(Job& job, Instant now);

  Tenants tenants_;
  Limits limits_;
  config::Topology topology_;
  std::map<std::string, Amount> capacity_;  // by switch
  std::map<std::string, Amount> caps_;
  std::set<std::string> drained_;
  JobIds ids_;
  std::uint64_t next_sequence_ = 1;
  std::map<std::string, Job> jobs_;
  Used used_;
};

}  // namespace tributary::manager
