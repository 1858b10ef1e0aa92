#include "tests/worker/simulated_cluster.h"

#include <algorithm>
#include <array>

#include "core/net/udp_peer.h"
#include "dataplane/udp/address_book.h"

namespace tributary::worker {
namespace {

std::vector<std::byte> joined(std::span<const std::byte> head, std::span<const std::byte> payload) {
  std::vector<std::byte> all(head.begin(), head.end());
  all.insert(all.end(), payload.begin(), payload.end());
  return all;
}

}  // namespace

config::JobConfig small_job(std::uint32_t workers, std::uint32_t window, std::uint32_t chunk_bytes,
                            std::uint8_t shards) {
  config::JobConfig job;
  job.id = 1;
  job.workers = workers;
  job.window = window;
  job.chunk_bytes = chunk_bytes;
  job.shards = shards;
  return job;
}

SimulatedCluster::SimulatedCluster(std::uint64_t seed, const config::JobConfig& job,
                                   const NetworkModel& model, std::uint32_t first_seq,
                                   std::uint32_t loss_group)
    : prng_(seed), model_(model), first_seq_(first_seq), loss_group_(loss_group) {
  config_.ipv4 = 0x0A4D00FE;
  config_.ports.resize(job.workers);
  config_.jobs.push_back(job);
  ranks_.resize(job.workers);
  restart_switch(1);
  for (std::uint32_t r = 0; r < job.workers; ++r) create(r);
}

void SimulatedCluster::restart_switch(std::uint16_t first_epoch) {
  engine_ = std::make_unique<aggregator::Engine>(config_, dataplane::kUdpAddresses,
                                                 aggregator::EngineStart{first_epoch, first_seq_});
  outbox_ = std::make_unique<aggregator::Outbox>(engine_->outbox_capacity());
}

void SimulatedCluster::create(std::uint32_t rank) {
  create(ranks_[rank], rank, static_cast<std::uint16_t>(40000 + rank));
}

std::uint32_t SimulatedCluster::create_second(std::uint32_t rank) {
  create(ranks_.emplace_back(), rank, static_cast<std::uint16_t>(41000 + rank));
  return static_cast<std::uint32_t>(ranks_.size() - 1);
}

void SimulatedCluster::create(Node& node, std::uint32_t rank, std::uint16_t udp_port) {
  SessionOptions o;
  o.job = config_.jobs[0].id;
  o.rank = rank;
  o.size = config_.jobs[0].workers;
  o.nonce = prng_.next();
  o.switch_name = "switch";
  o.op_timeout = Duration::seconds(60);
  o.loss_group = loss_group_;
  node.session = std::make_unique<Session>(o, now_);
  node.rank = rank;
  node.udp_port = udp_port;
  node.dead = false;
}

bool SimulatedCluster::start_all(Duration limit) {
  return run_until(
      [this] {
        return std::all_of(ranks_.begin(), ranks_.end(), [](const Node& n) {
          return n.session->state() == SessionState::running;
        });
      },
      limit);
}

// Everything that is due now happens; then time moves to what is due next.
void SimulatedCluster::step() {
  while (!flights_.empty() && flights_.top().at <= now_) {
    const Flight f = flights_.top();
    flights_.pop();
    deliver(f);
  }
  if (now_ >= next_expire_) {
    engine_->expire(now_, *outbox_);
    flush_outbox();
    next_expire_ = now_ + Duration::ms(1);
  }
  poll_all();

  Instant next = next_expire_;
  if (!flights_.empty()) next = std::min(next, flights_.top().at);
  for (const Node& n : ranks_)
    if (!n.dead) next = std::min(next, n.session->next_wakeup());
  now_ = std::max(next, now_ + Duration::us(1));
}

void SimulatedCluster::poll_all() {
  for (Node& node : ranks_) {
    if (node.dead) continue;
    do {
      node.session->poll(now_, batch_);
      // Sometimes the transport has no room.
      std::size_t accepted = batch_.size();
      if (model_.loss_ppm > 0 && accepted > 0 && prng_.chance_ppm(20'000))
        accepted = prng_.below(static_cast<std::uint32_t>(accepted));
      for (std::size_t i = 0; i < accepted; ++i) {
        const Datagram& d = batch_.datagrams()[i];
        ++sent_[static_cast<std::size_t>(batch_.tag(i).type)];
        transmit(kSwitch, node.rank, node.udp_port, joined(d.head, d.payload));
      }
      if (accepted < batch_.size()) {
        node.session->rejected(batch_, accepted);
        break;
      }
    } while (batch_.full());
  }
}

void SimulatedCluster::transmit(int to, std::uint32_t from, std::uint16_t port,
                                const std::vector<std::byte>& bytes) {
  for (const std::byte b : bytes)
    trace_hash_ = (trace_hash_ ^ static_cast<std::uint64_t>(b)) * 1099511628211ULL;
  if (prng_.chance_ppm(model_.loss_ppm)) return;
  const int copies = prng_.chance_ppm(model_.duplicate_ppm) ? 2 : 1;
  for (int i = 0; i < copies; ++i) {
    const auto spread =
        static_cast<std::uint32_t>((model_.delay_max - model_.delay_min).to_ns() + 1);
    Duration delay = model_.delay_min + Duration::ns(prng_.below(spread));
    if (prng_.chance_ppm(model_.reorder_ppm)) delay = delay + Duration::us(prng_.below(3000));
    flights_.push({now_ + delay, order_++, to, from, port, bytes});
  }
}

void SimulatedCluster::deliver(const Flight& f) {
  const auto parsed = wire::parse(f.bytes);
  const auto* packet = std::get_if<wire::Packet>(&parsed);
  if (packet == nullptr) std::abort();  // nothing corrupts packets here
  if (f.to == kSwitch) {
    wire::UdpPeer peer;
    peer.port = static_cast<std::uint16_t>(f.from);
    peer.udp_port = f.port;
    peer.ipv4 = 0x0A4D0001 + f.from;
    peer.mac = {2};
    const aggregator::Decision d = engine_->on_packet(*packet, peer, now_, *outbox_);
    if (d.verdict == aggregator::Verdict::dropped && d.reason == DropReason::beyond_window)
      ++beyond_window_;
    flush_outbox();
    return;
  }
  for (const Node& node : ranks_)
    if (!node.dead && static_cast<int>(node.rank) == f.to && node.udp_port == f.port)
      node.session->on_packet(*packet, now_);
}

void SimulatedCluster::flush_outbox() {
  for (const aggregator::Outgoing& o : outbox_->items()) {
    if (o.to != aggregator::Outgoing::To::peer && o.to != aggregator::Outgoing::To::job_group)
      continue;
    std::array<std::byte, wire::kHeaderBytes + wire::kMaxExtensionBytes> head;
    const std::size_t n = wire::serialize(o.header, o.extension_span(), head);
    if (n == 0) std::abort();
    std::vector<std::byte> bytes = joined(std::span(head).first(n), o.payload);
    if (o.to == aggregator::Outgoing::To::peer) {
      transmit(o.peer.port(), 0, static_cast<std::uint16_t>(o.peer.flow()), bytes);
      continue;
    }
    for (const aggregator::Member& member : engine_->members(o.header.job).list) {
      transmit(member.peer.port(), 0, static_cast<std::uint16_t>(member.peer.flow()), bytes);
    }
  }
  outbox_->clear();
}

}  // namespace tributary::worker
