// Survives a memif client that connects and has gone before the driver answers it.
//
// DPDK 22.11's memif server watches a new client's socket, then sends HELLO. Where that fails it
// closes the socket, which the EAL's interrupt thread still watches, and which ends the process at
// its next look: "Error adding fd" (memif_listener_handler(), drivers/net/memif/memif_socket.c). A
// client that gives up because that thread is busy is enough. So a HELLO that nobody is there to
// hear counts as sent: the driver then reads the end of the connection, and lets go of it as of any
// other.
#pragma once

#include "core/counter.h"

namespace tributary::dataplane {

// Puts this program's sendmsg() in the place of the C library's, for drivers too; all but a memif
// server's HELLO goes through as it is. Before the EAL starts, any number of times.
void outlive_memif_clients();

// How many have gone before HELLO: the interrupt thread, which sends it, counts.
const Counter& memif_clients_gone();

}  // namespace tributary::dataplane
