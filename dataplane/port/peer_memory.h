// Zeros in the place of memory that a peer took away; for the handler of faults (fault_guard.h).
//
// A peer can take away a file that it shares with a driver's mapping: a memif client's regions, a
// virtual machine's memory, and the logs that come with it. No driver names these mappings before
// it touches them, but the kernel knows them at any time: a mapping that is shared, and is neither
// DPDK's own memory nor a card's registers.
#pragma once

namespace tributary::dataplane {

// Opens the file that stand_in_for_peer() reads. To be called once, before the handlers are
// installed; later there may be no descriptor left.
void open_mappings();

// Replaces the whole mapping of the peer that owns this address by zeros: a part of huge pages
// could not be replaced, and a peer that lost a part is disconnected anyway. To be called when the
// address has just faulted as beyond the end of its file, on the thread that faulted, whose driver
// does not unmap it meanwhile. Any thread, from a signal handler. Returns false if no revocable
// peer owns the address.
bool stand_in_for_peer(void* address);

}  // namespace tributary::dataplane
