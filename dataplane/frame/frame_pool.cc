#include "dataplane/frame/frame_pool.h"

#include <rte_errno.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <stdexcept>
#include <string>

#include "config/plan/memory_plan.h"
#include "core/invariant.h"
#include "dataplane/frame/devargs.h"
#include "dataplane/frame/held_frames.h"
#include "dataplane/host/prefault.h"

namespace tributary::dataplane {
namespace {

constexpr std::uint32_t kCache = 256;  // of each lcore

// A cache grows to half as much again before it gives any back.
static_assert(config::kSharedBuffers == 3 * kCache / 2 + HeldFrames::kMost);
static_assert(config::kTransmitQueueBuffers == kDescriptors);
static_assert(config::kLeastBufferData == RTE_MBUF_DEFAULT_DATAROOM);
static_assert(config::kBufferOverheadBytes ==
              sizeof(rte_mbuf) + 2 * RTE_CACHE_LINE_SIZE + RTE_PKTMBUF_HEADROOM);
static_assert(config::kAnySocket == SOCKET_ID_ANY);

// Names are unique in a process.
std::string name_on(int socket) {
  return socket == config::kAnySocket ? "frames" : "frames_" + config::socket_name(socket);
}

}  // namespace

std::uint16_t data_room(const config::SwitchConfig& config) {
  std::size_t data = config::buffer_data_bytes(config);
  for (const auto& port : config.ports) data = std::max(data, data_bytes_needed(port));
  return static_cast<std::uint16_t>(
      RTE_ALIGN_CEIL(data + RTE_PKTMBUF_HEADROOM, std::size_t{RTE_CACHE_LINE_SIZE}));
}

// mbuf, mempool object header, data, cache-line padding.
std::size_t buffer_bytes(std::uint16_t data_room) {
  return sizeof(rte_mbuf) + 2 * RTE_CACHE_LINE_SIZE + data_room;
}

PoolSize size_pool(const config::SwitchConfig& config) {
  const std::uint16_t room = data_room(config);
  const config::NumaPlan plan = config::numa_plan(config, {}, buffer_bytes(room));
  return {static_cast<std::uint32_t>(plan.pools[0].buffers), room};
}

bool prefault_pool(rte_mempool* pool) {
  bool all = true;
  rte_mempool_mem_iter(
      pool,
      [](rte_mempool*, void* result, rte_mempool_memhdr* memory, unsigned) {
        auto& all_so_far = *static_cast<bool*>(result);
        all_so_far = prefault({static_cast<std::byte*>(memory->addr), memory->len}) && all_so_far;
      },
      &all);
  return all;
}

FramePool::FramePool(const PoolSize& size, int socket)
    : size_(size),
      socket_(socket),
      pool_(rte_pktmbuf_pool_create(name_on(socket).c_str(), size.buffers, kCache, 0,
                                    size.data_room, socket)) {
  if (pool_ == nullptr)
    throw std::runtime_error("cannot allocate " + std::to_string(size.buffers) +
                             " packet buffers of " + std::to_string(size.data_room) +
                             " bytes on socket " + config::socket_name(socket) + ": " +
                             rte_strerror(rte_errno) + "; raise memory.megabytes");
  if (!prefault_pool(pool_)) {
    rte_mempool_free(pool_);
    throw std::runtime_error("the kernel has no memory for " + std::to_string(size.buffers) +
                             " packet buffers of " + std::to_string(size.data_room) +
                             " bytes; lower memory.megabytes, or give it more");
  }
  TRIBUTARY_INVARIANT(pool_->header_size + pool_->elt_size + pool_->trailer_size <=
                      buffer_bytes(size.data_room));
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
