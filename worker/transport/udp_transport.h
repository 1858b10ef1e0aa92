// Transport over kernel UDP sockets, for workers whose network is a kernel interface.
//
//   one unicast socket            requests out, answers in; its port is fixed for the job's life
//   one multicast socket a shard  results in, for each plane; bound to the group and its port,
//                                 on the interface that routes to the switch
//
// Nothing is copied on the way out: each datagram is two iovecs, 64 datagrams a sendmmsg. If the
// kernel can, neighbours of one size go through its network stack as one, and arriving ones are
// merged (worker/transport/udp_segments.h). Packets from other addresses or UDP ports than the
// switch's are dropped, except results to the group from the completion host's address, if START
// says that it notifies workers itself. The kernel verifies UDP checksums; CRC32C integrity is
// verified here. ICMP errors (switch not up yet, no route) never end the transport: the datagram
// counts as lost and the session's timers recover it.
//
// The path's MTU is read from the route once. Datagrams are not fragmented, unless a job's chunks
// are longer and its switch takes fragments: then the kernel fragments them. On a veth with
// transmit offload the kernel leaves checksums partial, and a switch that reads raw frames sees
// wrong ones: turn it off on the worker's end (`ethtool -K IFACE tx off`).
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "worker/transport/file_descriptor.h"
#include "worker/transport/transport.h"
#include "worker/transport/udp_ecn.h"
#include "worker/transport/udp_segments.h"

namespace tributary::worker {

class UdpTransport final : public Transport {
 public:
  // `switch_ipv4` in host order. Throws std::runtime_error when there is no route or no socket.
  UdpTransport(std::uint32_t switch_ipv4, std::uint16_t base_port);

  void on_start(const wire::StartInfo& info) override;
  void on_host(std::uint16_t udp_port) override { host_udp_port_ = udp_port; }
  std::size_t send(std::span<const Datagram> batch) override;
  std::size_t receive(const Receiver& receiver) override;
  void wait(Duration limit) override;
  void wake() override;
  [[nodiscard]] std::size_t max_datagram_bytes() const override { return max_datagram_bytes_; }
  [[nodiscard]] std::size_t max_cut_bytes() const override;
  [[nodiscard]] std::string silence_hint() const override;
  [[nodiscard]] const DropCounters& drops() const override { return drops_; }
  [[nodiscard]] std::string describe() const override;

 private:
  static constexpr std::size_t kBurst = 64;

  struct Source {
    FileDescriptor socket;
    bool readable = false;  // as far as known; an incomplete burst clears it
  };

  void find_route();
  void size_receive_buffers(std::size_t datagram_bytes);
  void grow_socket_buffers(int socket, std::size_t wanted_bytes);
  void join_group(const wire::StartInfo& info, std::uint16_t port);
  bool poll_sockets(Duration limit, bool watch_wake);
  std::size_t receive_burst(Source& source, const Receiver& receiver);
  std::size_t deliver_merged(std::span<const std::byte> bytes, const msghdr& received,
                             bool to_group, const Receiver& receiver);
  void deliver(std::span<const std::byte> bytes, const msghdr& received, bool to_group,
               const Receiver& receiver);

  std::uint32_t switch_ipv4_;
  std::uint16_t base_port_;
  std::uint32_t own_ipv4_ = 0;
  std::uint16_t own_port_ = 0;
  std::size_t max_datagram_bytes_ = 0;
  std::size_t socket_buffer_bytes_ = 0;
  std::size_t wanted_buffer_bytes_ = 0;
  bool crc_required_ = false;
  std::uint16_t host_udp_port_ = 0;  // of the host that notifies ranks itself
  wire::StartInfo start_;            // all zero before START
  bool send_blocked_ = false;        // the last send() met a full socket buffer

  FileDescriptor wake_;
  std::vector<Source> sources_;  // [0] unicast, then one per shard of each plane
  DropCounters drops_;

  UdpSender sender_;
  bool merges_ = false;            // the kernel hands over several datagrams as one
  std::size_t receive_bytes_ = 0;  // room per message in receive_buffer_
  std::unique_ptr<std::byte[]> receive_buffer_;
  std::array<mmsghdr, kBurst> in_{};
  std::array<iovec, kBurst> in_iov_{};
  std::array<sockaddr_in, kBurst> in_from_{};
  std::array<EcnRoom, kBurst> in_ecn_{};
};

}  // namespace tributary::worker
