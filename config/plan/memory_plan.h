// How much memory a configuration asks for, worked out once: the loader refuses what cannot fit,
// and the switch sizes its pool and its engine from the same figures.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "config/model/switch_config.h"
#include "config/plan/lcore_plan.h"

namespace tributary::config {

// Fewer packet buffers a pair of queues starve it; the rest is what each lcore's cache may hold
// back, what it keeps until it is summed, and what may be on the way from one lcore to another.
inline constexpr std::size_t kLeastBuffersPerQueue = 512;
// Of those, what a transmit queue may hold until its device is through with it.
inline constexpr std::size_t kTransmitQueueBuffers = 256;
inline constexpr std::size_t kSharedBuffers = 512;
// On the way from one lcore to another: of jobs, and as many of all others.
inline constexpr std::size_t kHandoverFrames = 256;
inline constexpr std::size_t kHandoverClasses = 2;
// IGMP and MLD messages on the way from each lcore to the first, where the switch snoops.
inline constexpr std::size_t kGroupMessages = 128;
// Of a buffer besides its data: rte_mbuf, pool element header and padding, headroom.
inline constexpr std::size_t kBufferOverheadBytes = 128 + 2 * 64 + 128;
// What a buffer holds at least: RTE_MBUF_DEFAULT_DATAROOM.
inline constexpr std::size_t kLeastBufferData = 2048;
// DPDK's own rings and queues.
inline constexpr std::size_t kRuntimeBytes = std::size_t{16} << 20;

// Of a lcore, by its number: what it may put on its ways to others.
inline std::size_t handover_buffers(const SwitchConfig& config, std::size_t lcore) {
  const bool gives_messages = config.forwarding.snooping.enabled && lcore != 0;
  return (lcore_count(config) - 1) * kHandoverClasses * kHandoverFrames +
         (gives_messages ? kGroupMessages : 0);
}
inline std::size_t lcore_buffers(const SwitchConfig& config) {
  std::size_t buffers = 0;
  for (std::size_t lcore = 0; lcore < lcore_count(config); ++lcore)
    buffers += kSharedBuffers + handover_buffers(config, lcore);
  return buffers;
}
// Of each pair of queues; what it puts together is beside what drivers and rings need.
inline std::size_t least_buffers_per_queue(const SwitchConfig& config) {
  return kLeastBuffersPerQueue + config.fragments.datagrams;
}
// What the ports that are there cannot do without, and what is to be there at start: also for those
// that a reload may add.
inline std::size_t buffers_in_need(const SwitchConfig& config) {
  return queue_count(config) * least_buffers_per_queue(config) + lcore_buffers(config);
}
inline std::size_t planned_queues(const SwitchConfig& config) {
  return queue_count(config) + config.memory.spare_queues;
}
inline std::size_t least_buffers(const SwitchConfig& config) {
  return planned_queues(config) * least_buffers_per_queue(config) + lcore_buffers(config);
}

// Data of the largest frame of any port. A device may need more (af_packet: its ring's frames).
inline std::size_t buffer_data_bytes(const SwitchConfig& config) {
  std::size_t bytes = kLeastBufferData;
  for (const auto& port : config.ports)
    bytes = std::max(bytes, port.mtu + wire::kEthernetBytes + wire::kVlanBytes);
  for (const auto& job : config.jobs) bytes = std::max(bytes, job_frame_bytes(job));
  return bytes;
}

// What memory.megabytes has to hold.
inline std::size_t least_dpdk_bytes(const SwitchConfig& config) {
  return kRuntimeBytes + least_buffers(config) * (buffer_data_bytes(config) + kBufferOverheadBytes);
}

// Whether this switch finishes what is escalated of the job.
inline bool completes_here(const JobConfig& job) {
  const auto& hosts = job.completion_hosts;
  return !job.parent &&
         (hosts.empty() || std::find(hosts.begin(), hosts.end(), kRootHost) != hosts.end());
}
// A piece of a chunk at the completion engine.
constexpr std::uint64_t piece_buffer_bytes(const JobConfig& job) {
  return (std::uint64_t{job.chunk_bytes} + 63) / 64 * 64;
}
// With less, no chunk could ever be finished; with more, none is ever refused.
constexpr std::uint64_t least_completion_bytes(const JobConfig& job) {
  return job.workers * piece_buffer_bytes(job);
}
constexpr std::uint64_t most_completion_bytes(const JobConfig& job) {
  return least_completion_bytes(job) * job.window * job.shards;
}
// What completion.megabytes has to hold.
inline std::uint64_t least_completion_bytes(const SwitchConfig& config) {
  std::uint64_t sum = 0;
  for (const auto& job : config.jobs)
    sum += completes_here(job) ? least_completion_bytes(job) * planes_in(config, job) : 0;
  return sum;
}
// Of one whose results another switch has to accept: what was sent is kept, too.
constexpr std::uint64_t least_served_bytes(const JobConfig& job) {
  return (std::uint64_t{job.workers} + 2 * std::uint64_t{job.window}) * job.shards *
         piece_buffer_bytes(job);
}
constexpr std::uint64_t most_served_bytes(const JobConfig& job) {
  return (std::uint64_t{job.workers} * job.window + 2 * std::uint64_t{job.window}) * job.shards *
         piece_buffer_bytes(job);
}
// What completion.hosted_megabytes has to hold.
inline std::uint64_t least_hosted_bytes(const SwitchConfig& config) {
  std::uint64_t sum = 0;
  for (const auto& job : config.jobs) sum += job.hosting ? least_served_bytes(job) : 0;
  return sum;
}
// Of this switch, or of one of its packet loops.
inline std::uint64_t completion_budget(const SwitchConfig& config) {
  return config.share ? config.share->completion_bytes
                      : std::uint64_t{config.completion.megabytes} << 20;
}
inline std::uint64_t hosted_budget(const SwitchConfig& config) {
  return config.share ? config.share->hosted_bytes
                      : std::uint64_t{config.completion.hosted_megabytes} << 20;
}
// What a job needs of memory that several share, and the most that it could use.
struct Demand {
  std::uint64_t least = 0;
  std::uint64_t most = 0;
};
// What is `one`'s of `budget`: what it needs, and of the rest in proportion to what it could use.
// `all` are everybody's demands, `one`'s too.
std::uint64_t share_of(std::uint64_t budget, std::span<const Demand> all, const Demand& one);
// A job's part of completion.megabytes; of each plane, where it has several.
std::uint64_t completion_share(const SwitchConfig& config, const JobConfig& job);
// Of completion.hosted_megabytes, of a job that this switch may host; all of them together.
std::uint64_t hosted_share(const SwitchConfig& config, const JobConfig& job);
std::uint64_t hosted_bytes(const SwitchConfig& config);
// For people: "job 1 ... KiB for contributions and results; needs ..., could use ...".
std::string describe_served(const JobConfig& job, std::uint64_t bytes);
// A line for each job that the switch may host; empty: there is none.
std::string describe_hosted(const SwitchConfig& config);

}  // namespace tributary::config
