// Closes the sockets on which memif servers listened, when their last port is closed.
//
// DPDK 22.11's memif driver removes the file of such a socket, frees what its handler uses, and
// leaves the descriptor open and watched by the EAL's interrupt thread
// (memif_socket_remove_device(), drivers/net/memif/memif_socket.c): a descriptor is lost with each
// port that goes, and a client of an abstract socket that still connects meets memory that is no
// more.
#pragma once

#include <string>

namespace tributary::dataplane {

// The path that a Unix socket is bound to, or its listener, without the zero of an abstract one;
// empty: none.
std::string unix_path_of(int socket);

// A port serves that path from now on, or no longer. Control threads; the second one on the
// interrupt thread, after the driver has closed the port.
void hold_memif_listener(const std::string& path);
void release_memif_listener(const std::string& path);

// Puts this program's rte_intr_callback_register() in the place of DPDK's, for drivers too: it
// remembers which listening sockets are watched. Before the EAL starts, any number of times.
void remember_memif_listeners();

}  // namespace tributary::dataplane
