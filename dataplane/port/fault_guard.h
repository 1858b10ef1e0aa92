// Survives a peer that takes shared memory away while a driver touches it.
//
// A memif client owns the memory that both sides use, and so does a virtual machine. A client dies,
// a hostile peer truncates its memory, or names a place that is none of it: a failure of the peer,
// which must not take the switch along.
//
//   gone        a driver unmaps the memory when no call is inside any more: await_guarded_calls(),
//               for memif's, which knows nothing of it (memif_disconnect.h); vhost-user's has locks
//   truncated   zeros replace the missing memory, and the thread that touched it goes on: on any
//               thread, as drivers read what a peer offers on threads of their own. A driver call
//               gives back all buffers it had taken, so a peer that does this again and again costs
//               no buffers. The mapping is the driver's, which unmaps it with the rest
//   not there   where nothing is mapped, nothing can be put: a guarded() call is left where it was,
//               and the buffers that it held are lost to the pool. A memif client's wrong
//               descriptors cause it
//
// guarded() and watched() run a driver call and say what became of it; after a fault, the port is
// to be treated as disconnected (Port::lose_peer()). A guarded() call has to be plain C inside (no
// destructors are run) and hold no locks. vhost-user's bursts do: they are watched().
#pragma once

#include <rte_atomic.h>

#include <atomic>
#include <csetjmp>
#include <cstdint>

#include "core/invariant.h"

namespace tributary::dataplane {

// Installs the process's SIGSEGV and SIGBUS handlers. A fault outside a peer's memory, or outside a
// guarded() call, still kills the process.
void install_fault_handlers();

// Waits for the guarded() calls of all threads that have begun by now; not for those that begin
// meanwhile. The caller must have made sure that the latter find nothing to touch. Returns false if
// a call still runs after `looks` looks; that call is not waited for again. The limit counts looks,
// some 100 us apart, and no time, as all threads may have been stopped meanwhile. Any thread, but
// not inside such a call.
bool await_guarded_calls(std::uint32_t looks = 100'000);

// Outcome of a driver call.
enum class Guarded : std::uint8_t {
  intact,
  stood_in,   // it ended; some of what it read was not the peer's, but zeros
  cut_short,  // it did not end
};

namespace detail {
class FaultState {
 public:
  sigjmp_buf environment{};
  volatile bool stood_in = false;
  // In the list of all threads, and under its lock.
  FaultState* next = nullptr;
  std::uint32_t given_up = 0;  // the call that is not waited for

  // Either await_guarded_calls() sees it begun, or the call sees all that was written before that.
  void begin() {
    calls_.store(calls() + 1, std::memory_order_relaxed);
    rte_smp_mb();
  }
  void end() { calls_.store(calls() + 1, std::memory_order_release); }
  // Begun and ended, together: odd inside of one.
  [[nodiscard]] std::uint32_t calls() const { return calls_.load(std::memory_order_acquire); }
  [[nodiscard]] bool inside() const { return calls() % 2 != 0; }

 private:
  std::atomic<std::uint32_t> calls_{0};
};
FaultState& fault_state();  // of this thread
}  // namespace detail

// Never cut short.
template <typename F>
Guarded watched(F&& driver_call) {
  detail::FaultState& state = detail::fault_state();
  state.stood_in = false;
  driver_call();
  return state.stood_in ? Guarded::stood_in : Guarded::intact;
}

template <typename F>
Guarded guarded(F&& driver_call) {
  detail::FaultState& state = detail::fault_state();
  TRIBUTARY_INVARIANT(!state.inside());
  if (sigsetjmp(state.environment, 0) != 0) {
    state.end();
    return Guarded::cut_short;
  }
  state.begin();
  const Guarded outcome = watched(driver_call);
  state.end();
  return outcome;
}

}  // namespace tributary::dataplane
