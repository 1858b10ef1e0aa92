// Finds children of jobs that are late in every op, though within the deadline: the job is slower
// for them, and nothing fails. Compares totals over a window. Pure: totals and time are arguments.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "control/events/event_log.h"

namespace tributary::control {

// Arrivals of one child since the switch started; see aggregator::ChildTotals.
struct ChildTimes {
  std::uint32_t job = 0;
  std::uint8_t plane = 0;
  std::string node;  // "rank 3"
  std::uint64_t arrivals = 0;
  std::uint64_t lateness_ns = 0;  // behind the first of the chunk, summed over the arrivals
};

class LateChildren {
 public:
  static constexpr auto kWindow = std::chrono::seconds(10);
  static constexpr std::uint64_t kLeastArrivals = 16;  // in a window, for a judgement
  // Late: a mean of at least so much, and of so many times that of the job's earliest fifth.
  static constexpr double kLeastMs = 5;
  static constexpr double kTimes = 4;

  // A warning for each child that has become late, a notice for each that is so no more. As often
  // as once a second; one thread at a time.
  std::vector<Event> look(const std::vector<ChildTimes>& children,
                          std::chrono::system_clock::time_point now);

 private:
  using Key = std::tuple<std::uint32_t, std::uint8_t, std::string>;
  struct Known {
    std::uint64_t arrivals = 0, lateness_ns = 0;  // when the window began
    bool late = false;
  };
  struct Mean {
    const ChildTimes* child;
    double ms;
  };

  void judge(const std::vector<Mean>& of_job, std::chrono::system_clock::time_point now,
             std::vector<Event>& out);

  std::chrono::system_clock::time_point begun_;
  std::map<Key, Known> known_;
};

}  // namespace tributary::control
