// Turns away memif clients that make fewer rings than their port has queues.
//
// DPDK 22.11's memif server polls each queue that it was set up with, whatever the client made: a
// queue without a ring reads the memory of another one as its own (memif_get_ring_from_queue(),
// drivers/net/memif/rte_eth_memif.c). So such a client is refused before its connection is up, with
// words that it can show; a client that makes more rings than the port takes is refused by the
// driver itself.
#pragma once

#include <cstdint>
#include <string>

namespace tributary::dataplane {

// The clients of a memif server are to make so many rings each way, from now on. A later call for
// the same socket and id takes the place of this one. Control threads.
void want_memif_rings(const std::string& socket, std::uint32_t id, std::uint16_t queues);

// Puts this program's recvmsg() in the place of the C library's, for drivers too; all but a memif
// client's messages goes through as it is. Before the EAL starts, any number of times.
void count_memif_rings();

}  // namespace tributary::dataplane
