#include "dataplane/frame/own_pool.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace tributary::dataplane {
namespace {

struct Retired {
  std::mutex guard;  // of:
  std::vector<std::unique_ptr<OwnPool>> pools;
};
Retired& retired() {
  static Retired all;
  return all;
}

}  // namespace

OwnPool::OwnPool(const PoolSize& size, int socket) : pool_(size, socket), kept_(size.buffers) {}

std::uint32_t OwnPool::count_in_use() const {
  return pool_.buffers() - std::min(pool_.free_buffers(), pool_.buffers());
}

void OwnPool::note_kept() {
  kept_ = count_in_use();
  noted_ = true;
}

bool OwnPool::look_whether_back() {
  return count_in_use() <= kept_ ? std::exchange(was_back_, true) : (was_back_ = false);
}

void OwnPool::retire(std::unique_ptr<OwnPool> pool) {
  if (pool == nullptr) return;
  {
    const std::lock_guard lock(retired().guard);
    retired().pools.push_back(std::move(pool));
  }
  for (int look = 0; look < 20 && sweep() > 0; ++look)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

std::size_t OwnPool::sweep() {
  const std::lock_guard lock(retired().guard);
  auto& pools = retired().pools;
  std::erase_if(pools, [](const auto& pool) { return pool->look_whether_back(); });
  return pools.size();
}

}  // namespace tributary::dataplane
