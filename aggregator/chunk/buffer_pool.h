// Equal buffers cut from one piece of memory. The buffer returned last is taken first, because it
// is the likeliest to be in cache.
//
// take() never fails: who may take how many is reserved when the shard is built, and an assertion
// guards that arithmetic. A buffer that a message still refers to is put back later: settle(), at
// the beginning of the next call, returns those.
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
      : memory_(memory.data()),
        buffer_bytes_(buffer_bytes),
        free_(count),
        free_count_(count),
        later_(count) {
    assert(memory.size() >= buffer_bytes * count);
    for (std::uint32_t i = 0; i < count; ++i) free_[i] = count - 1 - i;
  }

  std::uint32_t take() {
    assert(free_count_ > 0);
    return free_[--free_count_];
  }
  void put(std::uint32_t buffer) {
    assert(free_count_ < later_);
    free_[free_count_++] = buffer;
  }
  void put_later(std::uint32_t buffer) {
    assert(free_count_ < later_);
    free_[--later_] = buffer;
  }
  void settle() {
    while (later_ < free_.size()) {
      const std::uint32_t buffer = free_[later_++];
      put(buffer);
    }
  }
  // What take() will give after `others` of them, if nothing is put back: a guess, to prefetch.
  [[nodiscard]] std::uint32_t upcoming(std::uint32_t others) const {
    return free_[free_count_ > others ? free_count_ - 1 - others : 0];
  }
  [[nodiscard]] std::byte* at(std::uint32_t buffer) const {
    return memory_ + std::size_t{buffer} * buffer_bytes_;
  }
  [[nodiscard]] std::size_t buffer_bytes() const { return buffer_bytes_; }
  [[nodiscard]] std::uint32_t free() const { return free_count_; }
  [[nodiscard]] std::uint32_t count() const { return static_cast<std::uint32_t>(free_.size()); }
  [[nodiscard]] std::size_t table_bytes() const { return free_.size() * sizeof(std::uint32_t); }

 private:
  std::byte* memory_;
  std::size_t buffer_bytes_;
  // Free ones from the front, those to put back later from the back: together never more than all.
  std::vector<std::uint32_t> free_;
  std::uint32_t free_count_;
  std::uint32_t later_;
};

}  // namespace tributary::aggregator
