#include "config/plan/engine_tables.h"

#include <algorithm>
#include <numeric>

#include "config/plan/aggregation_memory.h"
#include "core/wire/extension.h"

namespace tributary::config {
namespace {

// Bytes of the ids that a message may list.
constexpr std::size_t kIdListBytes = wire::kMaxMissingIds * sizeof(std::uint32_t);

std::size_t words(std::size_t bits) {
  return (bits + 63) / 64;
}

// Heap bytes of a text; short ones are stored inside.
std::size_t heap_bytes(const std::string& text) {
  return text.size() > std::string().capacity() ? text.size() + 1 : 0;
}
std::size_t heap_bytes(const Bracket& bracket) {
  std::size_t bytes = bracket.items.size() * sizeof(Bracket);
  for (const Bracket& item : bracket.items) bytes += heap_bytes(item);
  return bytes;
}
std::size_t heap_bytes(const std::optional<Bracket>& order) {
  return order ? heap_bytes(*order) : 0;
}

// Counts brackets, and the runs inside: adjacent ranks, or one inner bracket.
std::size_t brackets_and_runs(const Bracket& bracket) {
  std::size_t count = 1;
  bool in_run = false;
  for (const Bracket& item : bracket.items) {
    const bool inner = !item.items.empty();
    if (inner || !in_run) ++count;
    if (inner) count += brackets_and_runs(item);
    in_run = !inner;
  }
  return count;
}
std::size_t order_bytes(const JobConfig& job) {
  constexpr std::size_t kFlat = 2;
  const std::size_t children = job_fan_in(job);
  const auto& order = declared_order(job);
  return children * 2 * sizeof(std::uint16_t) + words(children) * 8 +
         (order ? brackets_and_runs(*order) : kFlat) * kOrderBytes;
}

std::size_t child_map_bytes(const JobConfig& job) {
  std::size_t covered = job.children.empty() ? job.workers : 0;
  for (const ChildConfig& child : job.children) covered += child.ranks.size();
  return job_fan_in(job) * kPlaceBytes + covered * sizeof(std::uint32_t) +
         job.workers * sizeof(std::uint16_t);
}

bool has_switches(const JobConfig& job) {
  return std::any_of(job.children.begin(), job.children.end(),
                     [](const ChildConfig& child) { return child.is_switch; });
}

}  // namespace

std::size_t most_unsent(const JobConfig& job) {
  return job.parent ? std::size_t{2} * job.window + hold_buffers(job) : 0;
}

std::uint32_t largest_fan_in(const SwitchConfig& config) {
  std::uint32_t most = 0;
  for (const JobConfig& job : config.jobs) most = std::max(most, job_fan_in(job));
  return most;
}

std::size_t copy_bytes(const JobConfig& job) {
  std::size_t bytes =
      heap_bytes(job.name) + heap_bytes(job.bracketing) + heap_bytes(job.child_order) +
      job.members.size() * sizeof(MemberConfig) + job.lcores.size() * sizeof(std::uint16_t) +
      job.reductions.size() * sizeof(Reduction) +
      job.completion_hosts.size() * sizeof(std::string) + job.children.size() * sizeof(ChildConfig);
  for (const MemberConfig& member : job.members) bytes += heap_bytes(member.port);
  for (const std::string& host : job.completion_hosts) bytes += heap_bytes(host);
  for (const ChildConfig& child : job.children)
    bytes += heap_bytes(child.port) + child.ranks.size() * sizeof(std::uint32_t);
  if (job.parent) bytes += heap_bytes(job.parent->name) + heap_bytes(job.parent->uplink);
  return bytes;
}

std::size_t shard_job_tables(const JobConfig& job) {
  const std::uint32_t fan_in = job_fan_in(job);
  const std::size_t seqs = std::size_t{2} * job.window;
  const std::size_t bitmap_words = fan_in > 64 ? words(fan_in) : 0;
  std::size_t bytes = kShardJobBytes + copy_bytes(job) + child_map_bytes(job) + order_bytes(job);
  bytes += seqs * (kChunkEntryBytes + bitmap_words * 8 + kBufferBytes);
  bytes += fan_in * (kChildBytes + 4 + 1);
  bytes += kOpHistory * (kOpRecordBytes + fan_in * (2 * kArrivalBytes + kLatenessBytes));
  bytes += kIdListBytes;  // the ranks that the parent waits for
  if (has_switches(job)) bytes += kOpHistory * 2 * words(job.workers) * 8;
  if (job.parent) bytes += job.window * kAskedBytes + most_unsent(job) * kUnsentBytes;
  if (degrades(job)) bytes += left_out_bytes(job.workers, seqs);
  if (holds_data(job))
    bytes +=
        std::size_t{job.window} * fan_in * kBufferIndexBytes + hold_buffers(job) * kBufferBytes;
  return bytes;
}

std::size_t membership_tables(const JobConfig& job) {
  constexpr std::size_t kTime = 8;  // when a switch below last named its missing ranks
  const std::size_t forming =
      has_switches(job) ? words(job.workers) * 8 + job_fan_in(job) * kTime : 0;
  constexpr std::size_t of_child = kMemberBytes + sizeof(std::uint16_t);  // with its port
  constexpr std::size_t kOfShard = 8;  // its state when it went to another owner
  return kJobBytes + copy_bytes(job) + child_map_bytes(job) + job_fan_in(job) * of_child + forming +
         job.shards * kOfShard + kIdListBytes;
}

std::size_t engine_tables(const SwitchConfig& config) {
  const std::size_t jobs = config.jobs.size();
  const std::size_t index = index_entries(jobs) * kIndexEntryBytes;
  constexpr std::size_t kShardPointers = 2 * 16;
  std::size_t bytes =
      kEngineBytes + jobs * sizeof(void*) + index + largest_fan_in(config) * kEndpointBytes;
  for (std::size_t s = 0; s < engine_shards(config); ++s) {
    const auto shard = static_cast<std::uint8_t>(s);
    bytes += kShardBytes + kShardPointers + kIdListBytes + words(kMaxWorkers) * 8 + index;
    bytes += jobs * sizeof(void*) + job_places(config) * (sizeof(void*) + kPoolShareBytes);
    bytes += largest_fan_in(config) * sizeof(void*);
    bytes += buffer_classes(config, shard).size() * (kBufferClassBytes + 2 * sizeof(void*));
    if (bracket_value_bytes(config, shard) > 0) bytes += kMaxBracketDepth * sizeof(void*);
  }
  return bytes;
}

}  // namespace tributary::config
