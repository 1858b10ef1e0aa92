#include "config/plan/aggregation_memory.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>

#include "config/plan/lcore_plan.h"

namespace tributary::config {
namespace {

std::size_t depth_of(const Bracket& bracket) {
  std::size_t deepest = 0;
  for (const Bracket& item : bracket.items) deepest = std::max(deepest, depth_of(item));
  return bracket.items.empty() ? 0 : deepest + 1;
}

// How many times wider an accumulator can be than an element.
std::size_t growth(const JobConfig& job) {
  if (job.partials == wire::Partials::wide) return 1;
  std::size_t most = 1;
  const auto look_at = [&](wire::DType t, wire::ReduceOp op) {
    if (wire::why_invalid(t, op) == nullptr)
      most = std::max(most, wire::accumulator_bytes(t, op) / wire::size_of(t));
  };
  for (const Reduction& r : job.reductions) look_at(r.dtype, r.op);
  if (!job.reductions.empty()) return most;
  for (std::uint8_t t = 1; t <= wire::kDTypeMax; ++t)
    for (std::uint8_t op = 1; op <= wire::kReduceOpMax; ++op)
      look_at(static_cast<wire::DType>(t), static_cast<wire::ReduceOp>(op));
  return most;
}

// The limit for one size in one shard: indices stay small, even with the reserved ones.
constexpr std::uint64_t kMostCached = 1u << 30;

void reserve(std::vector<BufferClass>& classes, std::size_t bytes, std::uint32_t count) {
  if (count == 0) return;
  const auto same = [bytes](const BufferClass& c) { return c.bytes == bytes; };
  const auto found = std::find_if(classes.begin(), classes.end(), same);
  if (found != classes.end())
    found->reserved += count;
  else
    classes.push_back({bytes, count});
}

std::string mebibytes(std::uint64_t bytes) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f", static_cast<double>(bytes) / (1 << 20));
  return text.data();
}

}  // namespace

std::size_t slot_buffer_bytes(const JobConfig& job) {
  return (job.chunk_bytes * growth(job) + 63) / 64 * 64;
}

std::size_t bracket_depth(const JobConfig& job) {
  const auto& order = declared_order(job);
  return order ? std::max<std::size_t>(depth_of(*order), 1) : 1;
}

std::size_t bracket_value_bytes(const SwitchConfig& config, std::uint8_t shard) {
  std::size_t largest = 0;
  for (const JobConfig& job : config.jobs)
    if (shard < job.shards && bracket_depth(job) > 1)
      largest = std::max(largest, slot_buffer_bytes(job));
  return largest;
}

std::uint32_t default_reserve_megabytes(const MemoryConfig& memory) {
  return std::min(32u, memory.aggregation_megabytes / 32);
}

std::uint32_t pool_slots(const SwitchConfig& config) {
  std::uint32_t partitions = 0;
  bool any = reserve_megabytes(config) > 0;  // a reload may add some
  for (const JobConfig& job : config.jobs) {
    if (job.slots == SlotMode::dynamic)
      any = true;
    else
      partitions += job.window;
  }
  return any && config.slots > partitions ? config.slots - partitions : 0;
}

std::size_t shard_count(const SwitchConfig& config) {
  std::uint8_t most = 1;
  for (const JobConfig& job : config.jobs) most = std::max(most, job.shards);
  return most;
}

std::vector<BufferClass> buffer_classes(const SwitchConfig& config, std::uint8_t shard) {
  std::vector<BufferClass> classes;
  const std::size_t largest = bracket_value_bytes(config, shard);
  for (const JobConfig& job : config.jobs) {
    if (shard >= job.shards) continue;
    reserve(classes, slot_buffer_bytes(job), 2 * job.window);
    reserve(classes, hold_buffer_bytes(job), hold_buffers(job));
  }
  std::sort(classes.begin(), classes.end(),
            [](const BufferClass& a, const BufferClass& b) { return a.bytes > b.bytes; });
  const std::uint64_t spare = cache_bytes(config) / shard_count(config);
  const auto holds_results = [&](const BufferClass& c) {
    return std::any_of(config.jobs.begin(), config.jobs.end(), [&](const JobConfig& job) {
      return shard < job.shards && slot_buffer_bytes(job) == c.bytes;
    });
  };
  const auto sizes =
      static_cast<std::uint64_t>(std::count_if(classes.begin(), classes.end(), holds_results));
  for (BufferClass& c : classes) {
    if (holds_results(c))
      c.cached = static_cast<std::uint32_t>(std::min(spare / sizes / c.bytes, kMostCached));
    if (c.bytes != largest) continue;
    c.bracket_values = kMaxBracketDepth;
    c.reserved += c.bracket_values;
  }
  return classes;
}

AggregationMemory job_memory(const JobConfig& job) {
  AggregationMemory memory;
  memory.sums = std::uint64_t{2} * job.window * slot_buffer_bytes(job) * job.shards;
  memory.holds = std::uint64_t{hold_buffers(job)} * hold_buffer_bytes(job) * job.shards;
  memory.tables = std::uint64_t{shard_job_tables(job)} * job.shards + membership_tables(job);
  return memory;
}

AggregationMemory& AggregationMemory::operator+=(const AggregationMemory& other) {
  sums += other.sums;
  holds += other.holds;
  cache += other.cache;
  tables += other.tables;
  reserve += other.reserve;
  return *this;
}

AggregationMemory aggregation_memory(const SwitchConfig& config) {
  AggregationMemory sum;
  if (lcore_count(config) > 1) {
    for (std::size_t lcore = 0; lcore < lcore_count(config); ++lcore)
      sum += aggregation_memory(lcore_part(config, lcore, lcore_share(config, lcore)));
    return sum;
  }
  for (const JobConfig& job : config.jobs) sum += job_memory(job);
  for (std::size_t s = 0; s < engine_shards(config); ++s) {
    for (const BufferClass& c : buffer_classes(config, static_cast<std::uint8_t>(s))) {
      sum.cache += c.cached * c.bytes;
      sum.tables += std::uint64_t{c.cached} * (kBufferBytes + kCacheEntryBytes);
      if (c.cached > 0)
        sum.tables +=
            (std::bit_ceil(std::size_t{c.cached} * 2) + job_places(config)) * kBufferIndexBytes;
      sum.sums += c.bracket_values * c.bytes;
      sum.tables += std::uint64_t{c.bracket_values} * kBufferBytes;
    }
    sum.tables += std::uint64_t{pool_slots(config)} * kPoolSlotBytes;
  }
  sum.tables += engine_tables(config);
  sum.reserve = reserve_bytes(config);
  return sum;
}

std::string describe_memory(const SwitchConfig& config) {
  std::string text;
  const auto line = [&](const std::string& what, const AggregationMemory& m) {
    text += what + ": " + mebibytes(m.total()) + " MiB (sums and results " + mebibytes(m.sums) +
            ", held data " + mebibytes(m.holds) + ", cache " + mebibytes(m.cache) + ", tables " +
            mebibytes(m.tables);
    if (m.reserve > 0) text += ", reserve " + mebibytes(m.reserve);
    text += ")\n";
  };
  for (const JobConfig& job : config.jobs) {
    AggregationMemory planes;
    for (std::uint8_t plane = 0; plane < job.planes; ++plane) planes += job_memory(job);
    line("job " + std::to_string(job.id), planes);
  }
  line("aggregation", aggregation_memory(config));
  return text;
}

}  // namespace tributary::config
