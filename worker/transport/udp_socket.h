// One UDP socket of a completion host: bursts in and out; only data that must outlive a call is
// copied. The kernel verifies UDP checksums.
//
// The kernel truncates datagrams that are larger than expected, and they are dropped here. ICMP
// errors never end the socket: their datagrams count as lost, and workers' probes repair it.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/datagram_link.h"
#include "worker/transport/file_descriptor.h"
#include "worker/transport/udp_ecn.h"

namespace tributary::worker {

class UdpSocket final : public DatagramLink {
 public:
  static constexpr std::size_t kBurst = 64;

  // Throws std::system_error that names address and port. `datagram_bytes`: the largest datagram.
  UdpSocket(const UdpAddress& own, std::size_t datagram_bytes);

  void wait(Duration limit) override;
  void wake() override;
  std::size_t receive(const Receiver& receiver, Instant now) override;
  std::span<std::byte> room() override;
  void queue(std::size_t bytes, const UdpAddress& to) override;
  void flush() override;

 private:
  std::size_t datagram_bytes_;
  FileDescriptor socket_;
  FileDescriptor wake_;

  std::vector<std::byte> in_bytes_;
  std::array<mmsghdr, kBurst> in_{};
  std::array<iovec, kBurst> in_iov_{};
  std::array<sockaddr_in, kBurst> in_from_{};
  std::array<EcnRoom, kBurst> in_ecn_{};

  std::vector<std::byte> out_bytes_;
  std::size_t queued_ = 0;
  std::array<mmsghdr, kBurst> out_{};
  std::array<iovec, kBurst> out_iov_{};
  std::array<sockaddr_in, kBurst> out_to_{};
};

}  // namespace tributary::worker
