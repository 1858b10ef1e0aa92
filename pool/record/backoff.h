// How long to wait before the next try: doubled from `first` up to `most`; each wait is drawn
// between half and all of it, so that clients of a store that recovers do not all return at once.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/prng.h"
#include "core/time.h"

namespace tributary::pool {

struct BackoffLimits {
  Duration first = Duration::ms(100);
  Duration most = Duration::seconds(5);
  std::uint32_t retries = 5;  // after the first try
};

class Backoff {
 public:
  Backoff(const BackoffLimits& limits, std::uint64_t seed) : limits_(limits), prng_(seed) {}

  // Returns true if the caller should try again after delay(). Call it once for each failure.
  bool again() {
    if (tries_ >= limits_.retries) return false;
    Duration full = limits_.first;
    for (std::uint32_t i = 0; i < tries_ && full < limits_.most; ++i) full = full * 2;
    full = std::min(full, limits_.most);
    ++tries_;
    delay_ = full / 2 + Duration::ns(full.to_ns() / 2 / 1000 * prng_.below(1001));
    return true;
  }
  [[nodiscard]] Duration delay() const { return delay_; }
  [[nodiscard]] std::uint32_t tries() const { return tries_; }

 private:
  BackoffLimits limits_;
  Prng prng_;
  std::uint32_t tries_ = 0;
  Duration delay_;
};

}  // namespace tributary::pool
