#include "tools/impair/impairment.h"

#include <algorithm>

namespace tributary::impair {

// False: its queue is full.
bool Impairment::pass_bottleneck(std::size_t frame_bytes, Instant now, Decision& decision) {
  const auto rate = static_cast<std::int64_t>(config_.bits_per_second);
  busy_until_ = std::max(busy_until_, now);
  const std::int64_t waiting = (busy_until_ - now).to_ns() / 8 * rate / 1'000'000'000;
  if (waiting + static_cast<std::int64_t>(frame_bytes) > config_.queue_bytes) {
    ++counts_.overflowed;
    decision.copies = 0;
    return false;
  }
  decision.mark = config_.mark_bytes != 0 && waiting >= config_.mark_bytes;
  if (decision.mark) ++counts_.queued;
  busy_until_ =
      busy_until_ + Duration::ns(static_cast<std::int64_t>(frame_bytes) * 8'000'000'000 / rate);
  decision.release = busy_until_ + config_.delay;
  return true;
}

Decision Impairment::decide(std::size_t frame_bytes, Instant now) {
  // Every frame draws the same number of values, whatever comes out: changing one probability
  // does not shift the decisions of the others.
  const bool drop = prng_.chance_ppm(config_.drop_ppm);
  const bool duplicate = prng_.chance_ppm(config_.duplicate_ppm);
  const bool reorder = prng_.chance_ppm(config_.reorder_ppm);
  const bool corrupt = prng_.chance_ppm(config_.corrupt_ppm);
  const std::uint32_t bit = prng_.below(static_cast<std::uint32_t>(frame_bytes * 8));

  ++counts_.frames;
  Decision decision;
  decision.release = now + config_.delay;
  if (drop) {
    ++counts_.dropped;
    decision.copies = 0;
    return decision;
  }
  if (config_.bits_per_second != 0 && !pass_bottleneck(frame_bytes, now, decision)) return decision;
  if (duplicate) {
    ++counts_.duplicated;
    decision.copies = 2;
  }
  if (reorder) {
    ++counts_.reordered;
    decision.release = decision.release + config_.reorder_delay;
  }
  if (corrupt && frame_bytes != 0) {
    ++counts_.corrupted;
    decision.corrupt_bit = bit;
  }
  return decision;
}

}  // namespace tributary::impair
