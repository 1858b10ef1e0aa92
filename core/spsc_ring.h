// Bounded single-producer single-consumer ring: mailboxes between a control thread and
// the loop that owns the state, and paths between two loops. Wait-free; full and empty are values.
//
// head_ is written by the consumer and read (acquire) by the producer; tail_ the reverse.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

namespace tributary {

template <typename T>
class SpscRing {
 public:
  // Holds up to `capacity` elements; capacity is a power of two.
  explicit SpscRing(std::size_t capacity) : slots_(capacity), mask_(capacity - 1) {
    if (capacity == 0 || (capacity & mask_) != 0)
      throw std::invalid_argument("SpscRing capacity must be a power of two");
  }

  // Producer only. False when full; `value` is then untouched.
  bool push(T&& value) {
    const std::size_t tail = tail_.load(std::memory_order_relaxed);
    if (tail - head_.load(std::memory_order_acquire) > mask_) return false;
    slots_[tail & mask_] = std::move(value);
    tail_.store(tail + 1, std::memory_order_release);
    return true;
  }

  // Consumer only. False when empty.
  bool pop(T& out) {
    const std::size_t head = head_.load(std::memory_order_relaxed);
    if (head == tail_.load(std::memory_order_acquire)) return false;
    out = std::move(slots_[head & mask_]);
    head_.store(head + 1, std::memory_order_release);
    return true;
  }

  // Producer only: pushes as many as there is room for, from the first on; returns their number.
  std::size_t push_burst(std::span<T> values) {
    const std::size_t tail = tail_.load(std::memory_order_relaxed);
    const std::size_t room = mask_ + 1 - (tail - head_.load(std::memory_order_acquire));
    const std::size_t count = std::min(room, values.size());
    for (std::size_t i = 0; i < count; ++i) slots_[(tail + i) & mask_] = std::move(values[i]);
    if (count != 0) tail_.store(tail + count, std::memory_order_release);
    return count;
  }

  // Consumer only: pops the oldest ones, as many as `out` holds; returns their number.
  std::size_t pop_burst(std::span<T> out) {
    const std::size_t head = head_.load(std::memory_order_relaxed);
    const std::size_t waiting = tail_.load(std::memory_order_acquire) - head;
    const std::size_t count = std::min(waiting, out.size());
    for (std::size_t i = 0; i < count; ++i) out[i] = std::move(slots_[(head + i) & mask_]);
    if (count != 0) head_.store(head + count, std::memory_order_release);
    return count;
  }

  // Either side; exact only for the caller's own end.
  [[nodiscard]] bool empty() const {
    return head_.load(std::memory_order_acquire) == tail_.load(std::memory_order_acquire);
  }
  // Producer only: the consumer can only make it smaller.
  [[nodiscard]] std::size_t size() const {
    return tail_.load(std::memory_order_relaxed) - head_.load(std::memory_order_acquire);
  }
  [[nodiscard]] std::size_t capacity() const { return mask_ + 1; }

 private:
  std::vector<T> slots_;
  std::size_t mask_;
  alignas(64) std::atomic<std::size_t> head_{0};
  alignas(64) std::atomic<std::size_t> tail_{0};
};

}  // namespace tributary
