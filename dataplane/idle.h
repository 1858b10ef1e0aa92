// How long the loop sleeps after a turn: a switch that shares cores with its users must not
// burn them. One more microsecond after every empty turn, up to a limit; none after half a
// burst; half as long in between, so that a trickle is not served at the idle pace.
#pragma once

#include <algorithm>
#include <cstddef>

#include "core/time.h"

namespace tributary::dataplane {

class IdlePolicy {
 public:
  IdlePolicy(Duration longest, std::size_t busy_packets)
      : longest_(longest), busy_packets_(busy_packets) {}

  // Time to sleep after a turn that handled this many packets.
  Duration after_turn(std::size_t packets) {
    if (packets >= busy_packets_) {
      sleep_ = Duration();
    } else if (packets > 0) {
      sleep_ = sleep_ / 2;
      return Duration();
    } else {
      sleep_ = std::min(sleep_ + kStep, longest_);
    }
    return sleep_;
  }

 private:
  static constexpr Duration kStep = Duration::us(1);
  Duration longest_;
  std::size_t busy_packets_;
  Duration sleep_;
};

}  // namespace tributary::dataplane
