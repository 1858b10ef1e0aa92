// Received frames whose payloads are still to be summed: they stay where they are until the engine
// has made the sums that wait (aggregator/chunk/fold_queue.h), for several bursts of one turn. So
// what arrives of one chunk on several ports is combined in one pass.
//
// Bounded in number, by what pools have beside queues' needs; and in bytes, because a payload that
// has left the second-level cache by then costs more than is saved. Owner: one packet loop.
#pragma once

#include <rte_mbuf.h>

#include <array>
#include <cstddef>

#include "dataplane/frame/frame_pool.h"

namespace tributary::dataplane {

class HeldFrames {
 public:
  static constexpr std::size_t kMost = std::size_t{4} * kBurst;
  static constexpr std::size_t kMostBytes = std::size_t{640} << 10;

  // At most a burst of them after is_full() was false.
  void add(rte_mbuf* frame) {
    bytes_ += frame->pkt_len;
    frames_[count_++] = frame;
  }
  // There may be no room for another burst, or no use in one.
  [[nodiscard]] bool is_full() const { return count_ + kBurst > kMost || bytes_ >= kMostBytes; }
  [[nodiscard]] bool empty() const { return count_ == 0; }
  void free_all() {
    rte_pktmbuf_free_bulk(frames_.data(), static_cast<unsigned>(count_));
    count_ = bytes_ = 0;
  }

 private:
  std::array<rte_mbuf*, kMost> frames_{};
  std::size_t count_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace tributary::dataplane
