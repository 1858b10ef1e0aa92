#include "worker/transport/udp_transport.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>

#include "core/net/frame.h"
#include "core/wire/integrity.h"
#include "worker/transport/checksum_hint.h"
#include "worker/transport/packet_check.h"
#include "worker/transport/route_interface.h"

namespace tributary::worker {
namespace {

constexpr std::size_t kExtensionRoom = 64;  // protocol rule 17
// Before START only control packets arrive.
constexpr std::size_t kControlDatagramBytes = 2048;
// The largest message that the kernel makes from merged datagrams.
constexpr std::size_t kMergedBytes = 0x10000;
constexpr std::size_t kMinSocketBufferBytes = std::size_t{1} << 20;
// A kernel socket buffer charges a small datagram for a whole page and more.
constexpr std::size_t kSocketBufferOverhead = 2;

sockaddr_in ipv4_address(std::uint32_t ipv4, std::uint16_t port) {
  sockaddr_in a{};
  a.sin_family = AF_INET;
  a.sin_port = htons(port);
  a.sin_addr.s_addr = htonl(ipv4);
  return a;
}

const sockaddr* generic(const sockaddr_in& a) {
  return reinterpret_cast<const sockaddr*>(&a);
}

std::string text_of(std::uint32_t ipv4) {
  const in_addr a{htonl(ipv4)};
  std::array<char, INET_ADDRSTRLEN> text{};
  inet_ntop(AF_INET, &a, text.data(), text.size());
  return text.data();
}

[[noreturn]] void fail(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), "udp transport: " + what);
}

FileDescriptor udp_socket() {
  FileDescriptor fd(::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) fail("no socket");
  listen_to_marks(fd.get());
  return fd;
}

void set_option(int fd, int level, int name, int value, const char* what) {
  if (::setsockopt(fd, level, name, &value, sizeof value) != 0) fail(what);
}

}  // namespace

UdpTransport::UdpTransport(std::uint32_t switch_ipv4, std::uint16_t base_port)
    : switch_ipv4_(switch_ipv4), base_port_(base_port) {
  find_route();
  wake_ = FileDescriptor(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!wake_) fail("no eventfd");

  Source unicast{udp_socket()};
  set_option(unicast.socket.get(), IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO, "no DF bit");
  sockaddr_in own = ipv4_address(own_ipv4_, 0);
  if (::bind(unicast.socket.get(), generic(own), sizeof own) != 0)
    fail("cannot bind " + text_of(own_ipv4_));
  socklen_t length = sizeof own;
  ::getsockname(unicast.socket.get(), reinterpret_cast<sockaddr*>(&own), &length);
  own_port_ = ntohs(own.sin_port);
  grow_socket_buffers(unicast.socket.get(), kMinSocketBufferBytes);
  sender_.probe(unicast.socket.get());
  sources_.push_back(std::move(unicast));
  size_receive_buffers(kControlDatagramBytes);
}

// A connected socket knows its own address and the MTU of its route; no packet is sent for it.
void UdpTransport::find_route() {
  const FileDescriptor probe = udp_socket();
  const sockaddr_in to = ipv4_address(switch_ipv4_, base_port_);
  if (::connect(probe.get(), generic(to), sizeof to) != 0)
    fail("no route to switch " + text_of(switch_ipv4_));
  sockaddr_in own{};
  socklen_t length = sizeof own;
  if (::getsockname(probe.get(), reinterpret_cast<sockaddr*>(&own), &length) != 0)
    fail("no own address");
  own_ipv4_ = ntohl(own.sin_addr.s_addr);
  int mtu = 0;
  length = sizeof mtu;
  if (::getsockopt(probe.get(), IPPROTO_IP, IP_MTU, &mtu, &length) != 0) fail("no path MTU");
  max_datagram_bytes_ =
      static_cast<std::size_t>(std::clamp(mtu, 576, 65535)) - wire::kIpv4Bytes - wire::kUdpBytes;
}

std::string UdpTransport::silence_hint() const {
  return checksum_hint(route_interface(switch_ipv4_));
}

std::size_t UdpTransport::max_cut_bytes() const {
  return 0xFFFF - wire::kIpv4Bytes - wire::kUdpBytes;
}

void UdpTransport::grow_socket_buffers(int socket, std::size_t wanted_bytes) {
  const int wanted = static_cast<int>(std::min<std::size_t>(wanted_bytes, 1 << 30));
  wanted_buffer_bytes_ = static_cast<std::size_t>(wanted);
  // The forced form passes the system-wide limit; it needs CAP_NET_ADMIN.
  for (const auto& [forced, plain] :
       {std::pair{SO_RCVBUFFORCE, SO_RCVBUF}, std::pair{SO_SNDBUFFORCE, SO_SNDBUF}})
    if (::setsockopt(socket, SOL_SOCKET, forced, &wanted, sizeof wanted) != 0)
      ::setsockopt(socket, SOL_SOCKET, plain, &wanted, sizeof wanted);
  int got = 0;
  socklen_t length = sizeof got;
  ::getsockopt(socket, SOL_SOCKET, SO_RCVBUF, &got, &length);
  socket_buffer_bytes_ = static_cast<std::size_t>(got) / 2;  // the kernel reports it doubled
}

