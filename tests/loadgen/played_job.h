// A switch's engine and the players of one job, in virtual time: what a player sends is parsed and
// checked as a switch does it, what the engine answers goes to the players it is for.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "aggregator/engine/engine.h"
#include "core/net/udp_peer.h"
#include "core/wire/integrity.h"
#include "dataplane/udp/address_book.h"
#include "tools/loadgen/job.h"
#include "tools/loadgen/player.h"

namespace tributary::loadgen {

inline config::JobConfig job_of(std::uint32_t workers, std::uint8_t shards = 1) {
  config::JobConfig job;
  job.id = 7;
  job.workers = workers;
  job.window = 8;
  job.chunk_bytes = 256;
  job.shards = shards;
  return job;
}

// Keeps what is committed.
class FrameList final : public FrameSink {
 public:
  [[nodiscard]] bool roomy() const override { return room; }
  std::span<std::byte> frame() override {
    return frames.size() < most ? std::span(next_) : std::span<std::byte>();
  }
  void commit(std::size_t bytes) override {
    frames.emplace_back(next_.begin(), next_.begin() + static_cast<long>(bytes));
  }

  bool room = true;
  std::size_t most = SIZE_MAX;  // frames; more than that find no room
  std::vector<std::vector<std::byte>> frames;

 private:
  std::vector<std::byte> next_ = std::vector<std::byte>(10'000);
};

class PlayedJob {
 public:
  explicit PlayedJob(const config::JobConfig& job, const Faults& faults = {},
                     wire::DType dtype = wire::DType::float32)
      : config_(config_of(job)),
        pattern_(dtype, job.id, job.workers, job.chunk_bytes),
        scratch_(kOpChunks * job.chunk_bytes),
        engine_(config_, dataplane::kUdpAddresses, {}),
        outbox_(engine_.outbox_capacity()) {
    for (std::uint32_t rank = 0; rank < job.workers; ++rank) {
      PlayerOptions o;
      o.session.job = job.id;
      o.session.rank = rank;
      o.session.size = job.workers;
      o.session.nonce = 100 + rank;
      o.own_ipv4 = 0x0A500001 + rank;
      o.switch_ipv4 = config_.ipv4;
      o.base_port = config_.udp_base_port;
      o.chunk_bytes = job.chunk_bytes;
      o.op_chunks = kOpChunks;
      o.open_ops = 4;
      o.scratch = scratch_;
      o.faults = faults;
      o.seed = 20240707 + rank;
      players.push_back(std::make_unique<Player>(o, pattern_, now));
    }
  }

  // Runs until `done` or for a minute; whether it was done.
  template <typename Done>
  bool run_until(Done&& done) {
    const Instant end = now + Duration::seconds(60);
    while (now < end) {
      if (done()) return true;
      now = now + Duration::us(50);
      for (const auto& player : players) player->poll(now, sink);
      const auto frames = std::exchange(sink.frames, {});
      for (const auto& frame : frames) arrive(frame);
      engine_.expire(now, outbox_);
      deliver();
    }
    return done();
  }
  bool join() {
    return run_until([this] {
      for (const auto& player : players)
        if (player->state() != worker::SessionState::running) return false;
      return true;
    });
  }
  [[nodiscard]] std::vector<Player*> raw() const {
    std::vector<Player*> out;
    for (const auto& player : players) out.push_back(player.get());
    return out;
  }
  [[nodiscard]] std::uint64_t refused() const { return refused_; }

  static constexpr std::uint32_t kOpChunks = 4;
  Instant now = Instant::from_ns(1'000'000'000);
  std::vector<std::unique_ptr<Player>> players;
  FrameList sink;

 private:
  static config::SwitchConfig config_of(const config::JobConfig& job) {
    config::SwitchConfig config;
    config.ipv4 = 0x0A4D00FE;
    config.ports = {{"p", "net_ring", 9000}};
    config.jobs = {job};
    return config;
  }
  void arrive(std::span<const std::byte> frame) {
    const auto eth = wire::parse_ethernet(frame);
    const auto* view = std::get_if<wire::EthernetView>(&eth);
    if (view == nullptr || view->ether_type != wire::kEtherTypeIpv4) return refuse();
    const auto ip = wire::parse_udp4(view->payload);
    const auto* udp = std::get_if<std::optional<wire::Udp4View>>(&ip);
    wire::Packet packet;
    if (udp == nullptr || !*udp || wire::parse((*udp)->payload, packet) != DropReason::none ||
        wire::check_integrity(**udp, packet) != DropReason::none)
      return refuse();
    wire::UdpPeer from;
    from.ipv4 = (*udp)->endpoints.source_ip;
    from.udp_port = (*udp)->endpoints.source_port;
    if (engine_.on_packet(packet, from, now, outbox_).reason != DropReason::none) ++refused_;
    deliver();
  }
  void refuse() { ++refused_; }
  void deliver() {
    for (const aggregator::Outgoing& o : outbox_.items()) {
      const wire::Packet packet{o.header, o.extension_span(), o.payload};
      for (const auto& player : players) {
        const bool all = o.to == aggregator::Outgoing::To::job_group;
        const bool one = o.to == aggregator::Outgoing::To::peer &&
                         ipv4_of(o.peer.node()) == player->options().own_ipv4;
        if (all || one) player->on_packet(packet, now);
      }
    }
    outbox_.clear();
  }

  config::SwitchConfig config_;
  Pattern pattern_;
  std::vector<std::byte> scratch_;
  aggregator::Engine engine_;
  aggregator::Outbox outbox_;
  std::uint64_t refused_ = 0;
};

}  // namespace tributary::loadgen
