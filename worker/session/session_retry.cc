// Floats as fixed point, the second attempt of a chunk whose sum overflowed (rule 12), and skipping
// the first one.
#include "worker/session/block_scaled.h"
#include "worker/session/session.h"

namespace tributary::worker {

// Whether a chunk is sent as floats at once. All ranks must decide alike, or they would disagree
// about the sum. So only results count that all ranks hold before they send this chunk, whatever
// order they came in: those at least a window before it (rule 2). `before` is the last one of
// these.
void Session::choose_encoding(ShardWindow& shard, const ChunkState& before, ChunkState& fresh) {
  if (before.fixed_exponent && before.fixed_exponent == shard.fixed_exponent)
    shard.floats.note(before.attempt != 0);
  const BlockScaled* const scaled = fresh.op->scaled;
  // A chunk without elements cannot overflow.
  if (scaled == nullptr || !scaled->chosen() || fresh.op->elements_of(fresh.chunk) == 0) return;
  if (const std::int16_t exponent = scaled->exponent(fresh.chunk);
      shard.fixed_exponent != exponent) {
    shard.fixed_exponent = exponent;
    shard.floats = {};
  }
  fresh.as_floats = shard.floats.covers(fresh.seq);
  if (!fresh.as_floats) fresh.fixed_exponent = shard.fixed_exponent;
}

// The chunk's data: floats as fixed point, or unchanged.
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

// The fixed-point sum overflowed: the completion engine asks for the floats, to sum them itself.
void Session::begin_retry(ChunkIndex i, Instant now) {
  ChunkState& c = flights_.chunk(i);
  flights_.unlink(i);
  flights_.overtake(flights_.shard_of(i), c.probe, now);
  c.attempt = wire::kFloatRetry;
  c.ambiguous = true;
  c.resend = false;
  c.probe = 0;
  c.backoff = c.pendings = 0;
  counters_.float_retries.add();
  flights_.queue(i);
}

}  // namespace tributary::worker
