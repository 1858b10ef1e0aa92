// Floats as fixed point, and the second attempt of a chunk whose sum overflowed (rule 12).
#include "worker/block_scaled.h"
#include "worker/session.h"

namespace tributary::worker {

// Floats as fixed point, in the first attempt; as they are in the second.
std::span<const std::byte> Session::scale(const ChunkState& c, wire::Header& h) {
  BlockScaled& scaled = *c.op->scaled;
  h.attempt = c.attempt;
  if (c.attempt != 0) {
    h.flags |= wire::kFlagFloatRetry | wire::kFlagAtPs;
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
  queued_.push_back(chunks_, i);
}

}  // namespace tributary::worker
