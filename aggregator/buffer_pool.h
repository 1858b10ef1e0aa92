// Equal buffers cut from one piece of memory. The buffer returned last is taken first, because it
// is the likeliest to be in cache.
//
// take() never fails: who may take how many is reserved when the shard is built, and an assertion
// guards that arithmetic.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tributary::aggregator {

class BufferPool {
 public:
  // `memory` holds `count` buffers of `buffer_bytes`.
  BufferPool(std::span<std::byte> memory, std::size_t buffer_bytes, std::uint32_t count)
      : memory_(memory.data()), buffer_bytes_(buffer_bytes), free_(count) {
    assert(memory.size() >= buffer_bytes * count);
    for (std::uint32_t i = 0; i < count; ++i) free_[i] = count - 1 - i;
    free_count_ = count;
  }

  std::uint32_t take() {
    assert(free_count_ > 0);
    return free_[--free_count_];
  }
  void put(std::uint32_t buffer) {
    assert(free_count_ < free_.size());
    free_[free_count_++] = buffer;
  }
  [[nodiscard]] std::byte* at(std::uint32_t buffer) const {
    return memory_ + std::size_t{buffer} * buffer_bytes_;
  }
  [[nodiscard]] std::size_t buffer_bytes() const { return buffer_bytes_; }
  [[nodiscard]] std::uint32_t free() const { return free_count_; }
  [[nodiscard]] std::uint32_t count() const { return static_cast<std::uint32_t>(free_.size()); }

 private:
  std::byte* memory_;
  std::size_t buffer_bytes_;
  std::vector<std::uint32_t> free_;
  std::uint32_t free_count_ = 0;
};

}  // namespace tributary::aggregator
