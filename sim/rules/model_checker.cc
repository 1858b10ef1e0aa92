#include "sim/rules/model_checker.h"

#include <cstring>

namespace tributary::sim {
namespace {

float value(const OpPlan& plan, std::uint64_t salt, std::uint32_t index, std::size_t element) {
  const Bits bits = value_of(plan, salt, index, element);
  float v = 0;
  std::memcpy(&v, &bits, sizeof v);
  return v;
}

}  // namespace

void ModelChecker::called(std::uint32_t epoch, std::uint32_t index, const OpPlan& plan) {
  if (plan.collective == wire::Collective::update) last_update_ = Call{epoch, index, plan};
}

ModelChecker::Values ModelChecker::stepped(const Values& from, const Call& call,
                                           const Salts& salts) {
  Values to = from;
  for (const std::uint64_t salt : salts(call.epoch))
    for (std::size_t i = 0; i < to.size(); ++i) to[i] -= value(call.plan, salt, call.index, i);
  return to;
}

std::optional<std::string> ModelChecker::done(std::uint32_t epoch, std::uint32_t index,
                                              const OpPlan& plan, std::span<const std::byte> result,
                                              const Salts& salts) {
  if (plan.array == wire::kModelStep) {
    std::uint32_t next = 0;
    std::memcpy(&next, result.data(), sizeof next);
    return step_told(epoch, next);
  }
  Values got(plan.count);
  std::memcpy(got.data(), result.data(), result.size());
  if (plan.collective == wire::Collective::open) return opened(epoch, index, plan, got, salts);
  std::uint32_t& step = *step_[epoch];
  const Values expected = stepped(known_.at(step), {epoch, index, plan}, salts);
  ++step;
  known_[step] = got;
  if (got == expected) return std::nullopt;
  return "the parameters of step " + std::to_string(step) + " are not those before less the sum";
}

std::optional<std::string> ModelChecker::step_told(std::uint32_t epoch, std::uint32_t next) {
  if (next == 0) {
    step_[epoch] = std::nullopt;
    // Before any array was opened whole, or after a crash without a checkpoint.
    if (!known_.empty() && !crashed_) return "the model is gone, though no server crashed";
    known_.clear();
    return std::nullopt;
  }
  const std::uint32_t step = next - 1;
  step_[epoch] = step;
  if (known_.empty()) {
    // Opened whole, though no rank got the answer.
    return step == 0 ? std::nullopt : std::optional<std::string>("the model begins with a step");
  }
  const std::uint32_t last = known_.rbegin()->first;
  if (step > last + 1 || (step == last + 1 && !last_update_))
    return "the model is at step " + std::to_string(step) + ", but no update went beyond " +
           std::to_string(last);
  if (step < last && !crashed_)
    return "the model went back from step " + std::to_string(last) + " to " + std::to_string(step) +
           ", though no server crashed";
  if (step < last) known_.erase(known_.upper_bound(step), known_.end());
  return std::nullopt;
}

std::optional<std::string> ModelChecker::opened(std::uint32_t epoch, std::uint32_t index,
                                                const OpPlan& plan, const Values& got,
                                                const Salts& salts) {
  const auto told = step_[epoch];
  const std::uint32_t step = told.value_or(0);
  step_[epoch] = step;
  std::optional<Values> expected;
  if (!told) {
    expected.emplace(plan.count);
    const std::uint64_t root = salts(epoch)[plan.root];
    for (std::size_t i = 0; i < expected->size(); ++i) (*expected)[i] = value(plan, root, index, i);
  } else if (const auto known = known_.find(step); known != known_.end()) {
    expected = known->second;
  } else if (step > 0 && last_update_) {
    expected = stepped(known_.at(step - 1), *last_update_, salts);
  }
  known_[step] = got;
  // No rank got the answer that had the first values, so their origin is unknown.
  if (!expected || got == *expected) return std::nullopt;
  return "the parameters opened at step " + std::to_string(step) + " are not the model's";
}

}  // namespace tributary::sim
