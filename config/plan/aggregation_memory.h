// Memory of a switch's aggregation engine, computed once from the configuration: the loader refuses
// what does not fit, the engine allocates exactly this at start, and `--check` prints it.
//
// Buffers of equal size are one class in each shard. A job reserves in its class the most that it
// can ever need at once, so no packet has to wait for memory:
//   sums and results  2 x window: the fastest rank is at most a window ahead of the results that
//                     the slowest one holds, which is another window behind (protocol rules 2, 4)
//   held data         window x (fan-in - 1), if contributions wait for their place in the order
// config/plan/engine_tables.h has its other tables. Not included: messages that a packet loop is
// about to send (Outbox), and the memory of a change of configuration.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "config/model/switch_config.h"
#include "config/plan/engine_tables.h"

namespace tributary::config {

// The ranks missing from degraded results: for each kept result a bit for each rank and the number
// counted; and for each op whose time-line is kept, the bits alone.
constexpr std::size_t left_out_bytes(std::uint32_t workers, std::size_t results) {
  const std::size_t bitmap = (std::size_t{workers} + 63) / 64 * 8;
  return results * (bitmap + 4) + kOpHistory * bitmap;
}

// One sum or result.
std::size_t slot_buffer_bytes(const JobConfig& job);
// One held contribution.
constexpr std::size_t hold_buffer_bytes(const JobConfig& job) {
  return (job.chunk_bytes + std::size_t{63}) / 64 * 64;
}
inline bool holds_data(const JobConfig& job) {
  return job.order == wire::Order::reproducible || job.trigger == Trigger::collect;
}
inline std::uint32_t hold_buffers(const JobConfig& job) {
  return holds_data(job) ? job.window * (job_fan_in(job) - 1) : 0;
}
// The order in which a reproducible job's contributions are combined here, by child; none: flat.
inline const std::optional<Bracket>& declared_order(const JobConfig& job) {
  return job.children.empty() ? job.bracketing : job.child_order;
}
// The depth of that order's brackets, at least 1.
std::size_t bracket_depth(const JobConfig& job);
// A shard keeps kMaxBracketDepth buffers of this size for values of inner brackets; 0: none.
std::size_t bracket_value_bytes(const SwitchConfig& config, std::uint8_t shard);

// Slots of each shard that the dynamic jobs share; 0 when there are none.
std::uint32_t pool_slots(const SwitchConfig& config);
std::size_t shard_count(const SwitchConfig& config);
inline std::uint32_t reserve_megabytes(const SwitchConfig& config) {
  return config.memory.reserve_megabytes.value_or(0);
}
// The reserve of a file that does not say: the limit by default leaves room for it, a tighter one
// is not spent on it.
std::uint32_t default_reserve_megabytes(const MemoryConfig& memory);
// The engine's shards: where memory is reserved for later jobs, these may have the maximum.
inline std::size_t engine_shards(const SwitchConfig& config) {
  return reserve_megabytes(config) > 0 ? kMaxShards : shard_count(config);
}
// Memory for jobs that a reload adds.
inline std::uint64_t reserve_bytes(const SwitchConfig& config) {
  return config.share ? config.share->reserve_bytes
                      : std::uint64_t{reserve_megabytes(config)} << 20;
}
inline std::uint64_t cache_bytes(const SwitchConfig& config) {
  return config.share ? config.share->cache_bytes : std::uint64_t{config.cache.megabytes} << 20;
}
// The most jobs at any time: a reload may add some if memory is reserved for them.
inline constexpr std::size_t kSpareJobs = 32;
inline std::size_t job_places(const SwitchConfig& config) {
  return config.jobs.size() + (reserve_megabytes(config) > 0 ? kSpareJobs : 0);
}

struct BufferClass {
  std::size_t bytes = 0;
  std::uint32_t reserved = 0;
  std::uint32_t bracket_values = 0;  // of the reserved: for values of inner brackets
  std::uint32_t cached = 0;          // spare ones, for acknowledged results
};
// The classes of one shard, largest first.
std::vector<BufferClass> buffer_classes(const SwitchConfig& config, std::uint8_t shard);

struct AggregationMemory {
  std::uint64_t sums = 0;  // and results
  std::uint64_t holds = 0;
  std::uint64_t cache = 0;
  std::uint64_t tables = 0;
  std::uint64_t reserve = 0;  // for later jobs
  AggregationMemory& operator+=(const AggregationMemory& other);
  [[nodiscard]] std::uint64_t total() const { return sums + holds + cache + tables + reserve; }
};
// One plane of a job in all its shards; without cache and pool, which belong to no single job.
AggregationMemory job_memory(const JobConfig& job);
// The engines of all packet loops together.
AggregationMemory aggregation_memory(const SwitchConfig& config);
// A text for the operator: a line for each job and one for all.
std::string describe_memory(const SwitchConfig& config);

}  // namespace tributary::config
