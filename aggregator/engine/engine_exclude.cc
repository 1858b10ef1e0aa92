// Exclusion of a child from sums, from some op on (T13, rule 14): decided here for all shards at
// once, so that they agree about every op.
#include <algorithm>

#include "aggregator/engine/engine_impl.h"

namespace tributary::aggregator {
namespace {

// True if another child takes part in this op.
bool others_take_part(const Shard& shard, const Job& job, std::uint32_t child, std::uint32_t op) {
  for (std::uint32_t c = 0; c < job.child_map.count(); ++c)
    if (c != child && !shard.exclusion(job.place, static_cast<std::uint16_t>(c)).covers(op))
      return true;
  return false;
}

}  // namespace

const char* text_of(Ruling::Refusal refusal) {
  switch (refusal) {
    case Ruling::Refusal::none: return "done";
    case Ruling::Refusal::unknown_job: return "the job is not here";
    case Ruling::Refusal::not_running: return "the job has no running epoch";
    case Ruling::Refusal::no_child: return "it is no child of this switch in the job";
    case Ruling::Refusal::begun: return "the op has begun";
    case Ruling::Refusal::last: return "no child would be left to make sums of";
    case Ruling::Refusal::excluded: return "it is excluded already";
    case Ruling::Refusal::not_excluded: return "it is not excluded";
    case Ruling::Refusal::shard_away: return "a shard of the job is with another owner";
    case Ruling::Refusal::returning: return "it has not taken part again yet since it was excluded";
  }
  return "?";
}

void Engine::Impl::tell_exclusion(const Job& job, std::uint32_t child, Outbox& out) {
  if (job.child_map[child].is_switch) return;
  Outgoing* const o = out.add();
  if (o == nullptr) return;  // the first packet that shows that the child does not know reminds it
  o->peer = job.membership.member(child).peer;
  o->header = job.header(wire::PacketType::lease);
  write_exclusion(any_shard(job)->exclusion(job.place, static_cast<std::uint16_t>(child)),
                  o->header);
}

Ruling Engine::Impl::rule(Job& job, std::uint32_t child, bool exclude,
                          std::optional<std::uint32_t> from) {
  using Refusal = Ruling::Refusal;
  if (job.membership.state() != JobState::running) return {Refusal::not_running};
  if (child >= job.child_map.count()) return {Refusal::no_child};
  if (!all_here(job)) return {Refusal::shard_away};
  std::uint32_t earliest = 0;
  for (const auto& shard : shards)
    if (shard != nullptr) earliest = std::max(earliest, shard->next_op(job.place));
  const std::uint32_t op = from.value_or(earliest);
  if (op < earliest) return {Refusal::begun, earliest};
  Exclusion ops = shards[0]->exclusion(job.place, static_cast<std::uint16_t>(child));
  if (exclude) {
    if (ops.open()) return {Refusal::excluded, ops.from};
    if (!ops.never() && ops.until > earliest) return {Refusal::returning, ops.until};
    if (!others_take_part(*shards[0], job, child, op)) return {Refusal::last};
    ops = {op, Exclusion::kOpen};
  } else {
    if (!ops.open()) return {Refusal::not_excluded};
    ops.until = std::max(op, ops.from);
  }
  for (const auto& shard : shards)
    if (shard != nullptr) shard->set_exclusion(job.place, static_cast<std::uint16_t>(child), ops);
  return {Refusal::none, exclude ? ops.from : ops.until};
}

Ruling Engine::exclude(std::uint32_t id, std::uint32_t child, bool exclude,
                       std::optional<std::uint32_t> from, Outbox& out) {
  Job* const job = impl_->job_index.find(id);
  if (job == nullptr) return {Ruling::Refusal::unknown_job};
  const Ruling ruling = impl_->rule(*job, child, exclude, from);
  if (ruling.refusal == Ruling::Refusal::none) impl_->tell_exclusion(*job, child, out);
  return ruling;
}

std::vector<Exclusion> Engine::exclusions(std::size_t index) const {
  const Job& job = *impl_->jobs[index];
  std::vector<Exclusion> all(job.child_map.count());
  if (const Shard* const shard = impl_->any_shard(job))
    for (std::uint32_t child = 0; child < job.child_map.count(); ++child)
      all[child] = shard->exclusion(job.place, static_cast<std::uint16_t>(child));
  return all;
}

std::optional<std::uint32_t> Engine::worker_child(std::uint32_t id, std::uint32_t rank) const {
  const Job* const job = impl_->job_index.find(id);
  if (job == nullptr) return std::nullopt;
  const auto child = job->child_map.child_of(rank);
  if (!child || job->child_map[*child].is_switch) return std::nullopt;
  return *child;
}

}  // namespace tributary::aggregator
