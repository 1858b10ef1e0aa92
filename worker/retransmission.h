// The adaptive retransmission timer, and its expiry lists.
//
// One FIFO per number of doublings: within a list every chunk has the same timeout, so the list is
// ordered by when each was armed, whatever the timeout becomes later. Arm, cancel and expire are
// O(1).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/time.h"
#include "worker/window.h"

namespace tributary::worker {

// 4 × the smoothed time from first send to result (gain 1/8, as in RFC 6298), within bounds.
class RetransmissionTimeout {
 public:
  static constexpr Duration kInitial = Duration::ms(20);
  static constexpr Duration kMin = Duration::ms(2);
  static constexpr Duration kMax = Duration::ms(200);
  static constexpr Duration kMaxBackedOff = Duration::seconds(1);

  void sample(Duration rtt) {
    smoothed_ = sampled_ ? smoothed_ + (rtt - smoothed_) / 8 : rtt;
    sampled_ = true;
    current_ = std::clamp(smoothed_ * 4, kMin, kMax);
  }
  [[nodiscard]] Duration current(std::uint8_t backoff = 0) const {
    return std::min(current_ * (std::int64_t{1} << backoff), kMaxBackedOff);
  }
  [[nodiscard]] Duration smoothed() const { return smoothed_; }

 private:
  Duration smoothed_;
  Duration current_ = kInitial;
  bool sampled_ = false;
};

class RetransmissionTimers {
 public:
  // 2 ms doubled 9 times passes the largest timeout.
  static constexpr std::uint8_t kMaxBackoff = 9;

  void arm(std::vector<ChunkState>& chunks, ChunkIndex i, Instant now) {
    chunks[i].armed_at = now;
    lists_[chunks[i].backoff].push_back(chunks, i);
  }
  void cancel(std::vector<ChunkState>& chunks, ChunkIndex i) {
    lists_[chunks[i].backoff].remove(chunks, i);
  }
  // A chunk whose time is over; kNoChunk when there is none. It stays armed.
  [[nodiscard]] ChunkIndex expired(const std::vector<ChunkState>& chunks,
                                   const RetransmissionTimeout& timeout, Instant now) const {
    for (std::uint8_t k = 0; k <= kMaxBackoff; ++k) {
      const ChunkIndex i = lists_[k].front();
      if (i != kNoChunk && chunks[i].armed_at + timeout.current(k) <= now) return i;
    }
    return kNoChunk;
  }
  [[nodiscard]] Instant next_expiry(const std::vector<ChunkState>& chunks,
                                    const RetransmissionTimeout& timeout) const {
    Instant at = Instant::max();
    for (std::uint8_t k = 0; k <= kMaxBackoff; ++k) {
      const ChunkIndex i = lists_[k].front();
      if (i != kNoChunk) at = std::min(at, chunks[i].armed_at + timeout.current(k));
    }
    return at;
  }

 private:
  std::array<ChunkList, kMaxBackoff + 1> lists_;
};

}  // namespace tributary::worker
