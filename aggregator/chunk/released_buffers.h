// Buffers without an owner that a message may still refer to; their pools get them back later.
//
//   heard    what stays in this switch: RESULT is copied before the next packet is decided
//   unsent   what goes to the switch above: it is on its way when the next packet comes
//
// Settling is cheap if no buffer waits: two comparisons. Only grow() allocates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "aggregator/chunk/buffer_pool.h"

namespace tributary::aggregator {

class ReleasedBuffers {
 public:
  struct Unsent {
    BufferPool* pool;
    std::uint32_t buffer;
  };
  static_assert(sizeof(Unsent) == config::kUnsentBytes);

  // `pools`: all pools of heard buffers, each once. `unsent`: the most buffers that wait at once.
  void watch(std::vector<BufferPool*> pools) { pools_ = std::move(pools); }
  void grow(std::size_t unsent) { unsent_.reserve(unsent_.capacity() + unsent); }

  // Returns false, and changes nothing, if, by a defect, the buffer is not taken.
  [[nodiscard]] bool add_heard(BufferPool& pool, std::uint32_t buffer) {
    heard_ = true;
    return pool.put_later(buffer);
  }
  [[nodiscard]] bool add_unsent(BufferPool& pool, std::uint32_t buffer) {
    if (!pool.release(buffer)) return false;
    unsent_.push_back({&pool, buffer});
    return true;
  }

  void settle_heard() {
    if (heard_) settle_pools();
  }
  void settle() {
    settle_heard();
    if (!unsent_.empty()) settle_unsent();
  }

  // Swaps vectors with `other`. No buffer may wait in either.
  void exchange(ReleasedBuffers& other) {
    std::swap(pools_, other.pools_);
    std::swap(unsent_, other.unsent_);
  }
  [[nodiscard]] std::size_t table_bytes() const {
    return pools_.capacity() * sizeof(void*) + unsent_.capacity() * sizeof(Unsent);
  }

 private:
  void settle_pools() {
    for (BufferPool* const pool : pools_) pool->settle();
    heard_ = false;
  }
  void settle_unsent() {
    for (const Unsent& sent : unsent_) sent.pool->put_released(sent.buffer);
    unsent_.clear();
  }

  std::vector<BufferPool*> pools_;
  bool heard_ = false;  // some pool has buffers to take back
  std::vector<Unsent> unsent_;
};

}  // namespace tributary::aggregator
