// The interface through which the kernel routes a host's packets to an address.
//
// It need not be the interface with the source address: a host that is reached by BGP has its
// address on the loopback interface, and its routes name it as their preferred source.
#pragma once

#include <cstdint>

namespace tributary::worker {

// The interface's index; 0 if the kernel does not tell. `ipv4` is in host order.
int route_interface(std::uint32_t ipv4);

}  // namespace tributary::worker
