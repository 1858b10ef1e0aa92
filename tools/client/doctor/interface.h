// The network interface on a host's way to its switch, and what about it keeps a job from working.
//
// look_at_route() asks the kernel; judge() is pure, so that tests give it interfaces of every kind.
#pragma once

#include <cstdint>
#include <string>

#include "tools/client/doctor/finding.h"

namespace tributary::client {

struct RouteFacts {
  std::string interface;       // egress interface of the route; empty: there is no route
  int index = 0;               // of the interface
  std::uint32_t gateway = 0;   // host order; 0: the address is on the link
  std::string error;           // why there is none
  std::uint32_t own_ipv4 = 0;  // source address, host order
  bool up = false;
  bool running = false;    // has a carrier
  bool multicast = false;  // takes group addresses
  std::uint32_t mtu = 0;
  std::string driver;           // "veth", "virtio_net"; empty where the kernel does not tell
  bool tx_checksum_off = true;  // the kernel computes checksums itself
};

// Never throws; `destination` in host order.
RouteFacts look_at_route(std::uint32_t destination, std::uint16_t port);

// The route and the interface, but for its MTU.
Findings judge(const RouteFacts& route);
// `chunk_bytes`: payload of the job's chunks, or 0 where that is not known. `cut`: longer packets
// go in fragments.
Finding judge_mtu(const RouteFacts& route, std::uint32_t chunk_bytes, bool cut);

// Bytes that every packet leaves for extensions (protocol rule 17).
inline constexpr std::uint32_t kExtensionRoom = 64;
// Payload bytes of the largest chunk that crosses an interface in one packet (protocol rule 17).
std::uint32_t largest_chunk(std::uint32_t mtu);

}  // namespace tributary::client
