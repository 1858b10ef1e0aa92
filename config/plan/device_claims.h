// Objects that a port's device claims exclusively: sockets that it serves, kernel interfaces. Two
// ports cannot have the same one.
//
//   net_memif         a server's socket and id: one socket may serve several ids
//   net_vhost         the socket
//   net_af_xdp        each of the interface's queues that it takes
//   net_af_packet,    the interface: these drivers open it twice, and then each of the two ports
//   net_pcap,         receives what the other one sends, and sends it back; or, with a tap, half
//   net_tap           of the frames
//
// Compares strings only: paths that lead to one file through links count as different.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/model/devargs.h"

namespace tributary::config {

struct DeviceClaim {
  std::string what;  // "socket '/run/memif.sock' with id 0"; equal for equal objects
  // A second device with this claim cannot be opened while the first one is.
  bool opens_once = true;
};
std::vector<DeviceClaim> device_claims(const Devargs& device);

// The claim of both devices for which they cannot be open at the same time.
std::optional<std::string> contended(const Devargs& device, const Devargs& other);

// The socket file that the device makes as it opens, and removes when it is closed.
std::optional<std::string> served_socket(const Devargs& device);

}  // namespace tributary::config
