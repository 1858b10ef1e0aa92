// A root switch, two parameter servers and the ranks of one job, by hand and without a clock: what
// they send each other lies in a queue, from which a test lets it arrive, get lost, come twice or
// late. All of a rank's data asks for the completion engine (O6).
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "aggregator/engine/engine.h"
#include "completion/host/root_host.h"
#include "completion/host/server.h"
#include "core/net/udp_peer.h"
#include "core/prng.h"
#include "core/wire/extension.h"
#include "dataplane/udp/address_book.h"

namespace tributary::completion {

class RemoteFixture : public ::testing::Test {
 protected:
  static constexpr std::uint32_t kJob = 7;
  static constexpr std::uint32_t kRootIpv4 = 0x0A0000FE;
  static constexpr std::uint32_t kServerIpv4 = 0x0A020001;
  static constexpr std::uint32_t kWorkers = 3;
  static constexpr std::uint32_t kWindow = 8;

  // A packet on its way: `to` is a server's place, or kToRoot.
  static constexpr std::size_t kToRoot = 99;
  struct Flying {
    std::size_t to = 0;
    std::size_t from = 0;  // the server, when it goes to the root
    wire::Header header;
    std::vector<std::byte> extensions;
    std::vector<std::byte> payload;
    [[nodiscard]] wire::Packet packet() const { return {header, extensions, payload}; }
  };

  void build(bool root_too, std::uint8_t shards = 1, bool verify = false) {
    config::JobConfig job;
    job.id = kJob;
    job.name = "job";
    job.workers = kWorkers;
    job.window = kWindow;
    job.chunk_bytes = 64;
    job.shards = shards;
    job.deadline = Duration::seconds(1000);
    job.lease = Duration::seconds(1000);
    job.verify = verify;
    job.completion_hosts = hosts_;
    if (root_too) job.completion_hosts.emplace_back(config::kRootHost);
    job.host_choice = choice_;
    job.notify = notify_;
    config_.ipv4 = kRootIpv4;
    config_.ports.push_back({"p0", "net_null0", 9000});
    config_.completion.lease = Duration::ms(300);
    for (std::uint32_t i = 0; i < 2; ++i)
      config_.completion.hosts.push_back({"ps" + std::to_string(i), kServerIpv4 + i, "p0"});
    config_.jobs = {job};
    engine_ = std::make_unique<aggregator::Engine>(
        config_, dataplane::kUdpAddresses, aggregator::EngineStart{.epoch = 41, .memory = {}});
    host_ = std::make_unique<RootHost>(config_, engine_.get(), 77);
    box_ =
        std::make_unique<aggregator::Outbox>(engine_->outbox_capacity() + host_->outbox_capacity());
    for (std::size_t i = 0; i < 2; ++i) boot(i);
  }
  [[nodiscard]] ServedJob served() const {
    ServedJob job;
    job.limits = limits_of(config_.jobs[0]);
    job.limits.root_is_here = false;
    job.limits.bytes = most_bytes(job.limits);
    const std::uint16_t port = config_.udp_base_port;
    job.roots = wire::peers_of_shards({0, port, kRootIpv4}, job.limits.shards);
    job.group = wire::peers_of_shards({0, port, config::job_group_ipv4(kJob)}, job.limits.shards);
    job.optimizer = optimizer_;
    return job;
  }
  // Also again: it has forgotten everything.
  void boot(std::size_t place) {
    const std::array jobs = {served()};
    servers_.at(place) = std::make_unique<Server>(
        jobs, ServerIdentity{kServerIpv4 + static_cast<std::uint32_t>(place), ++nonces_,
                             Duration::ms(100)});
    incarnations_[place] = incarnation_of(nonces_);
    server_box_ = std::make_unique<aggregator::Outbox>(servers_[place]->outbox_capacity());
  }

  // ---- packets

