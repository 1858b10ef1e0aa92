// Equal buffers cut from one piece of memory. The buffer returned last is taken first, because it
// is most likely still in cache.
//
// Each user's share is reserved when the shard is built, and a buffer has one owner. take() and
// put() refuse what would break that, so a defect ends only the epoch that it occurs in. A buffer
// that a message still refers to is put back later: settle(), at the beginning of the next call,
// returns those buffers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "aggregator/chunk/chunk_entry.h"
#include "config/plan/engine_tables.h"
#include "core/invariant.h"

namespace tributary::aggregator {

class BufferPool {
 public:
  // `memory` holds `count` buffers of `buffer_bytes`.
  BufferPool(std::span<std::byte> memory, std::size_t buffer_bytes, std::uint32_t count)
      : memory_(memory.data()),
        buffer_bytes_(buffer_bytes),
        free_(count),
        taken_(count),
        free_count_(count),
        later_(count) {
    TRIBUTARY_INVARIANT(memory.size() >= buffer_bytes * count);
    for (std::uint32_t i = 0; i < count; ++i) free_[i] = count - 1 - i;
  }

  // Returns kNone if, by a defect, all buffers are taken.
  std::uint32_t take() {
    if (!TRIBUTARY_INVARIANT_HOLDS(free_count_ > 0)) return kNone;
    const std::uint32_t buffer = free_[--free_count_];
    taken_[buffer] = true;
    return buffer;
  }
  // Returns false, and changes nothing, if, by a defect, the buffer is not taken.
  [[nodiscard]] bool put(std::uint32_t buffer) {
    if (!release(buffer)) return false;
    put_released(buffer);
    return true;
  }
  [[nodiscard]] bool put_later(std::uint32_t buffer) {
    if (!release(buffer)) return false;
    free_[--later_] = buffer;
    return true;
  }
  // The buffer has no owner from now on; the caller passes it to put_released() later.
  [[nodiscard]] bool release(std::uint32_t buffer) {
    if (!TRIBUTARY_INVARIANT_HOLDS(buffer < taken_.size() && taken_[buffer])) return false;
    taken_[buffer] = false;
    return true;
  }
  void put_released(std::uint32_t buffer) { free_[free_count_++] = buffer; }
  void settle() {
    while (later_ < free_.size()) {
      const std::uint32_t buffer = free_[later_++];
      put_released(buffer);
    }
  }
  // The buffer that take() returns after `others` more calls, if none is put back: a prefetch hint.
  [[nodiscard]] std::uint32_t upcoming(std::uint32_t others) const {
    return free_[free_count_ > others ? free_count_ - 1 - others : 0];
  }
  [[nodiscard]] std::byte* at(std::uint32_t buffer) const {
    return memory_ + std::size_t{buffer} * buffer_bytes_;
  }
  [[nodiscard]] std::size_t buffer_bytes() const { return buffer_bytes_; }
  [[nodiscard]] std::uint32_t free() const { return free_count_; }
  [[nodiscard]] std::uint32_t count() const { return static_cast<std::uint32_t>(free_.size()); }
  [[nodiscard]] std::size_t table_bytes() const { return free_.size() * config::kBufferBytes; }

 private:
  std::byte* memory_;
  std::size_t buffer_bytes_;
  // Free buffers from the front, those to put back later from the back: together at most all.
  std::vector<std::uint32_t> free_;
  std::vector<std::uint8_t> taken_;  // by buffer
  static_assert(sizeof(std::uint32_t) + sizeof(std::uint8_t) == config::kBufferBytes);
  std::uint32_t free_count_;
  std::uint32_t later_;
};

}  // namespace tributary::aggregator
