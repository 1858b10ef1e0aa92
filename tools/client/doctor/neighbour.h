// Whether the next host on the way to a switch answers ARP: the kernel's own word, after packets
// were sent there.
#pragma once

#include <cstdint>
#include <string>

#include "tools/client/doctor/finding.h"
#include "tools/client/doctor/interface.h"

namespace tributary::client {

enum class ArpAnswer : std::uint8_t { unknown, came, none };

// The next host is the route's gateway, or `destination` itself. Waits, for at most some seconds,
// while the kernel still asks a host that had answered before. Never throws.
ArpAnswer look_at_neighbour(const RouteFacts& route, std::uint32_t destination);

// For a switch that does not answer: the next host on the way to it, `address` as the user wrote
// it.
Finding judge_silence(const RouteFacts& route, ArpAnswer arp, const std::string& address);

}  // namespace tributary::client
