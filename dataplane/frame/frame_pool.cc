#include "dataplane/frame/frame_pool.h"

#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_mbuf_pool_ops.h>

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <string>

#include "config/plan/memory_plan.h"
#include "config/plan/own_buffers.h"
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

// Headroom included; behind the element header and rte_mbuf.
constexpr std::size_t kOwnRoom = config::kOwnBufferBytes - RTE_CACHE_LINE_SIZE - sizeof(rte_mbuf);

// DPDK wants names that are unique in a process.
std::string next_name() {
  static std::atomic<std::uint32_t> made{0};
  return "frames_" + std::to_string(made.fetch_add(1));
}

// As rte_pktmbuf_pool_create(), which takes no flags. nullptr and rte_errno when it fails.
rte_mempool* create(const PoolSize& size, int socket) {
  const std::size_t bytes = sizeof(rte_mbuf) + size.data_room;
  rte_mempool* const pool = rte_mempool_create_empty(
      next_name().c_str(), size.buffers, static_cast<unsigned>(bytes), kCache,
      sizeof(rte_pktmbuf_pool_private), socket, size.unpadded ? RTE_MEMPOOL_F_NO_SPREAD : 0);
  if (pool == nullptr) return nullptr;
  rte_pktmbuf_pool_private room{};
  room.mbuf_data_room_size = size.data_room;
  int error = rte_mempool_set_ops_byname(pool, rte_mbuf_best_mempool_ops(), nullptr);
  if (error == 0) {
    rte_pktmbuf_pool_init(pool, &room);
    error = std::min(rte_mempool_populate_default(pool), 0);
  }
  if (error != 0) {
    rte_mempool_free(pool);
    rte_errno = -error;
    return nullptr;
  }
  rte_mempool_obj_iter(pool, rte_pktmbuf_init, nullptr);
  return pool;
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

PoolSize size_own_pool(std::size_t buffers) {
  return {static_cast<std::uint32_t>(buffers), kOwnRoom, true};
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
    : size_(size), socket_(socket), pool_(create(size, socket)) {
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