void UdpTransport::size_receive_buffers(std::size_t datagram_bytes) {
  receive_bytes_ = datagram_bytes;
  // Pages that no message has reached take no memory.
  receive_buffer_ = std::make_unique_for_overwrite<std::byte[]>(kBurst * receive_bytes_);
  for (std::size_t i = 0; i < kBurst; ++i) {
    in_iov_[i] = {receive_buffer_.get() + i * receive_bytes_, receive_bytes_};
    in_[i].msg_hdr.msg_name = &in_from_[i];
    in_[i].msg_hdr.msg_iov = &in_iov_[i];
    in_[i].msg_hdr.msg_iovlen = 1;
  }
}

void UdpTransport::on_start(const wire::StartInfo& info) {
  wire::StartInfo as_before = info;
  as_before.completion_host = start_.completion_host;
  as_before.host_term = start_.host_term;
  const bool same = as_before == start_;
  start_ = info;
  if (same) return;
  sources_.resize(1);  // an epoch before had other groups, or other sizes
  crc_required_ = info.integrity == static_cast<std::uint8_t>(wire::Integrity::crc32c);
  base_port_ = info.udp_base_port;
  const std::size_t datagram = info.chunk_bytes + kControlDatagramBytes;
  // The session has checked that the switch takes fragments.
  if (wire::kHeaderBytes + kExtensionRoom + info.chunk_bytes > max_datagram_bytes_)
    set_option(sources_[0].socket.get(), IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DONT, "no cuts");
  merges_ = merge_received(sources_[0].socket.get());
  size_receive_buffers(merges_ ? kMergedBytes : std::max(datagram, receive_bytes_));
  const std::size_t wanted = std::max(
      kMinSocketBufferBytes, kSocketBufferOverhead * info.window * (info.chunk_bytes + 1024));
  grow_socket_buffers(sources_[0].socket.get(), wanted);
  for (std::uint32_t port = 0; port < info.planes * info.shards; ++port) {
    join_group(info, static_cast<std::uint16_t>(info.udp_base_port + port));
    grow_socket_buffers(sources_.back().socket.get(), wanted);
  }
}

// Bound to the group's address, so that it gets no other job's group on this host; address reuse
// lets several ranks share the host.
void UdpTransport::join_group(const wire::StartInfo& info, std::uint16_t port) {
  Source source{udp_socket()};
  const int fd = source.socket.get();
  set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1, "no address reuse");
  const sockaddr_in group = ipv4_address(info.group_ipv4, port);
  if (::bind(fd, generic(group), sizeof group) != 0)
    fail("cannot bind " + text_of(info.group_ipv4) + ":" + std::to_string(port));
  ip_mreqn membership{};
  membership.imr_multiaddr = group.sin_addr;
  membership.imr_address.s_addr = htonl(own_ipv4_);
  membership.imr_ifindex = route_interface(switch_ipv4_);  // 0: the interface with the own address
  if (::setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &membership, sizeof membership) != 0)
    fail("cannot join group " + text_of(info.group_ipv4) + " on " + text_of(own_ipv4_));
  if (merges_) merge_received(fd);
  sources_.push_back(std::move(source));
}

std::size_t UdpTransport::send(std::span<const Datagram> batch) {
  const UdpSender::Sent sent =
      sender_.send(sources_[0].socket.get(), batch, ipv4_address(switch_ipv4_, base_port_),
                   max_datagram_bytes_, drops_);
  if (sent.blocked) send_blocked_ = true;
  return sent.datagrams;
}

std::size_t UdpTransport::receive(const Receiver& receiver) {
  const bool known =
      std::any_of(sources_.begin(), sources_.end(), [](const Source& s) { return s.readable; });
  if (!known && !poll_sockets(Duration(), false)) return 0;
  std::size_t received = 0;
  for (Source& source : sources_)
    if (source.readable) received += receive_burst(source, receiver);
  return received;
}

std::size_t UdpTransport::receive_burst(Source& source, const Receiver& receiver) {
  for (std::size_t i = 0; i < kBurst; ++i) {
    in_[i].msg_hdr.msg_namelen = sizeof(sockaddr_in);
    in_ecn_[i].attach(in_[i].msg_hdr);
  }
  const int got = ::recvmmsg(source.socket.get(), in_.data(), kBurst, MSG_DONTWAIT, nullptr);
  // An error is an ICMP error about an earlier datagram (the kernel clears it) or "empty".
  if (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK) return 0;
  const std::size_t n = got < 0 ? 0 : static_cast<std::size_t>(got);
  source.readable = n == kBurst;
  std::size_t received = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const std::byte* at = receive_buffer_.get() + i * receive_bytes_;
    received +=
        deliver_merged({at, in_[i].msg_len}, in_[i].msg_hdr, &source != sources_.data(), receiver);
  }
  return received;
}

