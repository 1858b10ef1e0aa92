// Survives a peer that takes shared memory away while a driver touches it.
//
// A memif client owns the memory that both sides use. When it dies, the EAL interrupt thread
// unmaps that memory while the packet loop may be inside rx or tx burst; a hostile client can
// also truncate it. Either is a fault at an address that was valid an instant before: a failure
// of the peer, which must not take the switch along. guarded() runs a driver call and says what
// became of it; after a fault, the port is to be treated as disconnected (Port::lose_peer()).
//
//   truncated   a page of zeros takes the place of each that is gone, and the call goes on to its
//               end: whatever it had taken it gives back, so a client that does this again and
//               again costs no buffers. The mapping is the driver's, who ends it with the rest
//   unmapped    the address may be anybody's next: the call is left where it was, and the buffers
//               that it held are lost to the pool. Only a client that goes in that very moment
//               causes it, once in its connection
//
// The guarded function must be plain C inside (no destructors are run) and hold no locks.
#pragma once

#include <csetjmp>
#include <cstdint>

namespace tributary::dataplane {

// Installs the process's SIGSEGV and SIGBUS handlers; faults outside guarded() still kill.
void install_fault_handlers();
// Of the calling thread: memory that was truncated is replaced whatever it does. For the one where
// drivers look at what a client has to offer before any burst does.
void survive_truncation();

// What became of a driver call.
enum class Guarded : std::uint8_t {
  intact,
  stood_in,   // it ended; some of what it read was not the peer's, but zeros
  cut_short,  // it did not end
};

namespace detail {
struct FaultState {
  sigjmp_buf environment;
  volatile bool armed = false;
  volatile bool stood_in = false;
  volatile bool survives_truncation = false;
};
FaultState& fault_state();  // of this thread
}  // namespace detail

template <typename F>
Guarded guarded(F&& driver_call) {
  detail::FaultState& state = detail::fault_state();
  if (sigsetjmp(state.environment, 0) != 0) {
    state.armed = false;
    return Guarded::cut_short;
  }
  state.stood_in = false;
  state.armed = true;
  driver_call();
  state.armed = false;
  return state.stood_in ? Guarded::stood_in : Guarded::intact;
}

}  // namespace tributary::dataplane
