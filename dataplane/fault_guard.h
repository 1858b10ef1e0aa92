// Survives a peer that takes shared memory away while a driver touches it.
//
// A memif client owns the memory that both sides use. When it dies, the EAL interrupt thread
// unmaps that memory while the packet loop may be inside rx or tx burst; a hostile client can
// also truncate it. Either is a fault at an address that was valid an instant before: a failure
// of the peer, which must not take the switch along. guarded() runs a driver call and returns
// false if it faulted; the port is then treated as disconnected. Buffers that the interrupted
// call held are lost to the pool, which is why this is for that rare moment only.
//
// The guarded function must be plain C inside (no destructors are run) and hold no locks.
#pragma once

#include <csetjmp>

namespace tributary::dataplane {

// Installs the process's SIGSEGV and SIGBUS handlers; faults outside guarded() still kill.
void install_fault_handlers();

namespace detail {
struct FaultState {
  sigjmp_buf environment;
  volatile bool armed = false;
};
FaultState& fault_state();  // of this thread
}  // namespace detail

template <typename F>
bool guarded(F&& driver_call) {
  detail::FaultState& state = detail::fault_state();
  if (sigsetjmp(state.environment, 0) != 0) {
    state.armed = false;
    return false;
  }
  state.armed = true;
  driver_call();
  state.armed = false;
  return true;
}

}  // namespace tributary::dataplane
