// Lets bursts end before what they use of a memif connection is gone.
//
// DPDK 22.11's memif driver closes a client's eventfds and unmaps its memory as soon as its socket
// ends, on the EAL's interrupt thread, wherever packet loops are (memif_disconnect(), drivers/net/
// memif/memif_socket.c). A burst that is cut off by that loses the packet buffers that it has, and
// one that wakes the client writes to a descriptor that may be another's by then. The driver marks
// the port as not connected first, and bursts that begin later use nothing: those that had begun
// are to be waited for. (One that is off its CPU from its first instruction until another client
// has come may still meet what is no more: the guard is for that.)
#pragma once

namespace tributary::dataplane {

// Puts this program's munmap() and close() in the place of the C library's, for drivers too: in
// them, the interrupt thread waits for guarded() calls (fault_guard.h); all else goes through as it
// is. Any number of times; what calls it anywhere has them from its start on.
void disconnect_after_bursts();

}  // namespace tributary::dataplane
