// What a port's device takes for itself alone: sockets that it serves, interfaces of the kernel.
// Two ports cannot have one.
//
//   net_memif         socket and id, of a server: one socket may serve several ids
//   net_vhost         the socket
//   net_af_xdp        each of the interface's queues that it takes
//   net_af_packet,    the interface: these drivers open it twice, and then each of the two ports
//   net_pcap,         hears what the other one sends, and sends it back; or, of a tap, half of what
//   net_tap           comes
//
// Strings only: a path that leads to another's through links is another one here.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/model/devargs.h"

namespace tributary::config {

struct DeviceClaim {
  std::string what;  // "socket '/run/memif.sock' with id 0"; the same for the same thing
  // The second device that wants it cannot be opened while there is the first.
  bool opens_once = true;
};
std::vector<DeviceClaim> device_claims(const Devargs& device);

// Of a device that another cannot be opened beside: what both want.
std::optional<std::string> contended(const Devargs& device, const Devargs& other);

// The socket file that the device makes as it opens, and removes when it is closed.
std::optional<std::string> served_socket(const Devargs& device);

}  // namespace tributary::config
