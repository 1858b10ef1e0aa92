// Where the bytes go: sums, held contributions, results, and their buffers.
//
//   streaming  opened with the first contribution, each further one folded in
//   in order   folded in while it is the next of the declared order; what comes early is held
//   collect    held until all are here, then combined in one pass
#include <cstring>

#include "aggregator/shard/shard.h"
#include "core/invariant.h"

namespace tributary::aggregator {

void Shard::attach(ShardJob& job, ChunkEntry& e, const Contribution& c, const Kernels& kernels) {
  if (c.overflow) e.overflow = true;
  if (!job.waits_for_order) return fold_one(job, e, c.child, c.payload.data(), kernels);
  if (job.folds_prefix()) return fold_prefix(job, e, c, kernels);
  collect(job, e, c, kernels);
}

void Shard::fold_one(ShardJob& job, ChunkEntry& e, std::uint16_t child, const std::byte* data,
                     const Kernels& kernels) {
  // A switch below sends its accumulator, unless the job's partial sums are narrowed.
  const bool partial =
      job.child_map[child].is_switch && job.config.partials == wire::Partials::wide;
  const bool first = e.buffer == kNone;
  if (first) e.buffer = job.buffers.take();
  if (e.buffer == kNone) {
    break_off(job);
    return;
  }
  using How = Fold::How;
  const How how = first ? (partial ? How::copy : How::open) : (partial ? How::merge : How::fold);
  const Fold fold{&e, job.buffers.at(e.buffer), data, &kernels, e.description.element_count, how};
  // What was held for its place goes as soon as it is in.
  if (job.waits_for_order)
    fold.make();
  else
    folds_.add(fold);
  ++e.combined;
}

void Shard::fold_prefix(ShardJob& job, ChunkEntry& e, const Contribution& c,
                        const Kernels& kernels) {
  if (job.order.position_of(c.child) != e.combined) return hold(job, e, c);
  fold_one(job, e, c.child, c.payload.data(), kernels);
  while (e.combined < job.fan_in && job.held_at(e, e.combined) != kNone) {
    std::uint32_t& next = job.held_at(e, e.combined);
    fold_one(job, e, job.order.child_at(e.combined), job.hold_buffers->at(next), kernels);
    if (!job.hold_buffers->put(next)) break_off(job);
    next = kNone;
  }
}

// The last one is used where it lies.
void Shard::collect(ShardJob& job, ChunkEntry& e, const Contribution& c, const Kernels& kernels) {
  const bool last = !e.bypassed &&
                    (job.fan_in == 1 || (e.arrived + 1u == job.fan_in && e.first_child != c.child));
  if (!last) return hold(job, e, c);
  for (std::uint16_t position = 0; position < job.fan_in; ++position) {
    const std::uint32_t buffer = job.held_at(e, position);
    sources_[position] = buffer == kNone ? c.payload.data() : job.hold_buffers->at(buffer);
  }
  e.buffer = job.buffers.take();
  if (e.buffer == kNone) {
    break_off(job);
    return;
  }
  e.combined = job.fan_in & ChunkEntry::kMostCombined;
  if (job.order.evaluate(kernels, job.buffers.at(e.buffer), std::span(sources_).first(job.fan_in),
                         e.description.element_count, bracket_values_))
    e.overflow = true;
  put_back_held(job, e);
}

void Shard::put_back_held(ShardJob& job, const ChunkEntry& e) {
  for (std::uint16_t position = 0; position < job.fan_in; ++position) {
    std::uint32_t& buffer = job.held_at(e, position);
    if (buffer != kNone && !job.hold_buffers->put(buffer)) break_off(job);
    buffer = kNone;
  }
}

void Shard::hold(ShardJob& job, ChunkEntry& e, const Contribution& c) {
  std::uint32_t& place = job.held_at(e, job.order.position_of(c.child));
  if (TRIBUTARY_INVARIANT_HOLDS(place == kNone)) place = job.hold_buffers->take();
  if (place == kNone || job.broken) {
    break_off(job);
    return;
  }
  if (!c.payload.empty())
    std::memcpy(job.hold_buffers->at(place), c.payload.data(), c.payload.size());
}

// Data that is a result as it came.
void Shard::pass_on(ShardJob& job, ChunkEntry& e, std::span<const std::byte> payload) {
  job.counters.contributions.add();
  job.counters.contribution_bytes.add(payload.size());
  if (payload.empty()) return;
  if (e.buffer == kNone) e.buffer = job.buffers.take();
  if (e.buffer == kNone) {
    break_off(job);
    return;
  }
  std::memcpy(job.buffers.at(e.buffer), payload.data(), payload.size());
}

void Shard::release(ShardJob& job, BufferPool& pool, std::uint32_t& buffer) {
  if (buffer == kNone) return;
  folds_.settle();
  if (job.config.parent) {
    if (pool.release(buffer))
      unsent_.push_back({&pool, buffer});
    else
      break_off(job);
  } else {
    if (!pool.put_later(buffer)) break_off(job);
    unsettled_ = true;
  }
  buffer = kNone;
}

void Shard::settle_unsent() {
  for (const UnsentBuffer& sent : unsent_) sent.pool->put_released(sent.buffer);
  unsent_.clear();
}

void Shard::settle_pools() {
  for (BufferPool* const pool : pools_) pool->settle();
  unsettled_ = false;
}

void Shard::release_data(ShardJob& job, ChunkEntry& e) {
  release(job, job.buffers, e.buffer);
  if (job.hold_buffers == nullptr || e.state == ChunkState::unseen) return;
  for (std::uint16_t position = 0; position < job.fan_in; ++position)
    release(job, *job.hold_buffers, job.held_at(e, position));
}

void Shard::release_acknowledged(ShardJob& job) {
  if (!job.table.has_acknowledged()) return;
  while (ChunkEntry* const e = job.table.pop_acknowledged()) keep_or_free(job, *e);
  if (job.table.has_acknowledged()) break_off(job);
  job.refresh_gauges();
}

// An acknowledged result stays in the cache while there is room, unless it has a list beside it.
// Jobs whose results are of one size share that room: what has to go for this one may be another's,
// which has lost it, and counts it.
void Shard::keep_or_free(ShardJob& job, ChunkEntry& e) {
  const bool whole = job.degraded.counted(e.seq) == 0;
  job.degraded.forget(e.seq);
  if (e.buffer == kNone) return;
  std::uint32_t freed = e.buffer;
  if (job.cache.capacity() != 0 && whole) {
    const ResultCache::Evicted evicted =
        job.cache.put(job.place, e.seq, e.buffer, result_flags(e), e.description);
    if (evicted.job != kNone) jobs_[evicted.job]->counters.cache_evictions.add();
    freed = evicted.buffer;
  }
  if (freed != kNone && !job.buffers.put(freed)) break_off(job);
  e.buffer = kNone;
}

}  // namespace tributary::aggregator
