// The interface through which a host's packets to an address leave, as the kernel routes them.
//
// It need not be the one that has the source address: a host that is reached by BGP has its address
// on the loopback interface, and its routes name it as their preferred source.
#pragma once

#include <cstdint>

namespace tributary::worker {

// The interface's index; 0: the kernel does not say. `ipv4` in host order.
int route_interface(std::uint32_t ipv4);

}  // namespace tributary::worker
