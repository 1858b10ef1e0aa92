// Epochs that follow each other after a drain (rule 22).
#include "sim/check/checker.h"

namespace tributary::sim {

// No rank is two epochs ahead of another: all ops of the epoch before are done everywhere. A rank
// that has been started anew since then has nothing to do with it.
void Checker::check_resumption(const WorkerNode& node) {
  const auto& o = node.options();
  ++reach_.resumptions;
  const Members& before = jobs_[o.job_index].members[*node.resumed_from()];
  if (before.salts.size() != node.job().workers) ++reach_.resizes;
  for (const WorkerNode* const other : ranks_[o.job_index]) {
    const std::uint32_t rank = other->options().rank;
    if (rank >= before.salts.size()) continue;  // it came later
    const auto& salt = before.salts[rank];
    if (other->session() == nullptr || !salt || *salt != other->salt()) continue;
    if (other->ops_done() < node.first_op())
      violation(name(node) + " enters epoch " + std::to_string(node.session()->epoch()) +
                " with op " + std::to_string(node.first_op()) + ", and " + name(*other) +
                " has had only " + std::to_string(other->ops_done()) + " ops");
  }
}

// How the epoch's sums are made; of a job that is resized, by rank, of the ranks that it has.
const config::Bracket& Checker::expression_for(const WorkerNode& node, const Members& members) {
  const auto& o = node.options();
  if (o.job->resizes.empty()) return jobs_[o.job_index].expressions[members.version];
  config::Bracket& all = by_rank_[node.job().workers];
  for (auto rank = static_cast<std::uint32_t>(all.items.size()); rank < node.job().workers; ++rank)
    all.items.push_back({{}, rank});
  return all;
}

// An op belongs to one epoch, the same for all ranks.
void Checker::check_epoch_of(const WorkerNode& node, std::uint32_t index) {
  const auto& o = node.options();
  const std::uint16_t epoch = node.session()->epoch();
  const auto [known, fresh] =
      op_epochs_.try_emplace({o.job->id, index, salts_of(o.job_index, epoch)}, epoch);
  if (!fresh && known->second != epoch)
    violation(name(node) + " has op " + std::to_string(index) + " in epoch " +
              std::to_string(epoch) + ", another rank in epoch " + std::to_string(known->second));
}

}  // namespace tributary::sim
