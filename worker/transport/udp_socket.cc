#include "worker/transport/udp_socket.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>

#include "config/text/codec.h"

namespace tributary::worker {
namespace {

constexpr int kSocketBufferBytes = 8 << 20;

sockaddr_in address_of(const UdpAddress& a) {
  sockaddr_in out{};
  out.sin_family = AF_INET;
  out.sin_port = htons(a.port);
  out.sin_addr.s_addr = htonl(a.ipv4);
  return out;
}

[[noreturn]] void fail(const UdpAddress& own, const char* what) {
  throw std::system_error(
      errno, std::generic_category(),
      config::format_ipv4(own.ipv4) + ":" + std::to_string(own.port) + ": " + what);
}

}  // namespace

UdpSocket::UdpSocket(const UdpAddress& own, std::size_t datagram_bytes)
    : datagram_bytes_(datagram_bytes),
      socket_(::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)),
      wake_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
      in_bytes_(kBurst * datagram_bytes),
      out_bytes_(kBurst * datagram_bytes) {
  if (!socket_ || !wake_) fail(own, "no socket");
  const sockaddr_in address = address_of(own);
  if (::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    fail(own, "cannot bind; an interface must have the address, and no other process the port");
  // Datagrams beyond the interface's MTU leave in fragments: a switch that takes fragments may have
  // jobs with such chunks, and another one drops and counts them.
  const int cut = IP_PMTUDISC_DONT;
  ::setsockopt(socket_.get(), IPPROTO_IP, IP_MTU_DISCOVER, &cut, sizeof cut);
  listen_to_marks(socket_.get());
  // Datagrams to a job's group (T9) leave through the interface with the own address.
  const in_addr interface = address.sin_addr;
  ::setsockopt(socket_.get(), IPPROTO_IP, IP_MULTICAST_IF, &interface, sizeof interface);
  // The forced form passes the system-wide limit; it needs CAP_NET_ADMIN.
  for (const auto& [forced, plain] :
       {std::pair{SO_RCVBUFFORCE, SO_RCVBUF}, std::pair{SO_SNDBUFFORCE, SO_SNDBUF}}) {
    const int wanted = kSocketBufferBytes;
    if (::setsockopt(socket_.get(), SOL_SOCKET, forced, &wanted, sizeof wanted) != 0)
      ::setsockopt(socket_.get(), SOL_SOCKET, plain, &wanted, sizeof wanted);
  }
  for (std::size_t i = 0; i < kBurst; ++i) {
    in_iov_[i] = {in_bytes_.data() + i * datagram_bytes_, datagram_bytes_};
    in_[i].msg_hdr.msg_name = &in_from_[i];
    in_[i].msg_hdr.msg_iov = &in_iov_[i];
    in_[i].msg_hdr.msg_iovlen = 1;
    out_[i].msg_hdr.msg_name = &out_to_[i];
    out_[i].msg_hdr.msg_namelen = sizeof out_to_[i];
    out_[i].msg_hdr.msg_iov = &out_iov_[i];
    out_[i].msg_hdr.msg_iovlen = 1;
  }
}

void UdpSocket::wait(Duration limit) {
  std::array<pollfd, 2> fds = {{{socket_.get(), POLLIN, 0}, {wake_.get(), POLLIN, 0}}};
  const std::int64_t ns = std::max<std::int64_t>(limit.to_ns(), 0);
  const timespec t{ns / 1'000'000'000, ns % 1'000'000'000};
  if (::ppoll(fds.data(), fds.size(), &t, nullptr) <= 0 || fds[1].revents == 0) return;
  std::uint64_t count = 0;
  [[maybe_unused]] const auto n = ::read(wake_.get(), &count, sizeof count);
}

void UdpSocket::wake() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto n = ::write(wake_.get(), &one, sizeof one);
}

std::size_t UdpSocket::receive(const Receiver& receiver, Instant) {
  for (std::size_t i = 0; i < kBurst; ++i) {
    in_[i].msg_hdr.msg_namelen = sizeof(sockaddr_in);
    in_ecn_[i].attach(in_[i].msg_hdr);
  }
  const int got = ::recvmmsg(socket_.get(), in_.data(), kBurst, MSG_DONTWAIT, nullptr);
  if (got <= 0) return 0;  // empty, or an ICMP error about an earlier datagram
  for (std::size_t i = 0; i < static_cast<std::size_t>(got); ++i) {
    if ((in_[i].msg_hdr.msg_flags & MSG_TRUNC) != 0) {
      drops().add(DropReason::payload_too_large);
      continue;
    }
    receiver({.bytes = {in_bytes_.data() + i * datagram_bytes_, in_[i].msg_len},
              .from = {ntohl(in_from_[i].sin_addr.s_addr), ntohs(in_from_[i].sin_port)},
              .congestion_experienced = congestion_experienced(in_[i].msg_hdr)});
  }
  return static_cast<std::size_t>(got);
}

std::span<std::byte> UdpSocket::room() {
  if (queued_ == kBurst) flush();
  return {out_bytes_.data() + queued_ * datagram_bytes_, datagram_bytes_};
}

void UdpSocket::queue(std::size_t bytes, const UdpAddress& to) {
  out_iov_[queued_] = {out_bytes_.data() + queued_ * datagram_bytes_, bytes};
  out_to_[queued_] = address_of(to);
  ++queued_;
}

void UdpSocket::flush() {
  std::size_t done = 0;
  while (done < queued_) {
    const int sent = ::sendmmsg(socket_.get(), out_.data() + done,
                                static_cast<unsigned>(queued_ - done), MSG_DONTWAIT);
    if (sent > 0) {
      done += static_cast<std::size_t>(sent);
    } else if (errno != EINTR) {
      // No room, no route, an ICMP error: this one is lost like a packet on the way.
      drops().add(errno == EMSGSIZE ? DropReason::mtu : DropReason::tx_full);
      ++done;
    }
  }
  queued_ = 0;
}

}  // namespace tributary::worker
