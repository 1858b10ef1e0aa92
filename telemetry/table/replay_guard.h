// Judges the sequences of the signed datagrams of one node: each counts once.
//
// A sequence is at least the sender's time, so one that is further from this clock than kMostSkew
// is stale: it was recorded long ago, or a clock is wrong. The latest kRemembered are known by
// value; what is below all of them counts as a repetition, as a datagram that late cannot be told
// from one. After a start nothing is known: what was recorded within kMostSkew before it may count
// once more.
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

  // `unix_ns`: time since 1970 by the receiver's clock.
  Freshness note(std::uint64_t sequence, std::uint64_t unix_ns) {
    const std::uint64_t apart = sequence > unix_ns ? sequence - unix_ns : unix_ns - sequence;
    if (apart > static_cast<std::uint64_t>(kMostSkew.to_ns())) return Freshness::stale;
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
  std::array<std::uint64_t, kRemembered> latest_{};
  std::size_t known_ = 0;
};

}  // namespace tributary::telemetry