  static wire::UdpPeer rank_peer(std::uint32_t rank) {
    wire::UdpPeer p;
    p.udp_port = static_cast<std::uint16_t>(5000 + rank);
    p.ipv4 = 0x0A010001u + rank;
    return p;
  }
  static wire::UdpPeer server_peer(std::size_t place) {
    wire::UdpPeer p;
    p.udp_port = 47000;
    p.ipv4 = kServerIpv4 + static_cast<std::uint32_t>(place);
    return p;
  }
  static std::vector<std::byte> copy(std::span<const std::byte> bytes) {
    return {bytes.begin(), bytes.end()};
  }
  // Sends the root's messages: those to servers are in flight, those to ranks arrive at once.
  void send() {
    ASSERT_EQ(box_->overflows(), 0u);
    for (const aggregator::Outgoing& o : box_->items()) {
      if (o.to == aggregator::Outgoing::To::completion_host) continue;
      const std::uint32_t server = ipv4_of(o.peer.node()) - kServerIpv4;
      if (o.to == aggregator::Outgoing::To::peer && server < 2)
        wire_.push_back({server, 0, o.header, copy(o.extension_span()), copy(o.payload)});
      else
        on_told(o);
    }
    box_->clear();
  }
  void on_told(const aggregator::Outgoing& o) {
    if (o.header.type == wire::PacketType::start) epoch_ = o.header.epoch;
    if (o.header.type == wire::PacketType::result && o.to == aggregator::Outgoing::To::job_group)
      results_.push_back({kToRoot, 0, o.header, {}, copy(o.payload)});
    if (o.header.type != wire::PacketType::result) told_.push_back(o.header);
  }
  bool to_engine(const wire::Packet& p) { return engine_->on_host_packet(p, now_, *box_); }
  aggregator::Decision to_root(const wire::Packet& p, const Endpoint& from) {
    const auto decision = host_->concerns(p) ? host_->on_packet(p, from, now_, *box_)
                                             : engine_->on_packet(p, from, now_, *box_);
    host_->exchange(*box_, now_, [this](const wire::Packet& x) { return to_engine(x); });
    send();
    return decision;
  }
  DropReason to_server(std::size_t place, const wire::Packet& p,
                       std::uint32_t from_ipv4 = kRootIpv4, std::uint16_t beside = 0) {
    wire::UdpPeer from;
    from.ipv4 = from_ipv4;
    from.udp_port = static_cast<std::uint16_t>(config_.udp_base_port + p.header.shard + beside);
    const DropReason what = servers_.at(place)->on_packet(p, from, now_, *server_box_);
    collect(place);
    return what;
  }
  void collect(std::size_t place) {
    for (const aggregator::Outgoing& o : server_box_->items())
      if (o.to == aggregator::Outgoing::To::job_group)
        direct_.push_back({static_cast<std::uint16_t>(o.peer.flow()), place, o.header,
                           copy(o.extension_span()), copy(o.payload)});
      else
        wire_.push_back({kToRoot, place, o.header, copy(o.extension_span()), copy(o.payload)});
    server_box_->clear();
  }
  aggregator::Decision arrive(const Flying& f) {
    if (f.to == kToRoot) return to_root(f.packet(), server_peer(f.from));
    if (servers_.at(f.to)) to_server(f.to, f.packet());
    return {aggregator::Verdict::noted};
  }
  // Everything that flies arrives, and what comes of it.
  void settle() {
    while (!wire_.empty()) {
      const Flying f = std::move(wire_.front());
      wire_.pop_front();
      arrive(f);
    }
  }
  // Delivers the messages in flight; their answers are in flight then.
  void arrive_once() {
    for (std::size_t n = wire_.size(); n > 0; --n) {
      const Flying f = std::move(wire_.front());
      wire_.pop_front();
      arrive(f);
    }
  }
  void tick(Duration step) {
    now_ = now_ + step;
    engine_->expire(now_, *box_);
    host_->expire(*box_, now_, [this](const wire::Packet& p) { return to_engine(p); });
    send();
    for (std::size_t i = 0; i < servers_.size(); ++i)
      if (servers_[i]) {
        servers_[i]->expire(now_, *server_box_);
        collect(i);
      }
  }
  // Ticks of 1 ms, with everything arriving at once.
  void live(int milliseconds) {
    for (int i = 0; i < milliseconds; ++i) {
      tick(Duration::ms(1));
      settle();
    }
  }

  // ---- ranks

