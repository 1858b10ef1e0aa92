// Survives a peer that takes shared memory away while a driver touches it.
//
// A memif client owns the memory that both sides use, and so does a virtual machine. When the
// client dies, the EAL interrupt thread unmaps that memory while the packet loop may be inside rx
// or tx burst; a hostile peer can also truncate it. Either is a fault at an address that was valid
// an instant before: a failure of the peer, which must not take the switch along.
//
//   truncated   zeros take the place of what is gone, and who touched it goes on: on any thread, as
//               drivers look at what a peer has to offer on threads of their own. A driver call
//               gives back whatever it had taken, so a peer that does this again and again costs no
//               buffers. The mapping is the driver's, who ends it with the rest
//   unmapped    the address may be anybody's next: a guarded() call is left where it was, and the
//               buffers that it held are lost to the pool. Only a memif client that goes in that
//               very moment causes it, once in its connection
//
// guarded() and watched() run a driver call and say what became of it; after a fault, the port is
// to be treated as disconnected (Port::lose_peer()). A guarded() call has to be plain C inside (no
// destructors are run) and hold no locks. vhost-user's bursts do: they are watched(), and nothing
// is unmapped before they end.
#pragma once

#include <csetjmp>
#include <cstdint>

namespace tributary::dataplane {

// Installs the process's SIGSEGV and SIGBUS handlers. What is not a peer's memory, nor touched by a
// guarded() call, still kills.
void install_fault_handlers();

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
  if (sigsetjmp(state.environment, 0) != 0) {
    state.armed = false;
    return Guarded::cut_short;
  }
  state.armed = true;
  const Guarded outcome = watched(driver_call);
  state.armed = false;
  return outcome;
}

}  // namespace tributary::dataplane
