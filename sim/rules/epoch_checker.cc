#include "sim/rules/epoch_checker.h"

#include <algorithm>
#include <string>

namespace tributary::sim {

EpochChecker::EpochChecker(CheckedRun& run, const NetworkPlan& network) : run_(run) {
  const std::size_t versions = std::max<std::size_t>(network.versions.size(), 1);
  for (const JobScenario& job : run.scenario().jobs) {
    JobEpochs& epochs = jobs_.emplace_back();
    for (std::size_t v = 0; v < versions; ++v)
      epochs.expressions.push_back(job.sums.bracketing ? *job.sums.bracketing
                                   : v == 0            ? expression_of(network, job.id)
                                            : expression_of(plan_of_version(network, v), job.id));
  }
}

bool EpochChecker::started(std::uint32_t job_index, std::uint16_t epoch, std::size_t version) {
  JobEpochs& job = jobs_[job_index];
  if (job.last == epoch) return false;
  job.last = epoch;
  job.members[epoch].version = version;
  return true;
}

void EpochChecker::entered(const WorkerNode& node) {
  const auto& o = node.options();
  const std::uint16_t epoch = node.session()->epoch();
  Members& members = jobs_[o.job_index].members[epoch];
  members.salts.resize(node.job().workers);
  auto& mine = members.salts[o.rank];
  if (mine && *mine != node.salt())
    return run_.violation("two incarnations of " + node.name() + " run epoch " +
                          std::to_string(epoch));
  mine = node.salt();
  if (node.resumed_from()) check_resumption(node);
}

// No rank is two epochs ahead of another: all ops of the epoch before are done everywhere. A rank
// that has been started anew since then has nothing to do with it.
void EpochChecker::check_resumption(const WorkerNode& node) {
  const auto& o = node.options();
  ++run_.reach().resumptions;
  const Members& before = jobs_[o.job_index].members[*node.resumed_from()];
  if (before.salts.size() != node.job().workers) ++run_.reach().resizes;
  for (const WorkerNode* const other : run_.ranks(o.job_index)) {
    const std::uint32_t rank = other->options().rank;
    if (rank >= before.salts.size()) continue;  // it came later
    const auto& salt = before.salts[rank];
    if (other->session() == nullptr || !salt || *salt != other->salt()) continue;
    if (other->ops_done() < node.first_op())
      run_.violation(node.name() + " enters epoch " + std::to_string(node.session()->epoch()) +
                     " with op " + std::to_string(node.first_op()) + ", and " + other->name() +
                     " has had only " + std::to_string(other->ops_done()) + " ops");
  }
}

void EpochChecker::op_done(const WorkerNode& node, std::uint16_t epoch, std::uint32_t index) {
  const auto& o = node.options();
  const auto [known, fresh] =
      op_epochs_.try_emplace({o.job->id, index, salts_of(o.job_index, epoch)}, epoch);
  if (!fresh && known->second != epoch)
    run_.violation(node.name() + " has op " + std::to_string(index) + " in epoch " +
                   std::to_string(epoch) + ", another rank in epoch " +
                   std::to_string(known->second));
}

std::vector<std::uint64_t> EpochChecker::salts_of(std::uint32_t job_index, std::uint32_t epoch) {
  std::vector<std::uint64_t> salts;
  for (const auto& salt : jobs_[job_index].members[epoch].salts) salts.push_back(salt.value_or(0));
  return salts;
}

// A rank that has not heard START yet is a member all the same, and may be late.
bool EpochChecker::all_inside_entered(std::uint32_t job_index, std::uint32_t epoch,
                                      const OpResult& result) {
  const Members& members = jobs_[job_index].members[epoch];
  for (std::uint32_t rank = 0; rank < members.salts.size(); ++rank) {
    const bool missing =
        !result.left_out.empty() && (result.left_out[rank / 64] >> (rank % 64) & 1) != 0;
    if (!members.salts[rank] && !missing) return false;
  }
  return true;
}

const config::Bracket& EpochChecker::expression_for(const WorkerNode& node, std::uint32_t epoch) {
  const auto& o = node.options();
  JobEpochs& job = jobs_[o.job_index];
  if (o.job->resizes.empty()) return job.expressions[job.members[epoch].version];
  config::Bracket& all = by_rank_[node.job().workers];
  for (auto rank = static_cast<std::uint32_t>(all.items.size()); rank < node.job().workers; ++rank)
    all.items.push_back({{}, rank});
  return all;
}

}  // namespace tributary::sim