  [[nodiscard]] wire::Header header(wire::PacketType type, std::uint32_t rank) const {
    wire::Header h;
    h.type = type;
    h.job = kJob;
    h.epoch = type == wire::PacketType::join ? std::uint16_t{0} : epoch_;
    h.origin = rank;
    h.child = static_cast<std::uint16_t>(rank);
    h.fan_in = kWorkers;
    return h;
  }
  void join() {
    for (std::uint32_t r = 0; r < kWorkers; ++r) {
      std::array<std::byte, 16> buffer;
      wire::ExtensionWriter ext(buffer);
      ext.add_nonce(++nonces_);
      to_root({header(wire::PacketType::join, r), ext.bytes(), {}}, rank_peer(r));
    }
    ASSERT_NE(epoch_, 0);
  }
  void leave() {
    for (std::uint32_t r = 0; r < kWorkers; ++r)
      to_root({header(wire::PacketType::leave, r), {}, {}}, rank_peer(r));
  }
  static std::int32_t value(std::uint32_t rank, std::uint32_t seq) {
    return static_cast<std::int32_t>((rank + 1) * 1000 + seq);
  }
  static std::int32_t sum(std::uint32_t seq) {
    std::int32_t all = 0;
    for (std::uint32_t r = 0; r < kWorkers; ++r) all += value(r, seq);
    return all;
  }
  void contribute(std::uint32_t rank, std::uint32_t seq, std::uint32_t flags = wire::kFlagAtPs,
                  std::uint8_t shard = 0) {
    wire::Header h = header(wire::PacketType::contribution, rank);
    h.flags = wire::kFlagLast | flags;
    h.op = h.seq = seq;
    h.shard = shard;
    h.covered = 1;
    h.dtype = wire::DType::int32;
    h.element_count = 1;
    const std::int32_t v = value(rank, seq);
    to_root({h, {}, std::as_bytes(std::span(&v, 1))}, rank_peer(rank));
  }
  void probe(std::uint32_t rank, std::uint32_t seq, std::uint8_t shard = 0) {
    wire::Header h = header(wire::PacketType::probe, rank);
    h.op = h.seq = seq;
    h.shard = shard;
    h.covered = 1;
    to_root({h, {}, {}}, rank_peer(rank));
  }
  // A host that took over lacks the data of the first `ranks`: who probes is asked for it, and
  // sends it again.
  void bring_again(std::uint32_t ranks, std::uint32_t seq) {
    for (std::uint32_t r = 0; r < ranks; ++r) {
      told_.clear();
      probe(r, seq);
      settle();
      ASSERT_EQ(told_.size(), 1u);
      EXPECT_EQ(told_[0].type, wire::PacketType::unknown);
      EXPECT_EQ(told_[0].flags & wire::kFlagAtPs, 0u);
      contribute(r, seq, wire::kFlagResend);
    }
  }
  [[nodiscard]] static std::int32_t result_of(const Flying& f) {
    std::int32_t v = 0;
    std::memcpy(&v, f.payload.data(), sizeof v);
    return v;
  }
  // The first packet of this type that flies to the root, taken off the wire.
  std::optional<Flying> take(wire::PacketType type) {
    for (auto it = wire_.begin(); it != wire_.end(); ++it) {
      if (it->to != kToRoot || it->header.type != type) continue;
      Flying f = std::move(*it);
      wire_.erase(it);
      return f;
    }
    return std::nullopt;
  }
  [[nodiscard]] const RemoteHosts& remote() const { return *host_->remote(); }
  [[nodiscard]] SeatStatus seat(std::size_t i = 0) const { return remote().status(now_).at(i); }

  std::vector<std::string> hosts_ = {"ps0", "ps1"};
  config::OptimizerConfig optimizer_;  // of kind none: no model
  config::HostChoice choice_ = config::HostChoice::fixed;
  wire::Notify notify_ = wire::Notify::root;
  std::vector<Flying> direct_;  // what servers say to the group; `to` is the UDP port
  config::SwitchConfig config_;
  std::unique_ptr<aggregator::Engine> engine_;
  std::unique_ptr<RootHost> host_;
  std::unique_ptr<aggregator::Outbox> box_;
  std::array<std::unique_ptr<Server>, 2> servers_;
  std::unique_ptr<aggregator::Outbox> server_box_;
  std::uint64_t nonces_ = 100;
  std::map<std::size_t, std::uint32_t> incarnations_;  // of servers
  Instant now_ = Instant::from_ns(1'000'000'000);
  std::uint16_t epoch_ = 0;
  std::deque<Flying> wire_;
  std::vector<Flying> results_;
  std::vector<wire::Header> told_;  // what ranks heard besides results
};

}  // namespace tributary::completion
