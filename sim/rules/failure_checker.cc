#include "sim/rules/failure_checker.h"

#include <algorithm>

#include "config/change/change.h"

namespace tributary::sim {
namespace {

// From the end of the faults until their last consequence is gone: the longest back-off of a
// probe, and what is still on its way.
constexpr Duration kAftermath = Duration::seconds(2);

// Nothing happens that patience would not repair: no epoch may fail at all.
bool benign(const Scenario& s) {
  const LinkQuality& l = s.links;
  const bool patient = std::all_of(s.jobs.begin(), s.jobs.end(), [](const JobScenario& job) {
    return job.deadline >= Duration::seconds(1) && job.lease >= Duration::seconds(1) &&
           job.op_timeout >= Duration::seconds(3) && job.join_timeout >= Duration::seconds(8);
  });
  // Drains are no faults: callers notice a pause, if anything.
  const bool calm = std::all_of(s.script.begin(), s.script.end(), [](const ScriptEntry& e) {
    return e.action == ScriptAction::drain;
  });
  return calm && s.changes.empty() && s.hostile.packets == 0 &&
         l.loss_ppm + l.corrupt_ppm + l.stray_ppm <= 10'000 &&
         l.reorder_delay_max <= Duration::ms(5) && l.bits_per_second == 0 && patient;
}

// Digest of a job's tree; the same on all switches that have a part in it.
std::uint32_t digest_of(const NetworkPlan::Version& version, std::uint32_t job) {
  for (const config::SwitchConfig& sw : version.configs)
    if (const config::JobConfig* const found = config::find_job(sw, job)) return found->tree_digest;
  return 0;
}

}  // namespace

FailureChecker::FailureChecker(CheckedRun& run, const NetworkPlan& network) : run_(run) {
  const Scenario& s = run.scenario();
  Duration longest;
  for (const JobScenario& job : s.jobs) {
    longest = std::max({longest, job.lease, job.deadline + delay_of_tree(s, job)});
    tree_changes_.push_back(std::any_of(
        network.versions.begin(), network.versions.end(), [&](const NetworkPlan::Version& v) {
          return digest_of(v, job.id) != digest_of(network.versions.front(), job.id);
        }));
  }
  if (!benign(s)) settled_at_ = Instant() + s.heal_at + longest + kAftermath;
}

void FailureChecker::check_cause(const WorkerNode& node, const worker::Failure& f) {
  using wire::Reason;
  const JobScenario& job = *node.options().job;
  if (f.text.find("job " + std::to_string(job.id)) == std::string::npos)
    return run_.violation(node.name() + " failed without a cause: '" + f.text + "'");
  const bool misplaced = f.reason == Reason::bad_rank || f.reason == Reason::unknown_job;
  const bool disagreement = f.reason == Reason::op_mismatch || f.reason == Reason::model_mismatch;
  const bool impossible = (misplaced && run_.scenario().changes.empty()) ||
                          f.reason == Reason::job_size_mismatch ||
                          (f.reason == Reason::configuration_changed && !job.model &&
                           !tree_changes_[node.options().job_index]) ||
                          (disagreement && !job.disagree) || f.reason == Reason::broken_invariant ||
                          f.text.find("cannot start") != std::string::npos;
  if (impossible)
    run_.violation(node.name() + " failed for a cause that does not exist: " + f.text);
}

// All switches have long read the last tree, whenever this rank began to join.
void FailureChecker::check_tree(const WorkerNode& node, const worker::Failure& f) {
  if (f.text.find("different trees") == std::string::npos || run_.world().now() < settled_at_)
    return;
  const auto switches = run_.aggregators();
  if (std::all_of(switches.begin(), switches.end(), [&](const SwitchNode* s) {
        return s->version() == run_.scenario().changes.size() && run_.world().alive(s->id());
      }))
    run_.violation(node.name() + " is refused for a tree that no switch has any more: " + f.text);
}

void FailureChecker::op_failed(const WorkerNode& node, std::uint32_t index, const OpPlan& plan,
                               const worker::Failure& f) {
  if (f.reason == wire::Reason::overflow) {
    if (plan.values != Values::overflows)
      return run_.violation(node.name() + " op " + std::to_string(index) + " (" + describe(plan) +
                            ") overflowed, though no sum can");
    ++run_.reach().overflows;
  }
  check_cause(node, f);
}

void FailureChecker::session_failed(const WorkerNode& node, const worker::Failure& f) {
  ++sessions_failed_;
  check_cause(node, f);
  check_tree(node, f);
  // With the network perfect again only a rank that is gone can make the others fail.
  const auto ranks = run_.ranks(node.options().job_index);
  const bool complete = std::all_of(ranks.begin(), ranks.end(), [](const WorkerNode* rank) {
    return rank->end() == WorkerEnd::not_yet;
  });
  const auto switches = run_.aggregators();
  const bool standing = std::all_of(switches.begin(), switches.end(), [&](const SwitchNode* s) {
    return run_.world().alive(s->id());
  });
  if (!complete || node.options().job->disagree || !standing) return;
  if (node.times().session_began_world < settled_at_) return;
  // Windows that overfill a queue lose frames for ever. Each takes a worker's timeout (at most
  // 200 ms) to find, and what one rank resends pushes out another's: that may outlast a deadline.
  // So may completion hosts with memory for one chunk, which refuse all others.
  const JobScenario& job = *node.options().job;
  // It was asked to go on in another epoch, which a model does not.
  if (f.reason == wire::Reason::configuration_changed && job.model) return;
  // While no server has said hello, the root stands in, which has no model.
  if (f.reason == wire::Reason::model_lost && job.root_too) return;
  const bool late = f.reason == wire::Reason::deadline || f.reason == wire::Reason::host_lost;
  if (late && last_overfull_ && run_.world().now() - *last_overfull_ <= job.deadline * 2) return;
  run_.violation(node.name() + " failed although nothing was wrong any more: " + f.text);
}

}  // namespace tributary::sim
