// The loop's clock: the CPU's time-stamp counter as an Instant, whose origin is that of
// CLOCK_MONOTONIC. Read once per turn; everything below is given the value.
#pragma once

#include <cstdint>

#include "core/time.h"

namespace tributary::dataplane {

double tsc_hz();  // after EAL init

class TscClock {
 public:
  TscClock();  // after EAL init, which measures the frequency
  [[nodiscard]] Instant now() const;

 private:
  std::uint64_t start_tsc_;
  std::int64_t start_ns_;
  std::uint64_t ns_per_cycle_q32_;  // fixed point, 32 fraction bits
};

}  // namespace tributary::dataplane
