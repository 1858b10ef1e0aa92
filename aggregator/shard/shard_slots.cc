// Dynamic slots: allocation, preemption, and another seed after a collision (O7, O8, rule 8).
#include "aggregator/shard/shard.h"
#include "core/seq.h"

namespace tributary::aggregator {

std::uint32_t Shard::pool_slot(const ShardJob& job, std::uint32_t seq) const {
  const bool changed = job.seed != job.next_seed && seq_at_or_after(seq, job.seed_from);
  return pool_.slot_of(job.config.id, changed ? job.next_seed : job.seed, seq);
}

std::uint32_t Shard::slot_of(const ShardJob& job, const ChunkEntry& e) const {
  return job.dynamic ? pool_slot(job, e.seq) : job.first_slot + job.table.slot_of(e);
}

wire::Reason Shard::take_slot(ShardJob& job, std::uint32_t seq, Instant now, Outbox& out) {
  // A job that may not take a slot does not preempt others.
  if (!pool_.may_take(job.place)) return wire::Reason::no_slot;
  const std::uint32_t slot = pool_slot(job, seq);
  if (pool_.owner(slot).job != kNone && !preempt(job, slot, now, out)) {
    job.counters.collisions.add();
    change_seed(job, seq);
    return wire::Reason::collision;
  }
  if (pool_.take(slot, job.place, seq, now)) return wire::Reason::none;
  break_off(job);
  return wire::Reason::no_slot;
}

// Never preempts a higher priority. Of an equal one it takes only an idle slot, whose chunk has
// waited for its last rank or a result long enough, and a slot that was borrowed from the asking
// job's share. Of a lower one it also takes a busy slot, if that is configured.
bool Shard::may_preempt(const ShardJob& job, const SlotPool::Owner& owner, Instant now) const {
  const std::uint8_t theirs = jobs_[owner.job]->config.priority;
  const std::uint8_t ours = job.config.priority;
  if (theirs > ours) return false;
  if (preempt_idle_ > Duration() && now - owner.touched >= preempt_idle_) return true;
  if (pool_.borrows(owner.job) && pool_.is_owed(job.place)) return true;
  return theirs < ours && preempt_busy_;
}

// Returns true if the slot is free now: its owner had no more claim to it.
bool Shard::preempt(ShardJob& job, std::uint32_t slot, Instant now, Outbox& out) {
  const SlotPool::Owner owner = pool_.owner(slot);
  ShardJob& victim = *jobs_[owner.job];
  if (!may_preempt(job, owner, now) || out.room() < victim.fan_in + std::size_t{2}) return false;
  ChunkEntry* e = nullptr;
  if (victim.table.find(owner.seq, e) != ChunkTable::Place::seen) return false;
  victim.counters.preemptions.add();
  if (e->state == ChunkState::open) {
    flush(victim, *e, wire::Reason::no_slot, now, out);
  } else {  // sent, and waiting for its result
    free_slot(victim, *e, now);
    sums_.release(victim, *e);
  }
  victim.refresh_gauges();
  return true;
}

// Takes effect where no rank can be yet: seq + W cannot be sent before the result of seq.
void Shard::change_seed(ShardJob& job, std::uint32_t seq) {
  if (job.seed != job.next_seed) return;  // one change at a time
  job.next_seed = static_cast<std::uint8_t>(job.seed + 1);
  job.seed_from = seq + job.config.window;
}

// Adopts the new seed if no chunk has a slot by the old one. Must happen before seed_from is half
// the number space ago, when it would seem to lie ahead.
void Shard::adopt_seed(ShardJob& job) {
  if (job.seed != job.next_seed && job.table.all_complete_before(job.seed_from))
    job.seed = job.next_seed;
}

void Shard::free_slot(ShardJob& job, ChunkEntry& e, Instant now) {
  if (!e.holds_slot) return;
  e.holds_slot = false;
  job.deadlines.cancel(e);
  if (e.state == ChunkState::sent) --job.sent_held;
  if (job.dynamic && !pool_.give(pool_slot(job, e.seq), job.place)) break_off(job);
  const Duration held = now - e.opened_at;
  job.counters.slot_hold.add(held);
  job.counters.slot_hold_ns_max.raise_to(static_cast<std::uint64_t>(held.to_ns()));
}

}  // namespace tributary::aggregator
