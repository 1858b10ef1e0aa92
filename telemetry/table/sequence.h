// Loss of telemetry reports, from gaps in the sequence numbers (22 bits) of one reporter: a node's
// packet loop, which the group header calls hardware.
//
// Lost reports are unknown, not fine: each record shows how many are lost. A gap counts as loss at
// once and for good: the numbers are Prometheus counters, which never fall. A report that comes
// after all counts as late; one that was received before changes nothing, as long as it is among
// the latest kRemembered numbers. A restart of the node counts as a restart and not as loss: it is
// a jump beyond kMostGap, or kRestartRun late numbers that follow each other with none that is new
// in between.
#pragma once

#include <cstdint>

#include "telemetry/wire/report.h"

namespace tributary::telemetry {

class SequenceTracker {
 public:
  static constexpr std::uint32_t kMostGap = 65536;
  static constexpr std::uint32_t kRemembered = 64;
  static constexpr std::uint32_t kRestartRun = 16;

  // False: it was received before.
  bool note(std::uint32_t sequence) {
    const std::uint32_t ahead = (sequence - next_) & kSequenceMask;
    const std::uint32_t behind = (next_ - sequence) & kSequenceMask;  // 1: the latest
    if (begun_ && ahead > kMostGap && behind <= kMostGap && !is_restart(sequence))
      return note_late(behind);
    late_run_ = 0;
    ++received_;
    if (begun_ && ahead <= kMostGap) {
      lost_ += ahead;
      seen_ = ahead + 1 < kRemembered ? seen_ << (ahead + 1) | 1 : 1;
    } else {
      if (begun_) ++restarts_;
      seen_ = 1;
    }
    begun_ = true;
    next_ = (sequence + 1) & kSequenceMask;
    return true;
  }

  [[nodiscard]] std::uint64_t received() const { return received_; }
  [[nodiscard]] std::uint64_t lost() const { return lost_; }
  [[nodiscard]] std::uint64_t late() const { return late_; }  // of received(), out of order
  [[nodiscard]] std::uint64_t duplicates() const { return duplicates_; }
  [[nodiscard]] std::uint64_t restarts() const { return restarts_; }

 private:
  bool is_restart(std::uint32_t late) {
    late_run_ = late_run_ != 0 && late == late_next_ ? late_run_ + 1 : 1;
    late_next_ = (late + 1) & kSequenceMask;
    return late_run_ == kRestartRun;
  }
  bool note_late(std::uint32_t behind) {
    if (behind <= kRemembered) {
      const std::uint64_t bit = std::uint64_t{1} << (behind - 1);
      if ((seen_ & bit) != 0) {
        ++duplicates_;
        return false;
      }
      seen_ |= bit;
    }
    ++received_;
    ++late_;
    return true;
  }

  bool begun_ = false;
  std::uint32_t next_ = 0;
  std::uint32_t late_next_ = 0;  // behind the last late one
  std::uint32_t late_run_ = 0;   // late ones that followed each other
  std::uint64_t seen_ = 0;       // bit i: next_ - 1 - i was received
  std::uint64_t received_ = 0;
  std::uint64_t lost_ = 0;
  std::uint64_t late_ = 0;
  std::uint64_t duplicates_ = 0;
  std::uint64_t restarts_ = 0;
};

}  // namespace tributary::telemetry
