// Memory of a switch's aggregation engine, worked out once from the configuration: the loader
// refuses what does not fit, the engine takes exactly this at start, and `--check` prints it.
//
// Buffers of equal size are one class in each shard. A job reserves in its class what it can ever
// need at once, so no packet has to wait for memory:
//   sums and results  2 x window: the fastest rank is at most a window ahead of the results that
//                     the slowest one holds, which is another window behind (protocol rules 2, 4)
//   held data         window x (fan-in - 1), where contributions wait for their place in the order
// What it keeps beside them is in config/plan/engine_tables.h. Not of it: messages that a packet
// loop is about to send (Outbox), and what a change of configuration brings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "config/model/switch_config.h"
#include "config/plan/engine_tables.h"

namespace tributary::config {

// Who is missing from results that lack ranks: a bit for each rank, and how many are counted, of
// each result that is kept; and the former of each op whose time-line is kept.
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
// In which a reproducible job's contributions are combined here, over child indices; none: flat.
inline const std::optional<Bracket>& declared_order(const JobConfig& job) {
  return job.children.empty() ? job.bracketing : job.child_order;
}
// 1, or how deep that is bracketed.
std::size_t bracket_depth(const JobConfig& job);
// A shard keeps kMaxBracketDepth buffers of this size for values of inner brackets; 0: none.
std::size_t bracket_value_bytes(const SwitchConfig& config, std::uint8_t shard);

// Slots of each shard that the dynamic jobs share; 0 when there are none.
std::uint32_t pool_slots(const SwitchConfig& config);
std::size_t shard_count(const SwitchConfig& config);
// Of the engine: where memory is reserved for jobs to come, they may have as many as any.
inline std::size_t engine_shards(const SwitchConfig& config) {
  return config.memory.reserve_megabytes > 0 ? kMaxShards : shard_count(config);
}
// For jobs that a reload brings.
inline std::uint64_t reserve_bytes(const SwitchConfig& config) {
  return config.share ? config.share->reserve_bytes
                      : std::uint64_t{config.memory.reserve_megabytes} << 20;
}
inline std::uint64_t cache_bytes(const SwitchConfig& config) {
  return config.share ? config.share->cache_bytes : std::uint64_t{config.cache.megabytes} << 20;
}
// Jobs that there is ever room for: a reload may add some where memory is reserved for them.
inline std::size_t job_places(const SwitchConfig& config) {
  constexpr std::size_t kSpare = 32;
  return config.jobs.size() + (config.memory.reserve_megabytes > 0 ? kSpare : 0);
}

struct BufferClass {
  std::size_t bytes = 0;
  std::uint32_t reserved = 0;
  std::uint32_t bracket_values = 0;  // of the reserved: for values of inner brackets
  std::uint32_t cached = 0;          // spare ones, for acknowledged results
};
// Of one shard, largest first.
std::vector<BufferClass> buffer_classes(const SwitchConfig& config, std::uint8_t shard);

struct AggregationMemory {
  std::uint64_t sums = 0;  // and results
  std::uint64_t holds = 0;
  std::uint64_t cache = 0;
  std::uint64_t tables = 0;
  std::uint64_t reserve = 0;  // of nobody yet
  AggregationMemory& operator+=(const AggregationMemory& other);
  [[nodiscard]] std::uint64_t total() const { return sums + holds + cache + tables + reserve; }
};
// Of one plane of a job in all its shards; cache and pool are nobody's in particular.
AggregationMemory job_memory(const JobConfig& job);
// Of the engines of all its packet loops together.
AggregationMemory aggregation_memory(const SwitchConfig& config);
// For people: a line for each job and one for all.
std::string describe_memory(const SwitchConfig& config);

}  // namespace tributary::config
