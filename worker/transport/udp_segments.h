// Datagrams that cross the kernel's network stack together: out with UDP_SEGMENT, in with UDP_GRO.
//
// Out: consecutive datagrams of a batch to one port become one message of up to 64 KiB, which the
// kernel, or the card, cuts at the end of the stack. All have one size; the last may be shorter:
//
//   batch     [A 8254][A 8254][A 8230][B 8254][A 8254]      letters: ports
//   messages  [A 8254+8254+8230     ][B 8254][A 8254]
//
// In: the kernel may merge datagrams that arrive the same way, and tells their size. Both ways may
// fail: kernels before 4.18 and 5.0 lack the option, and some refuse to cut if the interface
// computes no checksums (EIO), which docs/operating/ports.md asks for on a veth. So after the first
// refusal of a message of several datagrams, the socket sends them one by one.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/drop_reason.h"
#include "worker/transport/transport.h"

namespace tributary::worker {

// One per socket. Uses sendmmsg(), with several datagrams in a message if that works.
class UdpSender {
 public:
  static constexpr std::size_t kBurst = 64;

  // The largest message, and its most datagrams, that every kernel with the option accepts.
  static constexpr std::size_t kMostMessageBytes = 0xFFFF - 20 - 8;
  static constexpr std::size_t kMostSegments = 64;

  // Tests whether the kernel has the option. Whether the path has shows when it refuses a message.
  void probe(int socket);
  [[nodiscard]] bool segments() const { return segments_; }

  struct Sent {
    std::size_t datagrams = 0;  // of the batch's head: sent, or refused and counted as lost
    bool blocked = false;       // the socket's buffer is full
  };
  // Sends to `to`, whose port is that of a datagram's port 0. `most_segment_bytes`: the most that a
  // packet of the path carries; longer datagrams are fragmented, and sent alone.
  Sent send(int socket, std::span<const Datagram> batch, const sockaddr_in& to,
            std::size_t most_segment_bytes, DropCounters& drops);

 private:
  struct alignas(cmsghdr) SegmentRoom {
    std::array<std::byte, CMSG_SPACE(sizeof(std::uint16_t))> bytes{};
  };
  struct Message {
    std::size_t datagrams = 0;
    std::size_t bytes = 0;
    std::size_t segment = 0;  // bytes of each datagram but the last
    bool closed = false;      // its last one is shorter
    std::uint8_t port = 0;
  };

  std::size_t plan(std::span<const Datagram> batch, const sockaddr_in& to,
                   std::size_t most_segment_bytes);
  [[nodiscard]] bool joins(const Message& message, const Datagram& datagram, std::size_t bytes,
                           std::size_t most_segment_bytes) const;
  void finish(std::size_t message);

  bool segments_ = false;
  std::array<Message, kBurst> messages_{};
  std::array<mmsghdr, kBurst> out_{};
  std::array<std::array<iovec, 2>, kBurst> iov_{};  // of each datagram, in one row
  std::array<sockaddr_in, kBurst> to_{};
  std::array<SegmentRoom, kBurst> room_{};
};

// Asks the kernel to merge a socket's datagrams; returns false if it cannot.
bool merge_received(int socket);
// Bytes of each datagram but the last in a received message; 0: it is a single datagram.
std::size_t merged_bytes(const msghdr& received);

}  // namespace tributary::worker
