// One UDP socket of a completion host: bursts in and out, nothing copied but what has to outlive a
// call.
//
// One thread. Datagrams of other sizes than expected are truncated by the kernel and dropped here.
// ICMP errors never end it: what they are about counts as lost, and workers' probes repair it.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/drop_reason.h"
#include "core/time.h"
#include "worker/file_descriptor.h"

namespace tributary::worker {

struct UdpAddress {
  std::uint32_t ipv4 = 0;  // host order
  std::uint16_t port = 0;
};

class UdpSocket {
 public:
  using Receiver = std::function<void(std::span<const std::byte>, const UdpAddress& from)>;
  static constexpr std::size_t kBurst = 64;

  // Throws std::system_error that names address and port. `datagram_bytes`: the largest.
  UdpSocket(const UdpAddress& own, std::size_t datagram_bytes);

  // Waits until something can be received, wake() is called, or `limit` has passed.
  void wait(Duration limit);
  // Any thread.
  void wake();
  // Hands over what is there, a burst at most; returns how many there were.
  std::size_t receive(const Receiver& receiver);

  // Room for one datagram, to be filled and then queued; sends what is queued when it is full.
  std::span<std::byte> room();
  void queue(std::size_t bytes, const UdpAddress& to);
  void flush();

  [[nodiscard]] DropCounters& drops() { return drops_; }
  [[nodiscard]] const DropCounters& drops() const { return drops_; }

 private:
  std::size_t datagram_bytes_;
  FileDescriptor socket_;
  FileDescriptor wake_;
  DropCounters drops_;

  std::vector<std::byte> in_bytes_;
  std::array<mmsghdr, kBurst> in_{};
  std::array<iovec, kBurst> in_iov_{};
  std::array<sockaddr_in, kBurst> in_from_{};

  std::vector<std::byte> out_bytes_;
  std::size_t queued_ = 0;
  std::array<mmsghdr, kBurst> out_{};
  std::array<iovec, kBurst> out_iov_{};
  std::array<sockaddr_in, kBurst> out_to_{};
};

}  // namespace tributary::worker
