// The memory that a configuration needs, computed once: the loader refuses what cannot fit, and the
// switch sizes its pool and its engine by the same figures.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "config/model/switch_config.h"
#include "config/plan/lcore_plan.h"

namespace tributary::config {

// With fewer packet buffers, a pair of queues starves. The others are for each lcore's cache, for
// data that an lcore keeps until it is summed, and for frames between lcores.
inline constexpr std::size_t kLeastBuffersPerQueue = 512;
// The part of those that a transmit queue may hold until its device has sent them.
inline constexpr std::size_t kTransmitQueueBuffers = 256;
inline constexpr std::size_t kSharedBuffers = 512;
// Frames on the way between lcores: so many of jobs, and as many of all other traffic.
inline constexpr std::size_t kHandoverFrames = 256;
inline constexpr std::size_t kHandoverClasses = 2;
// IGMP and MLD messages on the way from each lcore to the first, if the switch snoops.
inline constexpr std::size_t kGroupMessages = 128;
// Bytes of a buffer besides its data: rte_mbuf, pool element header and padding, headroom.
inline constexpr std::size_t kBufferOverheadBytes = 128 + 2 * 64 + 128;
// The least data size of a buffer: RTE_MBUF_DEFAULT_DATAROOM.
inline constexpr std::size_t kLeastBufferData = 2048;
// DPDK's own rings and queues.
inline constexpr std::size_t kRuntimeBytes = std::size_t{16} << 20;

// The buffers that an lcore, given by number, may have on the way to others.
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
// For each pair of queues; fragments being reassembled come on top of the drivers' and rings' need.
inline std::size_t least_buffers_per_queue(const SwitchConfig& config) {
  return kLeastBuffersPerQueue + config.fragments.datagrams;
}
// The buffers that the present ports need; and, below, those to allocate at start: also for ports
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

// The data of the largest frame of any port. A device may need more (af_packet: its ring's frames).
inline std::size_t buffer_data_bytes(const SwitchConfig& config) {
  std::size_t bytes = kLeastBufferData;
  for (const auto& port : config.ports)
    bytes = std::max(bytes, port.mtu + wire::kEthernetBytes + wire::kVlanBytes);
  for (const auto& job : config.jobs)
    bytes = std::max(bytes, job_frame_bytes(job) + rdma_bytes(job));
  return bytes;
}

// The least that memory.megabytes must hold.
inline std::size_t least_dpdk_bytes(const SwitchConfig& config) {
  return kRuntimeBytes + least_buffers(config) * (buffer_data_bytes(config) + kBufferOverheadBytes);
}

// True if this switch finishes the job's escalated chunks.
inline bool completes_here(const JobConfig& job) {
  const auto& hosts = job.completion_hosts;
  return !job.parent &&
         (hosts.empty() || std::find(hosts.begin(), hosts.end(), kRootHost) != hosts.end());
}
// A piece of a chunk at the completion engine.
constexpr std::uint64_t piece_buffer_bytes(const JobConfig& job) {
  return (std::uint64_t{job.chunk_bytes} + 63) / 64 * 64;
}
// With less, no chunk could ever be finished; with the second figure, none is ever refused.
constexpr std::uint64_t least_completion_bytes(const JobConfig& job) {
  return job.workers * piece_buffer_bytes(job);
}
constexpr std::uint64_t most_completion_bytes(const JobConfig& job) {
  return least_completion_bytes(job) * job.window * job.shards;
}
// The least that completion.megabytes must hold.
inline std::uint64_t least_completion_bytes(const SwitchConfig& config) {
  std::uint64_t sum = 0;
  for (const auto& job : config.jobs)
    sum += completes_here(job) ? least_completion_bytes(job) * planes_in(config, job) : 0;
  return sum;
}
// For a job whose results another switch must accept: sent results are kept, too.
constexpr std::uint64_t least_served_bytes(const JobConfig& job) {
  return (std::uint64_t{job.workers} + 2 * std::uint64_t{job.window}) * job.shards *
         piece_buffer_bytes(job);
}
constexpr std::uint64_t most_served_bytes(const JobConfig& job) {
  return (std::uint64_t{job.workers} * job.window + 2 * std::uint64_t{job.window}) * job.shards *
         piece_buffer_bytes(job);
}
// The least that completion.hosted_megabytes must hold.
inline std::uint64_t least_hosted_bytes(const SwitchConfig& config) {
  std::uint64_t sum = 0;
  for (const auto& job : config.jobs) sum += job.hosting ? least_served_bytes(job) : 0;
  return sum;
}
// The budget of this switch, or of one of its packet loops.
inline std::uint64_t completion_budget(const SwitchConfig& config) {
  return config.share ? config.share->completion_bytes
                      : std::uint64_t{config.completion.megabytes} << 20;
}
inline std::uint64_t hosted_budget(const SwitchConfig& config) {
  return config.share ? config.share->hosted_bytes
                      : std::uint64_t{config.completion.hosted_megabytes} << 20;
}
// A job's need of memory that several jobs share, and the most that it could use.
struct Demand {
  std::uint64_t least = 0;
  std::uint64_t most = 0;
};
// The part of `budget` for `one`: its need, and of the rest a part in proportion to what it could
// use. `all` are the demands of all jobs, including `one`.
std::uint64_t share_of(std::uint64_t budget, std::span<const Demand> all, const Demand& one);
// A job's part of completion.megabytes; if it has several planes, of each plane.
std::uint64_t completion_share(const SwitchConfig& config, const JobConfig& job);
// The part of completion.hosted_megabytes of a job that this switch may host.
std::uint64_t hosted_share(const SwitchConfig& config, const JobConfig& job);
// A text for the operator: "job 1 ... KiB for contributions and results; needs ..., could use ...".
std::string describe_served(const JobConfig& job, std::uint64_t bytes);
// A line for each job that the switch may host; empty if there is none.
std::string describe_hosted(const SwitchConfig& config);

}  // namespace tributary::config
