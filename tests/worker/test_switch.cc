#include "tests/worker/test_switch.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <random>

#include "core/wire/header.h"

namespace tributary::worker {
namespace {

Instant clock_now() {
  return Instant::from_ns(std::chrono::duration_cast<std::chrono::nanoseconds>(
                              std::chrono::steady_clock::now().time_since_epoch())
                              .count());
}

sockaddr_in address_of(std::uint32_t ipv4, std::uint16_t port) {
  sockaddr_in a{};
  a.sin_family = AF_INET;
  a.sin_port = htons(port);
  a.sin_addr.s_addr = htonl(ipv4);
  return a;
}

}  // namespace

TestSwitch::TestSwitch(config::SwitchConfig config) : config_(std::move(config)) {
  config_.ports.resize(1);
  config_.udp_base_port = 0;
  start();
}

TestSwitch::~TestSwitch() {
  crash();
}

void TestSwitch::open_sockets() {
  std::random_device random;
  const std::size_t shards =
      std::max_element(config_.jobs.begin(), config_.jobs.end(), [](auto& a, auto& b) {
        return a.shards < b.shards;
      })->shards;
  for (int attempt = 0; attempt < 100; ++attempt) {
    const auto base = config_.udp_base_port != 0
                          ? config_.udp_base_port
                          : static_cast<std::uint16_t>(20000 + random() % 10000);
    sockets_.clear();
    for (std::size_t s = 0; s < shards; ++s) {
      FileDescriptor fd(::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
      const auto at = address_of(INADDR_LOOPBACK, static_cast<std::uint16_t>(base + s));
      if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0) break;
      const in_addr loopback{htonl(INADDR_LOOPBACK)};
      const int room = 4 << 20;
      if (::setsockopt(fd.get(), IPPROTO_IP, IP_MULTICAST_IF, &loopback, sizeof loopback) != 0)
        break;
      ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
      sockets_.push_back(std::move(fd));
    }
    if (sockets_.size() == shards) {
      config_.udp_base_port = base;
      return;
    }
  }
  std::abort();
}

void TestSwitch::start() {
  open_sockets();
  next_epoch_ = static_cast<std::uint16_t>(next_epoch_ + 100);
  engine_ = std::make_unique<aggregator::Engine>(config_, aggregator::EngineStart{next_epoch_, 0});
  outbox_ = std::make_unique<aggregator::Outbox>(engine_->outbox_capacity());
  stop_ = false;
  thread_ = std::thread([this] { run(); });
}

void TestSwitch::crash() {
  if (!thread_.joinable()) return;
  stop_ = true;
  thread_.join();
  sockets_.clear();
}

void TestSwitch::shut_down() {
  stop_ = true;
  thread_.join();
  engine_->shut_down(*outbox_);
  flush();
  sockets_.clear();
}

void TestSwitch::run() {
  std::vector<pollfd> fds;
  for (const FileDescriptor& s : sockets_) fds.push_back({s.get(), POLLIN, 0});
  while (!stop_) {
    ::poll(fds.data(), fds.size(), 1);
    for (std::size_t s = 0; s < fds.size(); ++s)
      if (fds[s].revents != 0) receive(s);
    engine_->expire(clock_now(), *outbox_);
    flush();
  }
}

void TestSwitch::receive(std::size_t shard) {
  std::array<std::byte, 16384> buffer;
  for (int i = 0; i < 64; ++i) {
    sockaddr_in from{};
    socklen_t length = sizeof from;
    const ssize_t n = ::recvfrom(sockets_[shard].get(), buffer.data(), buffer.size(), 0,
                                 reinterpret_cast<sockaddr*>(&from), &length);
    if (n < 0) return;
    const auto parsed = wire::parse(std::span(buffer).first(static_cast<std::size_t>(n)));
    const auto* packet = std::get_if<wire::Packet>(&parsed);
    if (packet == nullptr) continue;
    aggregator::Peer peer;
    peer.ipv4 = ntohl(from.sin_addr.s_addr);
    peer.udp_port = ntohs(from.sin_port);
    engine_->on_packet(*packet, peer, clock_now(), *outbox_);
    flush();
  }
}

void TestSwitch::flush() {
  for (const aggregator::Outgoing& o : outbox_->items()) {
    std::array<std::byte, wire::kHeaderBytes + wire::kMaxExtensionBytes> head;
    const std::size_t n = wire::serialize(o.header, o.extension_span(), head);
    if (n == 0) std::abort();
    sockaddr_in to =
        o.to == aggregator::Outgoing::To::peer
            ? address_of(o.peer.ipv4, o.peer.udp_port)
            : address_of(config::job_group_ipv4(o.header.job),
                         static_cast<std::uint16_t>(config_.udp_base_port + o.header.shard));
    std::array<iovec, 2> parts = {
        {{head.data(), n}, {const_cast<std::byte*>(o.payload.data()), o.payload.size()}}};
    msghdr m{};
    m.msg_name = &to;
    m.msg_namelen = sizeof to;
    m.msg_iov = parts.data();
    m.msg_iovlen = parts.size();
    ::sendmsg(sockets_[o.header.shard].get(), &m, 0);
  }
  outbox_->clear();
}

}  // namespace tributary::worker
