#include "tools/impair/impairment.h"

namespace tributary::impair {

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
