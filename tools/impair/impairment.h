// What a bad network does to each frame of one direction: pure decisions, no clock, no packets.
//
// Drop, duplicate, reorder, corrupt and delay are drawn from one seeded generator in a fixed
// order per frame, so the same seed and the same sequence of frame lengths give the same
// decisions. Used by one thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/prng.h"
#include "core/time.h"

namespace tributary::impair {

struct ImpairmentConfig {
  std::uint32_t drop_ppm = 0;
  std::uint32_t duplicate_ppm = 0;
  std::uint32_t reorder_ppm = 0;
  std::uint32_t corrupt_ppm = 0;
  Duration delay{};                            // of every frame
  Duration reorder_delay = Duration::us(500);  // more for a reordered one: others overtake it
};

struct Decision {
  static constexpr std::uint32_t kNoBit = UINT32_MAX;
  std::uint32_t copies = 1;            // 0: dropped; 2: duplicated
  std::uint32_t corrupt_bit = kNoBit;  // bit of the frame to flip, in all copies
  Instant release;                     // when the copies leave
};

struct ImpairmentCounts {
  std::uint64_t frames = 0;
  std::uint64_t dropped = 0;
  std::uint64_t duplicated = 0;
  std::uint64_t reordered = 0;
  std::uint64_t corrupted = 0;
};

class Impairment {
 public:
  Impairment(const ImpairmentConfig& config, std::uint64_t seed) : config_(config), prng_(seed) {}

  Decision decide(std::size_t frame_bytes, Instant now);
  [[nodiscard]] const ImpairmentCounts& counts() const { return counts_; }

 private:
  ImpairmentConfig config_;
  Prng prng_;
  ImpairmentCounts counts_;
};

}  // namespace tributary::impair
