// A member's way into one of a task's jobs: join, try again while there is patience, leave in good
// order (worker/python/tributary/_task/jobs.py).
#pragma once

#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <string>

#include "worker/api/communicator.h"

namespace tributary::task {

// Time of one try to join the task job. Workers that wait for main meet in between, so that one
// that was restarted meanwhile finds them.
inline constexpr Duration kSlice = Duration::seconds(10);

// Time for what may fail and be tried again. Not thread-safe.
class Patience {
 public:
  // None: as long as it takes.
  explicit Patience(std::optional<Duration> limit);
  [[nodiscard]] Duration left() const;
  // Takes the exception that is handled now, an Again or a CommunicatorError. Throws it if no other
  // try has a chance, or the time is over; pauses otherwise.
  void spend();
  // The same. Sets `alone` before it throws because the others did not come.
  void spend(bool& alone);

 private:
  using Clock = std::chrono::steady_clock;
  std::optional<Clock::time_point> end_;
  std::exception_ptr last_;
  int mismatches_ = 0;
};

class MemberJob {
 public:
  // No op takes longer than `op_timeout`. A second process for a rank that lives fails at once.
  MemberJob(CommunicatorOptions options, Duration op_timeout) : options_(std::move(options)) {
    options_.op_timeout = op_timeout;
    options_.fail_if_taken = true;
  }

  // Joins unless it has; throws as Communicator::create().
  Communicator& join(Duration timeout);
  // Leaves at once; open ops of others fail.
  void leave() { communicator_.reset(); }
  // Leaves when all others are about to, or after 5 s: they may still need this member.
  void part();

 private:
  CommunicatorOptions options_;
  std::unique_ptr<Communicator> communicator_;
};

}  // namespace tributary::task
