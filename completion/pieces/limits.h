// A completion engine's settings for each job, and the memory that follows from them.
//
// Figures are derived here and nowhere else: the host checks its configuration with them, and the
// engine sizes itself by them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "config/model/switch_config.h"
#include "core/time.h"
#include "core/wire/rank_bitmap.h"
#include "core/wire/types.h"

namespace tributary::completion {

struct JobLimits {
  std::uint32_t id = 0;
  std::uint8_t plane = 0;  // the plane of the job that the engine finishes
  std::uint32_t workers = 0;
  std::uint32_t window = 0;       // chunks per shard in flight; power of two
  std::uint32_t piece_bytes = 0;  // largest payload of a contribution or aggregate
  std::uint8_t shards = 1;
  wire::Partials partials = wire::Partials::wide;
  // reproducible: refuses sums that are no step of the declared expression.
  wire::Order order = wire::Order::fast;
  std::optional<config::Bracket> bracketing;  // none: flat, by rank
  wire::Arithmetic arithmetic = wire::Arithmetic::saturating;
  // Fixed-point sums that overflow are asked for again as floating point (rule 12).
  bool float_retry = false;
  config::Trigger trigger = config::Trigger::collect;  // T16
  wire::Notify notify = wire::Notify::root;            // T9
  // The host accepts each result within the call that makes it, so none has to be kept.
  bool root_is_here = true;
  Duration deadline = Duration::max();  // from a chunk's first piece to ABORT
  // A chunk that has waited this long is finished without the missing ranks (rule 21).
  Duration degraded_after = Duration::max();
  std::uint64_t bytes = 0;  // for pieces; at least least_bytes()

  bool operator==(const JobLimits&) const = default;
};

// Elements of one byte are summed in four.
inline constexpr std::size_t kWidestAccumulator = 4;
// Payload buffers begin on cache lines.
constexpr std::uint64_t buffer_bytes(const JobLimits& job) {
  return (std::uint64_t{job.piece_bytes} + 63) / 64 * 64;
}
// Results that the root may not have accepted yet: all ranks have acknowledged seq s once s + 2W is
// sent.
constexpr std::uint64_t kept_results(const JobLimits& job) {
  return job.root_is_here ? 0 : std::uint64_t{2} * job.window * job.shards;
}
// Enough to finish one chunk: a piece of each rank. With less, no chunk is ever finished.
constexpr std::uint64_t least_bytes(const JobLimits& job) {
  return (job.workers + kept_results(job)) * buffer_bytes(job);
}
// With this or more, no chunk is ever refused.
constexpr std::uint64_t most_bytes(const JobLimits& job) {
  const std::uint64_t open_chunks = std::uint64_t{job.window} * job.shards;
  return (open_chunks * job.workers + kept_results(job)) * buffer_bytes(job);
}

// The limits of a job, without the memory.
JobLimits limits_of(const config::JobConfig& job);
// The limits of the jobs whose root this switch is, for an engine inside it.
std::vector<JobLimits> limits_of(const config::SwitchConfig& config);
// The same while `running` limits are in force: unchanged jobs keep their memory, and the others
// share the rest. Throws std::invalid_argument if that is not enough.
std::vector<JobLimits> limits_of(const config::SwitchConfig& next,
                                 const std::vector<JobLimits>& running);

}  // namespace tributary::completion
