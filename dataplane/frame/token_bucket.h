// Bounds a rate: `rate` permits a second, at most `burst` saved up. Time is an argument.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/time.h"

namespace tributary::dataplane {

class TokenBucket {
 public:
  TokenBucket(std::uint32_t per_second, std::uint32_t burst)
      : interval_(Duration::seconds(1) / per_second), most_(interval_ * burst), saved_(most_) {}

  // True if so many more are permitted now: all of them, or none is taken.
  bool take(Instant now, std::uint32_t permits = 1) {
    if (now > last_) {
      const Duration since = std::min(now - last_, most_);
      saved_ = std::min(saved_ + since, most_);
      last_ = now;
    }
    const Duration price = interval_ * permits;
    if (saved_ < price) return false;
    saved_ = saved_ - price;
    return true;
  }

 private:
  Duration interval_;  // time that earns one permit
  Duration most_;
  Duration saved_;
  Instant last_;
};

}  // namespace tributary::dataplane
