#include "aggregator/shard/chunk_sums.h"

#include <cstring>

#include "core/invariant.h"

namespace tributary::aggregator {

void ChunkSums::break_off(ShardJob& job) {
  job.broken = job.running;
  broke_ = true;
}

bool ChunkSums::take_buffer(ShardJob& job, ChunkEntry& e) {
  e.buffer = job.buffers.take();
  if (e.buffer == kNone) break_off(job);
  return e.buffer != kNone;
}

void ChunkSums::add(ShardJob& job, ChunkEntry& e, const Contribution& c, const Kernels& kernels) {
  if (c.overflow) e.overflow = true;
  if (!job.waits_for_order) return fold(job, e, c.child, c.payload.data(), kernels);
  if (job.folds_prefix()) return fold_in_order(job, e, c, kernels);
  collect(job, e, c, kernels);
}

void ChunkSums::fold(ShardJob& job, ChunkEntry& e, std::uint16_t child, const std::byte* data,
                     const Kernels& kernels) {
  // A switch below sends its accumulator, unless the job's partial sums are narrowed.
  const bool partial =
      job.child_map[child].is_switch && job.config.partials == wire::Partials::wide;
  const bool first = e.buffer == kNone;
  if (first && !take_buffer(job, e)) return;
  using How = Fold::How;
  const How how = first ? (partial ? How::copy : How::open) : (partial ? How::merge : How::fold);
  const Fold fold{&e, job.buffers.at(e.buffer), data, &kernels, e.description.element_count, how};
  // Data that was held for its position is released as soon as it is in the sum.
  if (job.waits_for_order)
    fold.make();
  else
    folds_.add(fold);
  ++e.combined;
}

void ChunkSums::fold_in_order(ShardJob& job, ChunkEntry& e, const Contribution& c,
                              const Kernels& kernels) {
  if (job.order.position_of(c.child) != e.combined) return hold(job, e, c);
  fold(job, e, c.child, c.payload.data(), kernels);
  while (e.combined < job.fan_in && job.held_at(e, e.combined) != kNone) {
    std::uint32_t& next = job.held_at(e, e.combined);
    fold(job, e, job.order.child_at(e.combined), job.hold_buffers->at(next), kernels);
    if (!job.hold_buffers->put(next)) break_off(job);
    next = kNone;
  }
}

// The last contribution is used in place.
void ChunkSums::collect(ShardJob& job, ChunkEntry& e, const Contribution& c,
                        const Kernels& kernels) {
  const bool last = !e.bypassed &&
                    (job.fan_in == 1 || (e.arrived + 1u == job.fan_in && e.first_child != c.child));
  if (!last) return hold(job, e, c);
  for (std::uint16_t position = 0; position < job.fan_in; ++position) {
    const std::uint32_t buffer = job.held_at(e, position);
    room_.sources[position] = buffer == kNone ? c.payload.data() : job.hold_buffers->at(buffer);
  }
  if (!take_buffer(job, e)) return;
  e.combined = job.fan_in & ChunkEntry::kMostCombined;
  if (job.order.evaluate(kernels, job.buffers.at(e.buffer),
                         std::span(room_.sources).first(job.fan_in), e.description.element_count,
                         bracket_values_))
    e.overflow = true;
  drop_held(job, e);
}

void ChunkSums::hold(ShardJob& job, ChunkEntry& e, const Contribution& c) {
  std::uint32_t& place = job.held_at(e, job.order.position_of(c.child));
  if (TRIBUTARY_INVARIANT_HOLDS(place == kNone)) place = job.hold_buffers->take();
  if (place == kNone || job.broken) {
    break_off(job);
    return;
  }
  if (!c.payload.empty())
    std::memcpy(job.hold_buffers->at(place), c.payload.data(), c.payload.size());
}

void ChunkSums::drop_held(ShardJob& job, const ChunkEntry& e) {
  for (std::uint16_t position = 0; position < job.fan_in; ++position) {
    std::uint32_t& buffer = job.held_at(e, position);
    if (buffer != kNone && !job.hold_buffers->put(buffer)) break_off(job);
    buffer = kNone;
  }
}

void ChunkSums::store(ShardJob& job, ChunkEntry& e, std::span<const std::byte> payload) {
  if (payload.empty()) return;
  if (e.buffer == kNone && !take_buffer(job, e)) return;
  std::memcpy(job.buffers.at(e.buffer), payload.data(), payload.size());
}

void ChunkSums::release(ShardJob& job, BufferPool& pool, std::uint32_t& buffer) {
  if (buffer == kNone) return;
  folds_.settle();
  ReleasedBuffers& released = room_.released;
  const bool taken =
      job.config.parent ? released.add_unsent(pool, buffer) : released.add_heard(pool, buffer);
  if (!taken) break_off(job);
  buffer = kNone;
}

void ChunkSums::release(ShardJob& job, ChunkEntry& e) {
  release_sum(job, e);
  if (job.hold_buffers == nullptr || e.state == ChunkState::unseen) return;
  for (std::uint16_t position = 0; position < job.fan_in; ++position)
    release(job, *job.hold_buffers, job.held_at(e, position));
}

}  // namespace tributary::aggregator
