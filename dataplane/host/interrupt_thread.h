// DPDK's memif driver does its handshakes on the interrupt thread of the EAL, and takes no lock
// there: another thread that stops a port at that moment frees what a handler still uses, and the
// process crashes. So ports are stopped where the handlers run.
#pragma once

#include <rte_alarm.h>

#include <atomic>
#include <semaphore>

namespace tributary::dataplane {

// Does `action`, which must not throw, on the EAL's interrupt thread, between its handlers, and
// waits for it. Any thread but that one; needs a running EAL.
template <typename Action>
void on_interrupt_thread(Action action) {
  struct Call {
    Action& action;
    std::binary_semaphore done{0};
    std::atomic<bool> made{false};  // orders what EAL's locks do, where a sanitizer sees it
  } call{action};
  call.made.store(true, std::memory_order_release);
  const auto run = [](void* argument) {
    auto* const asked = static_cast<Call*>(argument);
    if (asked->made.load(std::memory_order_acquire)) asked->action();
    asked->done.release();
  };
  if (rte_eal_alarm_set(1, run, &call) == 0)
    call.done.acquire();
  else
    action();  // without timers: as well as it can be done
}

}  // namespace tributary::dataplane
