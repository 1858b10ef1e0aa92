// A statistics counter with one writer and any number of readers, without a lock.
//
// Writer: the lcore (or progress thread) that owns the structure. Readers: control
// and metrics threads, which tolerate a value that is a few packets old; hence relaxed.
#pragma once

#include <atomic>
#include <cstdint>

namespace tributary {

class Counter {
 public:
  Counter() = default;
  // A reader's snapshot.
  Counter(const Counter& other) : value_(other.get()) {}
  Counter& operator=(const Counter& other) {
    set(other.get());
    return *this;
  }
  ~Counter() = default;

  void add(std::uint64_t n = 1) {
    value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  void set(std::uint64_t n) { value_.store(n, std::memory_order_relaxed); }
  void raise_to(std::uint64_t n) {
    if (n > get()) set(n);
  }
  [[nodiscard]] std::uint64_t get() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

}  // namespace tributary
