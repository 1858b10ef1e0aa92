// Zeros in the place of memory that a peer took away; for the handler of faults (fault_guard.h).
//
// What a peer can take away is a file that it has, too, mapped by a driver: a memif client's
// regions, a virtual machine's memory, and the logs that come with it. Which these are no driver
// says before it touches them, and the kernel knows at any time: a mapping that is shared, and is
// neither DPDK's own memory nor a card's registers.
#pragma once

namespace tributary::dataplane {

// Opens what stand_in_for_peer() reads: once, by who installs the handlers; later there may be no
// descriptor left.
void open_mappings();

// The mapping of a peer's that this address is in becomes memory of zeros, all of it: of huge pages
// a part could not be replaced, and who has lost a part is put out anyway. To be called where the
// address has just faulted as one beyond the end of its file does, on the thread that did, whose
// driver does not unmap it meanwhile. Any thread, from a signal handler. False: it is nobody's who
// may fail.
bool stand_in_for_peer(void* address);

}  // namespace tributary::dataplane
