// Loss of telemetry reports, by gaps in the sequence numbers of one (node, hardware) (22 bits).
//
// What is missing is unknown, not fine: whoever reads a record sees how much of it is missing. A
// report that comes late fills its gap. A jump beyond kMostGap is a restart of the node, which is
// counted as such and not as loss.
#pragma once

#include <cstdint>

#include "telemetry/wire/report.h"

namespace tributary::telemetry {

class SequenceTracker {
 public:
  static constexpr std::uint32_t kMostGap = 65536;

  void note(std::uint32_t sequence) {
    ++received_;
    if (!begun_) {
      begun_ = true;
      next_ = (sequence + 1) & kSequenceMask;
      return;
    }
    const std::uint32_t ahead = (sequence - next_) & kSequenceMask;
    const std::uint32_t behind = (next_ - sequence) & kSequenceMask;
    if (ahead <= kMostGap) {
      lost_ += ahead;
      next_ = (sequence + 1) & kSequenceMask;
    } else if (behind <= kMostGap) {
      ++late_;
      if (lost_ > 0) --lost_;
    } else {
      ++restarts_;
      next_ = (sequence + 1) & kSequenceMask;
    }
  }

  [[nodiscard]] std::uint64_t received() const { return received_; }
  [[nodiscard]] std::uint64_t lost() const { return lost_; }
  [[nodiscard]] std::uint64_t late() const { return late_; }  // out of order, or sent twice
  [[nodiscard]] std::uint64_t restarts() const { return restarts_; }

 private:
  bool begun_ = false;
  std::uint32_t next_ = 0;
  std::uint64_t received_ = 0;
  std::uint64_t lost_ = 0;
  std::uint64_t late_ = 0;
  std::uint64_t restarts_ = 0;
};

}  // namespace tributary::telemetry
