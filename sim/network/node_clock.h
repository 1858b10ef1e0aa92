// A node's own clock: offset and drift against the world's. Integer arithmetic, so that every
// machine and build computes the same instants.
#pragma once

#include "core/time.h"

namespace tributary::sim {

class NodeClock {
 public:
  NodeClock() = default;
  // Drift is bounded to ±1000 ppm, which is far beyond any crystal.
  NodeClock(Duration offset, std::int32_t drift_ppm) : offset_(offset), drift_ppm_(drift_ppm) {}

  [[nodiscard]] Instant local(Instant world) const {
    const std::int64_t t = world.to_ns();
    return Instant::from_ns(offset_.to_ns() + t + t / kMillion * drift_ppm_ +
                            t % kMillion * drift_ppm_ / kMillion);
  }
  // The first world instant at which local() is not before `t`.
  [[nodiscard]] Instant world(Instant t) const {
    if (t == Instant::max()) return t;
    const std::int64_t elapsed = t.to_ns() - offset_.to_ns();
    if (drift_ppm_ == 0) return Instant::from_ns(elapsed < 0 ? 0 : elapsed);
    std::int64_t guess = elapsed - elapsed / (kMillion + drift_ppm_) * drift_ppm_ - kSlack;
    if (guess < 0) guess = 0;
    while (local(Instant::from_ns(guess)) < t) {
      const std::int64_t short_by = (t - local(Instant::from_ns(guess))).to_ns();
      guess += short_by > 2 ? short_by / 2 : 1;
    }
    return Instant::from_ns(guess);
  }

 private:
  static constexpr std::int64_t kMillion = 1'000'000;
  static constexpr std::int64_t kSlack = 2'000;
  Duration offset_;
  std::int32_t drift_ppm_ = 0;
};

}  // namespace tributary::sim
