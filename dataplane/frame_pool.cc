#include "dataplane/frame_pool.h"

#include <rte_errno.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <stdexcept>
#include <string>

#include "config/memory_plan.h"
#include "dataplane/devargs.h"

namespace tributary::dataplane {
namespace {

constexpr std::uint32_t kCache = 256;  // of each lcore
// More only spread over more of the CPU's cache.
constexpr std::uint32_t kWantedPerQueue = 2048;

static_assert(config::kSharedBuffers == 2 * kCache);
static_assert(config::kLeastBufferData == RTE_MBUF_DEFAULT_DATAROOM);
static_assert(config::kBufferOverheadBytes ==
              sizeof(rte_mbuf) + 2 * RTE_CACHE_LINE_SIZE + RTE_PKTMBUF_HEADROOM);

// Bytes of one buffer: mbuf, mempool object header, data, cache-line padding.
std::size_t bytes_per_buffer(std::uint16_t data_room) {
  return sizeof(rte_mbuf) + 2 * RTE_CACHE_LINE_SIZE + data_room;
}

}  // namespace

PoolSize size_pool(const config::SwitchConfig& config) {
  std::size_t data = config::buffer_data_bytes(config);
  for (const auto& port : config.ports) data = std::max(data, data_bytes_needed(port));
  const auto room = static_cast<std::uint16_t>(
      RTE_ALIGN_CEIL(data + RTE_PKTMBUF_HEADROOM, std::size_t{RTE_CACHE_LINE_SIZE}));

  const auto queues = static_cast<std::uint32_t>(config::planned_queues(config));
  const auto least = static_cast<std::uint32_t>(config::least_buffers(config));
  const auto wanted = static_cast<std::uint32_t>(
      queues * (kWantedPerQueue + config.fragments.datagrams) + config::lcore_buffers(config));
  const std::uint64_t memory = std::uint64_t{config.memory.megabytes} << 20;
  const std::uint64_t budget = memory > config::kRuntimeBytes ? memory - config::kRuntimeBytes : 0;
  const auto fits =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(budget / bytes_per_buffer(room), wanted));
  if (fits < least) {
    const std::uint64_t megabytes =
        ((least * bytes_per_buffer(room) + config::kRuntimeBytes) >> 20) + 1;
    throw std::runtime_error("memory.megabytes: " + std::to_string(config.ports.size()) +
                             " ports need " + std::to_string(least) + " buffers of " +
                             std::to_string(room) + " bytes; write at least " +
                             std::to_string(megabytes));
  }
  return {fits, room};
}

FramePool::FramePool(const PoolSize& size)
    : size_(size),
      pool_(rte_pktmbuf_pool_create("frames", size.buffers, kCache, 0, size.data_room,
                                    SOCKET_ID_ANY)) {
  if (pool_ == nullptr)
    throw std::runtime_error("cannot allocate " + std::to_string(size.buffers) +
                             " packet buffers of " + std::to_string(size.data_room) +
                             " bytes: " + rte_strerror(rte_errno) + "; raise memory.megabytes");
}

FramePool::~FramePool() {
  rte_mempool_free(pool_);
}

std::uint32_t FramePool::free_buffers() const {
  return rte_mempool_avail_count(pool_);
}

std::size_t FramePool::data_bytes() const {
  return size_.data_room - std::size_t{RTE_PKTMBUF_HEADROOM};
}

}  // namespace tributary::dataplane
