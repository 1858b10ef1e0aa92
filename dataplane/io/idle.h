// How long the loop sleeps after a turn: a switch that shares cores with its users must not
// burn them.
//
//   half a burst or more    no sleep
//   fewer packets           no sleep now, and the next one is half as long: a trickle is not
//                           served at the idle pace
//   none                    one more microsecond than last time, up to the limit
//   none for a second       four times the limit: where a timer costs 30 µs, as in nested virtual
//                           machines, the limit alone would still burn an eighth of a core
#pragma once

#include <algorithm>
#include <cstddef>

#include "core/time.h"

namespace tributary::dataplane {

class IdlePolicy {
 public:
  IdlePolicy(Duration longest, std::size_t busy_packets)
      : longest_(longest), busy_packets_(busy_packets) {}

  void set_longest(Duration longest) { longest_ = longest; }

  // Time to sleep after a turn that handled this many packets.
  Duration after_turn(std::size_t packets) {
    if (packets != 0) {
      quiet_ = Duration();
      sleep_ = packets >= busy_packets_ ? Duration() : std::min(sleep_, longest_) / 2;
      return Duration();
    }
    sleep_ = quiet_ >= kDeepAfter ? longest_ * kDeepFactor : std::min(sleep_ + kStep, longest_);
    quiet_ = quiet_ + sleep_;
    return sleep_;
  }

 private:
  static constexpr Duration kStep = Duration::us(1);
  static constexpr Duration kDeepAfter = Duration::seconds(1);
  static constexpr std::int64_t kDeepFactor = 4;
  Duration longest_;
  std::size_t busy_packets_;
  Duration sleep_;
  Duration quiet_;  // slept since the last packet
};

}  // namespace tributary::dataplane
