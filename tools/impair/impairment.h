// Effects of a bad network on each frame of one direction: pure decisions, no clock, no packets.
//
// Drop, duplicate, reorder, corrupt and delay are drawn from one seeded generator in a fixed
// order per frame, so the same seed and the same sequence of frame lengths give the same
// decisions, but for those of the bottleneck, which depend on time. Used by one thread.
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
  // A bottleneck: its rate (0: none), the bytes that may wait, and how many must wait for a frame
  // that joins them to be told so (ECN; 0: none is).
  std::uint64_t bits_per_second = 0;
  std::uint32_t queue_bytes = 65'536;
  std::uint32_t mark_bytes = 0;
};

struct Decision {
  static constexpr std::uint32_t kNoBit = UINT32_MAX;
  std::uint32_t copies = 1;            // 0: dropped; 2: duplicated
  std::uint32_t corrupt_bit = kNoBit;  // bit of the frame to flip, in all copies
  bool mark = false;                   // it met a queue
  Instant release;                     // when the copies leave
};

struct ImpairmentCounts {
  std::uint64_t frames = 0;
  std::uint64_t dropped = 0;
  std::uint64_t duplicated = 0;
  std::uint64_t reordered = 0;
  std::uint64_t corrupted = 0;
  std::uint64_t overflowed = 0;  // found no room in the bottleneck's queue
  std::uint64_t queued = 0;      // found so much waiting that they are told, where they listen
};

class Impairment {
 public:
  Impairment(const ImpairmentConfig& config, std::uint64_t seed) : config_(config), prng_(seed) {}

  Decision decide(std::size_t frame_bytes, Instant now);
  // Holds for the frames that follow.
  void set_delay(Duration delay) { config_.delay = delay; }
  [[nodiscard]] const ImpairmentCounts& counts() const { return counts_; }

 private:
  bool pass_bottleneck(std::size_t frame_bytes, Instant now, Decision& decision);

  ImpairmentConfig config_;
  Prng prng_;
  ImpairmentCounts counts_;
  Instant busy_until_;  // the bottleneck
};

}  // namespace tributary::impair
