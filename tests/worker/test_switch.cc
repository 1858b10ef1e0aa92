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

#include "core/net/udp_peer.h"
#include "core/wire/header.h"
#include "dataplane/udp/address_book.h"

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

std::uint32_t drawn_job_id() {
  std::random_device random;
  return 1 + random() % 60000;
}

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
  std::size_t shards = 0;  // of all planes
  for (const auto& job : config_.jobs) shards = std::max<std::size_t>(shards, udp_ports(job));
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
  planes_.clear();
  for (std::uint8_t plane = 0; plane < config_.jobs[0].planes; ++plane) {
    config::SwitchConfig part = config_;
    for (auto& job : part.jobs) job.plane = plane;
    const auto epoch = static_cast<std::uint16_t>(next_epoch_ + 1000 * plane);
    auto engine = std::make_unique<aggregator::Engine>(part, dataplane::kUdpAddresses,
                                                       aggregator::EngineStart{epoch, 5u * plane});
    auto outbox = std::make_unique<aggregator::Outbox>(engine->outbox_capacity());
    auto names = std::make_unique<aggregator::NameEngine>(part, epoch);
    auto names_outbox = std::make_unique<aggregator::Outbox>(names->outbox_capacity());
    planes_.push_back(
        {std::move(engine), std::move(outbox), std::move(names), std::move(names_outbox)});
  }
  stop_ = false;
  thread_ = std::thread([this] { run(); });
}

CommunicatorOptions TestSwitch::options(std::uint32_t rank) const {
  const config::JobConfig& job = config_.jobs[0];
  CommunicatorOptions o;
  o.job = job.id;
  o.rank = rank;
  o.size = job.workers;
  o.address = address();
  o.join_timeout = Duration::seconds(20);
  o.op_timeout = Duration::seconds(20);
  return o;
}

void TestSwitch::drain() {
  drains_ = true;
  drains_.wait(true);
}

void TestSwitch::change(std::vector<config::JobConfig> jobs) {
  held_ = true;
  drain();
  held_ = false;
  crash();
  config_.jobs = std::move(jobs);
  start();
}

// All planes; then none is held any more, unless that is for the thread that waits.
bool TestSwitch::has_drained() {
  const std::array<std::uint32_t, 1> job = {config_.jobs[0].id};
  bool all = true;
  for (std::size_t plane = 0; plane < planes_.size(); ++plane) {
    planes_[plane].engine->drain(job, clock_now(), *planes_[plane].outbox);
    flush(plane);
    all = planes_[plane].engine->draining(job).empty() && all;
  }
  if (all && !held_)
    for (const Plane& plane : planes_) plane.engine->release(job);
  return all;
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
  for (std::size_t plane = 0; plane < planes_.size(); ++plane) {
    planes_[plane].engine->shut_down(*planes_[plane].outbox);
    flush(plane);
  }
  sockets_.clear();
}

void TestSwitch::run() {
  std::vector<pollfd> fds;
  for (const FileDescriptor& s : sockets_) fds.push_back({s.get(), POLLIN, 0});
  while (!stop_) {
    ::poll(fds.data(), fds.size(), 1);
    for (std::size_t s = 0; s < fds.size(); ++s)
      if (fds[s].revents != 0) receive(s);
    for (std::size_t plane = 0; plane < planes_.size(); ++plane) {
      planes_[plane].engine->expire(clock_now(), *planes_[plane].outbox);
      flush(plane);
    }
    if (!drains_ || !has_drained()) continue;
    drains_ = false;
    drains_.notify_all();
  }
}

void TestSwitch::receive(std::size_t socket) {
  std::array<std::byte, 16384> buffer;
  for (int i = 0; i < 64; ++i) {
    sockaddr_in from{};
    socklen_t length = sizeof from;
    const ssize_t n = ::recvfrom(sockets_[socket].get(), buffer.data(), buffer.size(), 0,
                                 reinterpret_cast<sockaddr*>(&from), &length);
    if (n < 0) return;
    const auto parsed = wire::parse(std::span(buffer).first(static_cast<std::size_t>(n)));
    const auto* packet = std::get_if<wire::Packet>(&parsed);
    if (packet == nullptr || prng_.chance_ppm(loss_ppm_)) continue;
    const std::size_t plane = packet->header.plane < planes_.size() ? packet->header.plane : 0;
    wire::UdpPeer peer;
    peer.ipv4 = ntohl(from.sin_addr.s_addr);
    peer.udp_port = ntohs(from.sin_port);
    Plane& p = planes_[plane];
    if (wire::concerns_name(packet->header.type)) {
      const auto sender = p.engine->name_sender(packet->header, peer);
      p.names->on_packet(*packet, peer, sender, clock_now(), *p.names_outbox);
      flush(plane, *p.names_outbox);
      continue;
    }
    p.engine->on_packet(*packet, peer, clock_now(), *p.outbox);
    flush(plane);
  }
}

void TestSwitch::flush(std::size_t plane) {
  flush(plane, *planes_[plane].outbox);
}

void TestSwitch::flush(std::size_t plane, aggregator::Outbox& outbox) {
  for (const aggregator::Outgoing& o : outbox.items()) {
    const std::size_t socket = plane * config_.jobs[0].shards + o.header.shard;
    std::array<std::byte, wire::kHeaderBytes + wire::kMaxExtensionBytes> head;
    const std::size_t n = wire::serialize(o.header, o.extension_span(), head);
    if (n == 0) std::abort();
    sockaddr_in to =
        o.to == aggregator::Outgoing::To::peer
            ? address_of(ipv4_of(o.peer.node()), static_cast<std::uint16_t>(o.peer.flow()))
            : address_of(config::job_group_ipv4(o.header.job),
                         static_cast<std::uint16_t>(config_.udp_base_port + socket));
    std::array<iovec, 2> parts = {
        {{head.data(), n}, {const_cast<std::byte*>(o.payload.data()), o.payload.size()}}};
    msghdr m{};
    m.msg_name = &to;
    m.msg_namelen = sizeof to;
    m.msg_iov = parts.data();
    m.msg_iovlen = parts.size();
    ::sendmsg(sockets_[socket].get(), &m, 0);
  }
  outbox.clear();
}

}  // namespace tributary::worker
