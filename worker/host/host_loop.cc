#include "worker/host/host_loop.h"

#include <algorithm>
#include <cstring>
#include <ctime>
#include <stdexcept>
#include <utility>

#include "completion/pieces/limits.h"
#include "config/text/file.h"
#include "config/topology/topology.h"
#include "core/net/udp_peer.h"
#include "worker/transport/packet_check.h"
#include "worker/transport/udp_socket.h"

namespace tributary::worker {
namespace {

// The interval at which an idle loop checks deadlines and heartbeats.
constexpr Duration kTick = Duration::ms(10);
// Room before a payload: the header and all extensions that fit.
constexpr std::size_t kHeadBytes = wire::kHeaderBytes + wire::kMaxExtensionBytes;

Instant monotonic_now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return Instant::from_ns(t.tv_sec * 1'000'000'000 + t.tv_nsec);
}

}  // namespace

std::size_t datagram_bytes(const config::ServerConfig& config) {
  std::size_t largest = 0;
  for (const auto& served : config.jobs)
    largest = std::max<std::size_t>(largest, served.job.chunk_bytes);
  return kHeadBytes + largest;
}

std::unique_ptr<DatagramLink> make_udp_socket(const config::ServerConfig& config) {
  return std::make_unique<UdpSocket>(UdpAddress{config.ipv4, config.udp_port},
                                     datagram_bytes(config));
}

config::ServerConfig load_host_config(const std::string& path, const std::string& node) {
  const bool topology = config::is_topology(config::read_file(path));
  if (!topology && node.empty()) return config::load_server_config(path);
  if (topology && node.empty())
    throw std::invalid_argument(
        "a topology; say which of its servers or workers hosts (--node, host_node)");
  return config::server_config(config::load_topology(path), node);
}

std::vector<completion::ServedJob> served_jobs(const config::ServerConfig& config) {
  std::vector<completion::ServedJob> all;
  for (const config::ServedJobConfig& served : config.jobs) {
    completion::ServedJob job;
    job.limits = completion::limits_of(served.job);
    job.limits.root_is_here = false;
    job.limits.bytes = config::server_share(config, served.job);
    // The group has the root's UDP ports (docs/protocol/hosts.md).
    job.roots =
        wire::peers_of_shards({0, served.root_udp_port, served.root_ipv4}, served.job.shards);
    job.group = wire::peers_of_shards(
        {0, served.root_udp_port, config::job_group_ipv4(served.job.id)}, served.job.shards);
    job.integrity = served.job.integrity;
    job.optimizer = served.optimizer;
    all.push_back(std::move(job));
  }
  return all;
}

HostLoop::HostLoop(const config::ServerConfig& config, std::uint64_t nonce,
                   std::unique_ptr<DatagramLink> link)
    : server_(served_jobs(config),
              {.ipv4 = config.ipv4, .nonce = nonce, .heartbeat = config.heartbeat}),
      link_(std::move(link)),
      outbox_(server_.outbox_capacity()) {}

void HostLoop::run(const Beside& beside) {
  Instant next_tick;
  while (!stopping_.load(std::memory_order_relaxed)) {
    Instant now = monotonic_now();
    if (beside.turn) beside.turn(now);
    const std::size_t got =
        link_->receive([&](const ReceivedDatagram& datagram) { receive(datagram, now); }, now);
    if (now >= next_tick) {
      next_tick = now + kTick;
      while (server_.expire(now, outbox_)) send_outbox();
      if (beside.tick) beside.tick();
    }
    link_->flush();
    counters_.turns.add();
    if (got == 0) link_->wait(next_tick - now);
  }
  server_.shut_down(outbox_);
  send_outbox();
  link_->flush();
}

void HostLoop::stop() {
  stopping_.store(true, std::memory_order_relaxed);
  link_->wake();
}

void HostLoop::receive(const ReceivedDatagram& datagram, Instant now) {
  counters_.received.add();
  counters_.received_bytes.add(datagram.bytes.size());
  auto parsed = wire::parse(datagram.bytes);
  if (const auto* bad = std::get_if<DropReason>(&parsed)) return link_->drops().add(*bad);
  auto& packet = std::get<wire::Packet>(parsed);
  packet.congestion_experienced = datagram.congestion_experienced;
  // The UDP checksum is already verified; without one there must be a CRC32C (rule 18).
  const completion::ServedJob* const job = server_.find_job(packet.header.job);
  const bool required =
      !datagram.has_checksum || (job != nullptr && job->integrity == wire::Integrity::crc32c);
  DropReason what = check_crc32c(datagram.bytes, packet, required);
  const wire::UdpPeer peer(0, datagram.from.port, datagram.from.ipv4);
  if (what == DropReason::none) what = server_.on_packet(packet, peer, now, outbox_);
  if (what != DropReason::none) link_->drops().add(what);
  send_outbox();
}

void HostLoop::send_outbox() {
  for (const aggregator::Outgoing& message : outbox_.items()) {
    const std::span<std::byte> room = link_->room();
    const std::size_t head = wire::serialize(message.header, message.extension_span(), room);
    if (head == 0 || head + message.payload.size() > room.size()) {
      link_->drops().add(DropReason::mtu);
      continue;
    }
    if (!message.payload.empty())
      std::memcpy(room.data() + head, message.payload.data(), message.payload.size());
    const wire::UdpPeer to(message.peer);
    link_->queue(head + message.payload.size(), {to.ipv4, to.udp_port});
    counters_.sent.add();
    counters_.sent_bytes.add(head + message.payload.size());
  }
  outbox_.clear();
}

}  // namespace tributary::worker
