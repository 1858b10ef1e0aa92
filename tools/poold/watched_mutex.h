// A mutex that a watchdog can tell is stuck: whose holder does not let go of it.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

namespace tributary::poold {

// For std::lock_guard and std::unique_lock. Any thread locks; one thread asks moves().
class WatchedMutex {
 public:
  void lock() {
    mutex_.lock();
    taken_.fetch_add(1, std::memory_order_relaxed);
  }
  bool try_lock() {
    if (!mutex_.try_lock()) return false;
    taken_.fetch_add(1, std::memory_order_relaxed);
    return true;
  }
  void unlock() { mutex_.unlock(); }

  // True if it was taken since the last call, or is free: threads that take it again and again,
  // as a fill does, leave no moment at which it is seen free.
  bool moves() {
    const std::uint64_t taken = taken_.load(std::memory_order_relaxed);
    if (taken != seen_) {
      seen_ = taken;
      return true;
    }
    if (!mutex_.try_lock()) return false;
    mutex_.unlock();
    return true;
  }

 private:
  std::mutex mutex_;
  std::atomic<std::uint64_t> taken_{0};  // from lock() to moves()
  std::uint64_t seen_ = 0;               // moves() alone
};

}  // namespace tributary::poold
