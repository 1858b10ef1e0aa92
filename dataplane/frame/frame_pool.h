// A pool of packet buffers, sized once from the configuration.
//
// Every buffer holds the largest frame of any port, so that frames are linear. A switch has one
// pool, or one on each socket (frame_pools.h); any lcore may free a buffer of any.
#pragma once

#include <cstddef>
#include <cstdint>

#include "config/model/switch_config.h"
#include "config/plan/numa_plan.h"

struct rte_mempool;

namespace tributary::dataplane {

inline constexpr std::uint16_t kBurst = 32;
inline constexpr std::uint16_t kDescriptors = 256;  // per hardware queue
// Frames of a class of traffic that wait for a slow egress port before more are dropped.
inline constexpr std::size_t kTransmitBacklog = 128;
// So many of them: frames that join them are marked (ECN).
inline constexpr std::size_t kMarkBacklog = kTransmitBacklog / 4;

struct PoolSize {
  std::uint32_t buffers = 0;
  std::uint16_t data_room = 0;  // headroom included
  // No padding after a buffer, which DPDK adds to spread buffers over memory channels.
  bool unpadded = false;
};
// Size of a switch's only pool. Throws std::runtime_error when memory.megabytes cannot hold what
// the ports need.
PoolSize size_pool(const config::SwitchConfig& config);
// Bytes of each buffer, headroom included; and all that the pool takes for one.
std::uint16_t data_room(const config::SwitchConfig& config);
std::size_t buffer_bytes(std::uint16_t data_room);
// Buffers of config::kOwnBufferBytes each, all told.
PoolSize size_own_pool(std::size_t buffers);

// Has the kernel give all memory of a pool now (prefault.h).
[[nodiscard]] bool prefault_pool(rte_mempool* pool);

class FramePool {
 public:
  // In the memory of `socket`; config::kAnySocket: wherever there is some. Throws
  // std::runtime_error when there is not enough.
  explicit FramePool(const PoolSize& size, int socket = config::kAnySocket);
  ~FramePool();
  FramePool(const FramePool&) = delete;
  FramePool& operator=(const FramePool&) = delete;

  [[nodiscard]] rte_mempool* get() const { return pool_; }
  [[nodiscard]] int socket() const { return socket_; }
  [[nodiscard]] std::uint32_t buffers() const { return size_.buffers; }
  [[nodiscard]] std::uint32_t free_buffers() const;  // any thread; approximate
  // Bytes of each buffer, headroom excluded.
  [[nodiscard]] std::size_t data_bytes() const;

 private:
  PoolSize size_;
  int socket_;
  rte_mempool* pool_;
};

}  // namespace tributary::dataplane
