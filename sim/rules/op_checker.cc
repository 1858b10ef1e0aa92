#include "sim/rules/op_checker.h"

namespace tributary::sim {

void OpChecker::called(const WorkerNode& node, std::uint32_t index, const OpPlan& plan) {
  if (wire::concerns_model(plan.collective))
    models_[node.options().job_index].called(node.session()->epoch(), index, plan);
}

void OpChecker::server_crashed() {
  for (ModelChecker& model : models_) model.server_crashed();
}

void OpChecker::done(const WorkerNode& node, std::uint32_t index, const OpPlan& plan,
                     const OpResult& result) {
  run_.reach().op(plan, *node.options().job, run_.in_tree());
  if (const auto wrong = mistake(node, index, plan, result))
    run_.violation(node.name() + ", epoch " + std::to_string(node.session()->epoch()) + ", op " +
                   std::to_string(index) + " (" + describe(plan) + "): " + *wrong);
}

std::optional<std::string> OpChecker::mistake(const WorkerNode& node, std::uint32_t index,
                                              const OpPlan& plan, const OpResult& result) {
  const auto& o = node.options();
  const std::uint16_t epoch = node.session()->epoch();
  if (!epochs_.all_inside_entered(o.job_index, epoch, result))
    return "done, though not all ranks have entered the epoch";
  epochs_.op_done(node, epoch, index);
  const Missing missing = degraded_.missing_of(o.job_index, epoch, index - node.first_op(), o.rank);
  if (const auto wrong = degraded_.wrong_list(o.job_index, missing, result)) return wrong;
  if (slots_.lost_slot({o.job->id, epoch, index - node.first_op()}))
    run_.reach().taken(TakenSlot::op_done);
  // Where all get the same, the first rank's result is checked against the inputs, and the others'
  // against the first's.
  if (plan.same_everywhere()) {
    const std::uint64_t hash = hash_of(result.output.empty() ? result.data : result.output, index);
    const auto [known, fresh] = hashes_.try_emplace(
        {OpKey{o.job->id, epoch, index}, {result.left_out.begin(), result.left_out.end()}}, hash);
    if (!fresh && known->second != hash) return "ranks hold different bits";
    if (!fresh) return std::nullopt;
  }
  return wrong_values(node, index, plan, result, missing);
}

std::optional<std::string> OpChecker::wrong_values(const WorkerNode& node, std::uint32_t index,
                                                   const OpPlan& plan, const OpResult& result,
                                                   const Missing& missing) {
  const auto& o = node.options();
  const std::uint16_t epoch = node.session()->epoch();
  if (wire::concerns_model(plan.collective))
    return models_[o.job_index].done(epoch, index, plan, result.data, [&](std::uint32_t any_epoch) {
      return epochs_.salts_of(o.job_index, any_epoch);
    });
  return wrong_with(plan, node.job(), epochs_.expression_for(node, epoch),
                    epochs_.salts_of(o.job_index, epoch), index, result,
                    [&](std::uint32_t chunk) -> std::span<const std::uint64_t> {
                      const auto found = missing.find(chunk);
                      if (found == missing.end()) return {};
                      return found->second;
                    });
}

}  // namespace tributary::sim
