// Shards that another owner has for a time (rule 16), and how they catch up when they come back.
//
// Two threads may then be at work. The engine's thread decides who takes part and leaves the shard
// alone; the owner's decides about chunks, and changes nothing that the engine reads but counters
// and when members were heard. So a decision of the engine about members waits until the shard is
// back, unless the shard can catch up on it.
#include <algorithm>
#include <stdexcept>
#include <string>

#include "aggregator/engine/engine_impl.h"

namespace tributary::aggregator {

bool Engine::Impl::all_here(const Job& job) const {
  return std::none_of(shards.begin(), shards.begin() + job.config.shards,
                      [](const auto& shard) { return shard == nullptr; });
}

const Shard* Engine::Impl::any_shard(const Job& job) const {
  for (std::uint8_t i = 0; i < job.config.shards; ++i)
    if (shards[i] != nullptr) return shards[i].get();
  return nullptr;
}

// Otherwise jobs would stand in places of a shard that knows other jobs there.
void Engine::Impl::check_all_here() const {
  if (std::find(shards.begin(), shards.end(), nullptr) != shards.end())
    throw std::logic_error("a shard was handed over between prepare() and apply()");
}

std::shared_ptr<Shard> Engine::hand_over(std::uint8_t index) {
  if (impl_->shard_at(index) == nullptr) return nullptr;
  std::shared_ptr<Shard> shard = std::move(impl_->shards[index]);
  for (const auto& job : impl_->jobs)
    if (const ShardJob* const part = shard->find_job(job->place))
      job->away[index] = {part->host_term, part->table.low()};
  return shard;
}

void Engine::take_back(const std::shared_ptr<Shard>& shard, Outbox& out) {
  const std::uint8_t index = shard == nullptr ? 0xFF : shard->index();
  if (index >= impl_->all_shards.size() || impl_->all_shards[index] != shard)
    throw std::invalid_argument("this is no shard of this engine");
  impl_->shards[index] = shard;
  for (const auto& job : impl_->jobs) impl_->catch_up(*job, *shard, out);
}

void Engine::Impl::catch_up(Job& job, Shard& shard, Outbox& out) {
  const ShardJob* const part = shard.find_job(job.place);
  if (part == nullptr) return;
  shard.set_host_term(job.place, job.away[shard.index()].host_term);
  const Membership& membership = job.membership;
  if (membership.state() != JobState::running || membership.epoch() != part->epoch)
    return shard.clear(job.place);
  bool needed = false;
  for (std::uint32_t c = 0; c < job.child_map.count(); ++c) {
    const auto child = static_cast<std::uint16_t>(c);
    const Member& m = membership.member(c);
    if (m.present)
      shard.bind(job.place, c, m.peer);
    else if (part->children[c].present)
      needed = shard.forget_child(job.place, child, job.left_at_op) || needed;
  }
  if (needed) abort_missing_departed(job, wire::Reason::rank_left, out);
}

}  // namespace tributary::aggregator
