// The ends of jobs' ops, as the switches tell them at which jobs' data ends (end of transmission,
// C7). Of a job with several planes the first one's ends count: it has a run of every op, and small
// ops alone, and each plane has epochs of its own (docs/protocol/planes.md).
//
// Bounded: where the table is full, the job that was silent for longest makes room, of those of the
// node that tells of most. A job counts for the node that told of it first, until that is silent
// for kTakeOver: a switch that lies neither pushes out what others tell, nor speaks for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "core/time.h"
#include "telemetry/wire/report.h"

namespace tributary::telemetry {

// Several ends may come in one datagram.
inline constexpr Duration kPeriodTime = Duration::ms(20);

inline constexpr Duration kTakeOver = Duration::seconds(1);

struct JobOps {
  std::uint32_t node = 0;   // that tells them
  std::uint16_t epoch = 0;  // of `op`; epochs begin with op 0
  std::uint32_t op = 0;     // the latest one that is heard of
  std::uint64_t ended = 0;  // ops
  // From one end to the next, over at least kPeriodTime; an average, in which each such time counts
  // an eighth. 0: not known.
  std::uint64_t period_ewma_ns = 0;
  Instant seen;  // the latest end
  // Where the time of the next figure begins, and how many had ended then.
  Instant since;
  std::uint64_t ended_before = 0;
};

class OpTable {
 public:
  using Jobs = std::map<std::uint32_t, JobOps>;

  explicit OpTable(std::size_t limit) : limit_(limit) {}

  // `node` tells it. Returns true if the op has ended now.
  bool take(const OpEnd& end, std::uint32_t node, Instant now);
  [[nodiscard]] const Jobs& jobs() const { return jobs_; }
  // Counts the ops of all jobs, also of those that made room.
  [[nodiscard]] std::uint64_t ended() const { return ended_; }

 private:
  // The job counts for the node from now on.
  JobOps& place_of(std::uint32_t job, std::uint32_t node);
  void make_room();

  const std::size_t limit_;
  Jobs jobs_;
  std::map<std::uint32_t, std::size_t> told_;  // jobs of each node that has some
  std::uint64_t ended_ = 0;
};

}  // namespace tributary::telemetry
