// A flag that is set once and can be waited for: the futex behind Request::wait().
//
// set() enters the kernel only if a thread waits. A waiter that a signal interrupts returns, so
// that an interpreter can run its handlers.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/time.h"

namespace tributary::worker {

class CompletionFlag {
 public:
  [[nodiscard]] bool is_set() const { return state_.load(std::memory_order_acquire) == kSet; }
  // Call it once. A thread that sees the flag set also sees everything that happened before.
  void set();
  // Returns true when set; false after `limit`, or earlier if a signal handler ran.
  bool wait_for(Duration limit);

 private:
  static constexpr std::uint32_t kClear = 0;
  static constexpr std::uint32_t kAwaited = 1;
  static constexpr std::uint32_t kSet = 2;
  std::atomic<std::uint32_t> state_{kClear};
};

}  // namespace tributary::worker
