// Floats as fixed point, the second attempt of a chunk whose sum overflowed (rule 12), and doing
// without the first one.
#include "worker/session/block_scaled.h"
#include "worker/session/session.h"

namespace tributary::worker {

// Whether a chunk is sent as floats at once. All ranks must say the same, or they would disagree
// about what they sum. So only results count that all of them hold before they send this chunk,
// whatever order they came in: those of a window before and earlier (rule 2). `before`: the last
// one of these.
void Session::choose_encoding(ShardWindow& shard, const ChunkState& before, ChunkState& fresh) {
  if (before.fixed_exponent && before.fixed_exponent == shard.fixed_exponent)
    shard.floats.note(before.attempt != 0);
  const BlockScaled* const scaled = fresh.op->scaled;
  // Nothing overflows in what has no elements.
  if (scaled == nullptr || !scaled->chosen() || fresh.op->elements_of(fresh.chunk) == 0) return;
  if (const std::int16_t exponent = scaled->exponent(fresh.chunk);
      shard.fixed_exponent != exponent) {
    shard.fixed_exponent = exponent;
    shard.floats = {};
  }
  fresh.as_floats = shard.floats.covers(fresh.seq);
  if (!fresh.as_floats) fresh.fixed_exponent = shard.fixed_exponent;
}

// Floats as fixed point, or as they are.
std::span<const std::byte> Session::scale(const ChunkState& c, wire::Header& h) {
  BlockScaled& scaled = *c.op->scaled;
  h.attempt = c.attempt;
  if (c.attempt != 0) h.flags |= wire::kFlagFloatRetry | wire::kFlagAtPs;
  if (c.is_of_floats()) {
    h.dtype = wire::DType::float32;
    return scaled.floats(c.chunk);
  }
  h.encoding = wire::Encoding::block_scaled;
  h.scale_exponent = scaled.exponent(c.chunk);
  const BlockScaled::Mantissas m = scaled.mantissas(c.chunk);
  if (m.overflow) h.flags |= wire::kFlagOverflow;
  return m.bytes;
}

// The fixed-point sum overflowed: the completion engine wants the chunk as it is, to sum it itself.
void Session::begin_retry(ChunkIndex i, Instant now) {
  ChunkState& c = chunks_[i];
  unlink(i);
  overtake(shards_[c.shard], c.probe, now);
  c.attempt = wire::kFloatRetry;
  c.ambiguous = true;
  c.resend = false;
  c.probe = 0;
  c.backoff = c.pendings = 0;
  counters_.float_retries.add();
  c.phase = Phase::queued;
  queued_.append(chunks_, i);
}

}  // namespace tributary::worker