// Delivers each datagram of a message; returns how many.
std::size_t UdpTransport::deliver_merged(std::span<const std::byte> bytes, const msghdr& received,
                                         bool to_group, const Receiver& receiver) {
  const std::size_t each = merged_bytes(received);
  std::size_t count = 1;
  for (; each != 0 && bytes.size() > each; ++count, bytes = bytes.subspan(each))
    deliver(bytes.first(each), received, to_group, receiver);
  deliver(bytes, received, to_group, receiver);
  return count;
}

void UdpTransport::deliver(std::span<const std::byte> bytes, const msghdr& received, bool to_group,
                           const Receiver& receiver) {
  const auto* const from = static_cast<const sockaddr_in*>(received.msg_name);
  const std::uint32_t sender = ntohl(from->sin_addr.s_addr);
  const bool from_host = to_group && sender != 0 && sender == direct_host(start_) &&
                         ntohs(from->sin_port) == host_udp_port_;
  const bool from_switch =
      sender == switch_ipv4_ && is_switch_port(start_, base_port_, ntohs(from->sin_port));
  if (!from_switch && !from_host) {
    drops_.add(DropReason::sender_mismatch);
    return;
  }
  if ((received.msg_flags & MSG_TRUNC) != 0) {
    drops_.add(DropReason::payload_too_large);
    return;
  }
  auto parsed = wire::parse(bytes);
  if (const auto* bad = std::get_if<DropReason>(&parsed)) {
    drops_.add(*bad);
    return;
  }
  auto& packet = std::get<wire::Packet>(parsed);
  packet.congestion_experienced = congestion_experienced(received);
  if (const DropReason bad = check_crc32c(bytes, packet, crc_required_); bad != DropReason::none) {
    drops_.add(bad);
    return;
  }
  if (from_host && !is_direct_result(start_, packet)) {
    drops_.add(DropReason::stale_term);
    return;
  }
  receiver(packet);
}

// Marks readable sockets; returns false if the limit passed and none is readable. Only wait() may
// consume a wake().
bool UdpTransport::poll_sockets(Duration limit, bool watch_wake) {
  std::array<pollfd, 2 + 256> fds;  // shards is a u8
  for (std::size_t i = 0; i < sources_.size(); ++i) fds[i] = {sources_[i].socket.get(), POLLIN, 0};
  if (send_blocked_) fds[0].events |= POLLOUT;
  pollfd& woken = fds[sources_.size()];
  woken = {wake_.get(), POLLIN, 0};
  const std::int64_t ns = std::clamp<std::int64_t>(limit.to_ns(), 0, 3'600'000'000'000);
  const timespec t{ns / 1'000'000'000, ns % 1'000'000'000};
  if (::ppoll(fds.data(), sources_.size() + (watch_wake ? 1 : 0), &t, nullptr) <= 0) return false;
  if (woken.revents != 0) {
    std::uint64_t count = 0;
    [[maybe_unused]] const auto n = ::read(wake_.get(), &count, sizeof count);
  }
  if ((fds[0].revents & POLLOUT) != 0) send_blocked_ = false;
  bool any = false;
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    sources_[i].readable = (fds[i].revents & (POLLIN | POLLERR)) != 0;
    any = any || sources_[i].readable;
  }
  return any;
}

void UdpTransport::wait(Duration limit) {
  const bool known =
      std::any_of(sources_.begin(), sources_.end(), [](const Source& s) { return s.readable; });
  if (!known) poll_sockets(limit, true);
}

void UdpTransport::wake() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto n = ::write(wake_.get(), &one, sizeof one);
}

std::string UdpTransport::describe() const {
  std::string text = "udp " + text_of(own_ipv4_) + ":" + std::to_string(own_port_) + " to switch " +
                     text_of(switch_ipv4_) + ":" + std::to_string(base_port_) +
                     ", datagrams up to " + std::to_string(max_datagram_bytes_) + " bytes, " +
                     (sender_.segments() ? "segmented" : "one by one") + ", socket buffers " +
                     std::to_string(socket_buffer_bytes_) + " bytes";
  if (socket_buffer_bytes_ < wanted_buffer_bytes_)
    text += " (wanted " + std::to_string(wanted_buffer_bytes_) +
            ": raise net.core.rmem_max and wmem_max, or grant CAP_NET_ADMIN)";
  return text;
}

}  // namespace tributary::worker
