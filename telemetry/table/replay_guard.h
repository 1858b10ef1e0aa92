// Judges the sequences of the signed datagrams of one node: each counts once.
//
// A sequence is at least the sender's time, so one that is further from this clock than kMostSkew
// is stale: it was recorded long ago, or a clock is wrong. The latest kRemembered are known by
// value; what is below all of them counts as a repetition, as a datagram that late cannot be told
// from one. Those that are stale by now, as after a clock was set back, are forgotten. After a
// start nothing is known: what was recorded within kMostSkew before it may count once more.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "core/time.h"

namespace tributary::telemetry {

enum class Freshness : std::uint8_t { fresh, stale, replayed };

class ReplayGuard {
 public:
  static constexpr std::size_t kRemembered = 64;
  static constexpr Duration kMostSkew = Duration::seconds(30);

  // A sender's next sequence: the time, or one more than the last unless that is stale, as after
  // its clock was set back.
  static constexpr std::uint64_t sequence_after(std::uint64_t last, std::uint64_t unix_ns) {
    return is_stale(last, unix_ns) ? unix_ns : std::max(last + 1, unix_ns);
  }
  // `unix_ns`: time since 1970 by the receiver's clock.
  Freshness note(std::uint64_t sequence, std::uint64_t unix_ns) {
    if (is_stale(sequence, unix_ns)) return Freshness::stale;
    forget_stale(unix_ns);
    const auto end = latest_.begin() + static_cast<std::ptrdiff_t>(known_);
    if (std::find(latest_.begin(), end, sequence) != end) return Freshness::replayed;
    if (known_ < kRemembered) {
      latest_[known_++] = sequence;
      return Freshness::fresh;
    }
    std::uint64_t& least = *std::min_element(latest_.begin(), latest_.end());
    if (sequence < least) return Freshness::replayed;
    least = sequence;
    return Freshness::fresh;
  }

 private:
  static constexpr bool is_stale(std::uint64_t sequence, std::uint64_t unix_ns) {
    const std::uint64_t apart = sequence > unix_ns ? sequence - unix_ns : unix_ns - sequence;
    return apart > static_cast<std::uint64_t>(kMostSkew.to_ns());
  }
  void forget_stale(std::uint64_t unix_ns) {
    const auto end = latest_.begin() + static_cast<std::ptrdiff_t>(known_);
    known_ = static_cast<std::size_t>(
        std::remove_if(latest_.begin(), end,
                       [=](std::uint64_t one) { return is_stale(one, unix_ns); }) -
        latest_.begin());
  }

  std::array<std::uint64_t, kRemembered> latest_{};
  std::size_t known_ = 0;
};

}  // namespace tributary::telemetry
