// When to ask again: the adaptive retransmission timeout, and the lists of chunks that wait for an
// answer to a probe.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "core/time.h"
#include "worker/session/window.h"

namespace tributary::worker {

// RFC 6298: smoothed time from first send to result (gain 1/8) plus four times its mean deviation
// (gain 1/4), within bounds. The floor is the time that a process may lose to others on a shared
// core while the network loses nothing. A loss in the middle of a stream is found earlier, by the
// results that overtake it.
class RetransmissionTimeout {
 public:
  static constexpr Duration kInitial = Duration::ms(20);
  static constexpr Duration kMin = Duration::ms(10);
  static constexpr Duration kMax = Duration::ms(200);
  static constexpr Duration kMaxBackedOff = Duration::seconds(1);
  static constexpr Duration kMinReordering = Duration::ms(1);

  void sample(Duration rtt) {
    if (!sampled_) {
      smoothed_ = rtt;
      deviation_ = rtt / 2;
      sampled_ = true;
    } else {
      const Duration error = rtt < smoothed_ ? smoothed_ - rtt : rtt - smoothed_;
      deviation_ = deviation_ + (error - deviation_) / 4;
      smoothed_ = smoothed_ + (rtt - smoothed_) / 8;
    }
    current_ = std::clamp(smoothed_ + deviation_ * 4, kMin, kMax);
  }
  [[nodiscard]] Duration current(std::uint8_t backoff = 0) const {
    return std::min(current_ * (std::int64_t{1} << backoff), kMaxBackedOff);
  }
  // For a chunk that depends on no other rank: without the floor.
  [[nodiscard]] Duration network() const {
    if (!sampled_) return current_;
    return std::clamp(smoothed_ + deviation_ * 4, kMinReordering, kMax);
  }
  // How long other results may overtake a chunk's result before the chunk is probed: a quarter of
  // the smoothed time, doubled each time the switch answered that it is only late.
  [[nodiscard]] Duration reordering(std::uint8_t backoff) const {
    return std::min(std::max(smoothed_ / 4, kMinReordering) * (std::int64_t{1} << backoff),
                    current_);
  }
  [[nodiscard]] Duration smoothed() const { return smoothed_; }

 private:
  Duration smoothed_;
  Duration deviation_;
  Duration current_ = kInitial;
  bool sampled_ = false;
};

// Chunks in one FIFO per number of doublings: within a list every chunk has the same timeout, so
// the list is ordered by arming time, even if the timeout changes later. Arm, cancel and expire are
// O(1).
class TimerLists {
 public:
  // 10 ms doubled 7 times passes the largest timeout.
  static constexpr std::uint8_t kMaxBackoff = 7;

  void arm(std::vector<ChunkState>& chunks, ChunkIndex i, Instant now) {
    chunks[i].armed_at = now;
    lists_[chunks[i].backoff].append(chunks, i);
  }
  // The chunk's backoff must be the same as when it was armed.
  void cancel(std::vector<ChunkState>& chunks, ChunkIndex i) {
    lists_[chunks[i].backoff].remove(chunks, i);
  }
  // A chunk whose time is over; kNoChunk if there is none. It stays armed. `timeout(backoff)` is
  // the timeout of a list's chunks.
  template <typename Timeout>
  [[nodiscard]] ChunkIndex expired(const std::vector<ChunkState>& chunks, const Timeout& timeout,
                                   Instant now) const {
    for (std::uint8_t k = 0; k <= kMaxBackoff; ++k) {
      const ChunkIndex i = lists_[k].oldest();
      if (i != kNoChunk && chunks[i].armed_at + timeout(k) <= now) return i;
    }
    return kNoChunk;
  }
  template <typename Timeout>
  [[nodiscard]] Instant next_expiry(const std::vector<ChunkState>& chunks,
                                    const Timeout& timeout) const {
    Instant at = Instant::max();
    for (std::uint8_t k = 0; k <= kMaxBackoff; ++k) {
      const ChunkIndex i = lists_[k].oldest();
      if (i != kNoChunk) at = std::min(at, chunks[i].armed_at + timeout(k));
    }
    return at;
  }

 private:
  std::array<ChunkList, kMaxBackoff + 1> lists_;
};

}  // namespace tributary::worker
