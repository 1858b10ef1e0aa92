// This rank's membership at the switch: sends JOIN until START, and LEAVE until it is acknowledged.
//
// Pure: its caller passes packets and times, and sends what it asks for. The session makes packets.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "core/time.h"
#include "core/wire/header.h"

namespace tributary::worker {

class Membership {
 public:
  // Joins from `now` on, for at most `limit`. Until START gives another, `child` of `fan_in` is
  // this rank's place among the switch's children.
  // `goes_on`: from an earlier epoch, as the other ranks do now, too, and callers wait.
  Membership(Instant now, Duration limit, std::uint16_t child, std::uint16_t fan_in,
             bool goes_on = false)
      : next_try_(now),
        deadline_(now + limit),
        quick_tries_(goes_on ? kQuickTries : 0),
        goes_on_(goes_on),
        child_(child),
        fan_in_(fan_in) {}

  enum class Step : std::uint8_t { wait, send, give_up };
  // While joining: `send` a JOIN, or `give_up` at the limit.
  Step poll_join(Instant now);
  // While leaving: `send` a LEAVE, or `give_up` after the last try.
  Step poll_leave(Instant now);
  // The times at which poll_join() and poll_leave() have an action.
  [[nodiscard]] Instant next_join() const { return std::min(next_try_, deadline_); }
  [[nodiscard]] Instant next_leave() const { return next_try_; }

  // PENDING: the switch holds this rank and waits for others.
  void wait();
  // A job may move to other switches, which read that one after the other: a rank that goes on is
  // told for so long that the job is not there, before it believes it.
  static constexpr Duration kMoveTime = Duration::seconds(30);
  // NACK of a JOIN. Returns false if it is final: no event before the limit can change it.
  bool refuse(const wire::Header& nack, Instant now);
  // The last answer was that another process has this rank, and has answered the switch.
  [[nodiscard]] bool is_taken() const {
    return last_refusal_.reason == wire::Reason::sender_mismatch && last_refusal_.slot != 0;
  }
  // START. Returns false if the place that it gives does not exist.
  bool admit(const wire::Header& start);
  // ABORT or NACK: the switch does not know this rank any more.
  void end() { held_ = false; }
  // LEAVE is due now, so many times at most. Returns false if there is nothing to leave.
  static constexpr std::uint8_t kLeaveTries = 3;
  bool leave(Instant now, std::uint8_t tries = kLeaveTries);
  // While leaving: whether the packet shows that the switch does not know this rank any more.
  [[nodiscard]] bool is_left(const wire::Header& h) const;

  // The last NACK; of reason none if there was none, or if another answer came since.
  [[nodiscard]] const wire::Header& last_refusal() const { return last_refusal_; }
  [[nodiscard]] std::uint16_t epoch() const { return epoch_; }
  [[nodiscard]] std::uint16_t child() const { return child_; }
  [[nodiscard]] std::uint16_t fan_in() const { return fan_in_; }

 private:
  static constexpr std::uint16_t kQuickTries = 100;

  Instant next_try_;               // of JOIN or LEAVE
  Instant deadline_;               // of joining
  std::uint16_t quick_tries_ = 0;  // of JOIN
  bool goes_on_;
  std::optional<Instant> gone_since_;  // the job is not there
  std::uint8_t leaves_left_ = 0;
  bool held_ = false;  // as far as known
  wire::Header last_refusal_;
  std::uint16_t epoch_ = 0;
  std::uint16_t child_;
  std::uint16_t fan_in_;
};

}  // namespace tributary::worker
