// Holds items until their release time: a bounded binary heap ordered by (release, arrival).
//
// Items with equal release leave in the order in which they came, so that without reordering a
// delay keeps the order. All memory is reserved at construction. Used by one thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/time.h"

namespace tributary::impair {

template <typename T>
class DelayLine {
 public:
  explicit DelayLine(std::size_t capacity) : capacity_(capacity) { heap_.reserve(capacity); }

  // False when full; the item stays the caller's.
  bool push(T item, Instant release) {
    if (heap_.size() == capacity_) return false;
    heap_.push_back({release, next_arrival_++, item});
    std::push_heap(heap_.begin(), heap_.end(), later);
    return true;
  }

  // Takes the item whose time has come first; false when none is due.
  bool pop(Instant now, T& out) {
    if (heap_.empty() || heap_.front().release > now) return false;
    std::pop_heap(heap_.begin(), heap_.end(), later);
    out = heap_.back().item;
    heap_.pop_back();
    return true;
  }

  // Instant::max() when empty.
  [[nodiscard]] Instant next_release() const {
    return heap_.empty() ? Instant::max() : heap_.front().release;
  }
  [[nodiscard]] std::size_t size() const { return heap_.size(); }
  [[nodiscard]] bool full() const { return heap_.size() == capacity_; }

 private:
  struct Entry {
    Instant release;
    std::uint64_t arrival;
    T item;
  };
  static bool later(const Entry& a, const Entry& b) {
    return a.release != b.release ? a.release > b.release : a.arrival > b.arrival;
  }

  std::size_t capacity_;
  std::uint64_t next_arrival_ = 0;
  std::vector<Entry> heap_;
};

}  // namespace tributary::impair
