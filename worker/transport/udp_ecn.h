// Explicit congestion notification (RFC 3168) on kernel sockets: queues on the way may mark what
// they send, and received datagrams tell whether they are marked (protocol rule 15).
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/wire/ecn.h"

namespace tributary::worker {

// Room for the kernel's data beside a datagram: the second byte of its IP header, and the size of
// merged datagrams (worker/transport/udp_segments.h).
struct alignas(cmsghdr) EcnRoom {
  std::array<std::byte, 2 * CMSG_SPACE(sizeof(int))> bytes{};

  // Call it before each receive: the kernel shortens the length to what it has written.
  void attach(msghdr& message) {
    message.msg_control = bytes.data();
    message.msg_controllen = bytes.size();
  }
};

// If a socket does not support it, no queue marks its packets.
inline void listen_to_marks(int socket) {
  const int capable = wire::kEct0;
  const int wanted = 1;
  ::setsockopt(socket, IPPROTO_IP, IP_TOS, &capable, sizeof capable);
  ::setsockopt(socket, IPPROTO_IP, IP_RECVTOS, &wanted, sizeof wanted);
}

inline bool congestion_experienced(const msghdr& received) {
  for (const cmsghdr* c = CMSG_FIRSTHDR(&received); c != nullptr;
       c = CMSG_NXTHDR(const_cast<msghdr*>(&received), const_cast<cmsghdr*>(c))) {
    if (c->cmsg_level != IPPROTO_IP || c->cmsg_type != IP_TOS) continue;
    constexpr unsigned kEcnBits = 3;
    return (*CMSG_DATA(c) & kEcnBits) == wire::kCongestionExperienced;
  }
  return false;
}

}  // namespace tributary::worker
