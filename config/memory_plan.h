// How much memory a configuration asks for, worked out once: the loader refuses what cannot fit,
// and the switch sizes its pools from the same figures.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "config/switch_config.h"

namespace tributary::config {

// Fewest packet buffers that a port can work with: both descriptor rings, a burst in hand, a
// cache's worth of slack.
inline constexpr std::size_t kMinBuffersPerPort = 1024;
// rte_mbuf, pool element header, headroom.
inline constexpr std::size_t kBufferOverheadBytes = 128 + 64 + 128;
// What DPDK itself takes besides pools.
inline constexpr std::size_t kRuntimeBytes = 16u << 20;

constexpr std::size_t largest_frame_bytes(const SwitchConfig& config) {
  std::size_t mtu = 0;
  for (const auto& port : config.ports) mtu = std::max<std::size_t>(mtu, port.mtu);
  return mtu + wire::kEthernetBytes + wire::kVlanBytes;
}

constexpr std::size_t packet_buffer_bytes(const SwitchConfig& config) {
  return config.ports.size() * kMinBuffersPerPort *
         (largest_frame_bytes(config) + kBufferOverheadBytes);
}

// Payloads that a job can pin: the fastest rank is at most a window ahead of the results that the
// slowest one holds, which is another window behind (protocol rules 2 and 4).
constexpr std::size_t job_payload_bytes(const JobConfig& job) {
  return std::size_t{2} * job.window * job.shards * job.chunk_bytes;
}

constexpr std::size_t required_bytes(const SwitchConfig& config) {
  std::size_t sum = kRuntimeBytes + packet_buffer_bytes(config);
  for (const auto& job : config.jobs) sum += job_payload_bytes(job);
  return sum;
}

}  // namespace tributary::config
