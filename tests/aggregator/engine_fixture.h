// A switch engine with hand-made packets and hand-set time.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "core/net/udp_peer.h"
#include "core/wire/extension.h"
#include "tests/aggregator/still_engine.h"

namespace tributary::aggregator {

// A packet a worker or the engine sent, with the bytes it refers to.
struct Sent {
  Outgoing::To to = Outgoing::To::peer;
  Endpoint peer;
  wire::Header header;
  std::vector<std::byte> extensions;
  std::vector<std::byte> payload;

  template <typename T>
  [[nodiscard]] std::vector<T> elements() const {
    std::vector<T> v(payload.size() / sizeof(T));
    std::memcpy(v.data(), payload.data(), payload.size());
    return v;
  }
  [[nodiscard]] std::vector<std::uint32_t> missing() const {
    std::vector<std::uint32_t> ids(wire::kMaxExtensionBytes);
    ids.resize(wire::find_missing_ids(extensions, ids));
    return ids;
  }
};

inline config::JobConfig test_job(std::uint32_t workers = 3, std::uint32_t window = 4) {
  config::JobConfig job;
  job.id = 7;
  job.name = "test";
  job.workers = workers;
  job.window = window;
  job.chunk_bytes = 64;
  job.deadline = Duration::ms(500);
  job.on_deadline = config::OnDeadline::abort;
  job.lease = Duration::ms(1000);
  return job;
}

inline config::SwitchConfig test_switch(std::vector<config::JobConfig> jobs) {
  config::SwitchConfig c;
  c.slots = 64;
  for (int i = 0; i < 4; ++i)
    c.ports.push_back(
        {std::string("p").append(std::to_string(i)), "net_null" + std::to_string(i), 1500});
  c.jobs = std::move(jobs);
  return c;
}

class EngineTest : public ::testing::Test {
 protected:
  static constexpr std::uint32_t kJob = 7;
  static constexpr std::uint64_t kNonce = 100;  // + rank + 1000 × incarnation

  void build(config::SwitchConfig config, EngineStart start = {41, 0}) {
    workers_ = config.jobs.at(0).workers;
    first_seq_ = start.seq;
    engine_ = std::make_unique<StillEngine>(config, dataplane::kUdpAddresses, start);
    outbox_ = std::make_unique<Outbox>(engine_->outbox_capacity());
  }
  void build(std::uint32_t workers = 3, std::uint32_t window = 4) {
    build(test_switch({test_job(workers, window)}));
  }

  static wire::UdpPeer peer(std::uint32_t rank, std::uint16_t udp_port = 5000) {
    wire::UdpPeer p;
    p.port = static_cast<std::uint16_t>(rank);
    p.udp_port = udp_port;
    p.ipv4 = 0x0A4D0000u + rank;
    p.mac = {2, 0, 0, 0, 0, static_cast<std::uint8_t>(rank)};
    return p;
  }

  wire::Header header(wire::PacketType type, std::uint32_t rank) const {
    wire::Header h;
    h.type = type;
    h.job = kJob;
    h.epoch = type == wire::PacketType::join ? std::uint16_t{0} : epoch_;
    h.origin = rank;
    h.child = static_cast<std::uint16_t>(rank);
    h.fan_in = static_cast<std::uint16_t>(workers_);
    return h;
  }

  Decision deliver(const wire::Packet& packet, const Endpoint& from) {
    sent_.clear();
    const Decision d = engine_->on_packet(packet, from, now_, *outbox_);
    collect();
    return d;
  }
  Decision deliver(const wire::Header& h, const Endpoint& from) {
    return deliver({h, {}, {}}, from);
  }

  void expire() {
    sent_.clear();
    engine_->expire(now_, *outbox_);
    collect();
  }

  Decision join(std::uint32_t rank, int incarnation = 0) {
    return join(rank, incarnation, peer(rank));
  }
  Decision join(std::uint32_t rank, int incarnation, const Endpoint& from) {
    std::array<std::byte, 16> buffer;
    wire::ExtensionWriter ext(buffer);
    ext.add_nonce(nonce(rank, incarnation));
    return deliver({header(wire::PacketType::join, rank), ext.bytes(), {}}, from);
  }
  static std::uint64_t nonce(std::uint32_t rank, int incarnation) {
    return kNonce + rank + 1000 * static_cast<std::uint64_t>(incarnation);
  }
  void join_all(int incarnation = 0) {
    for (std::uint32_t r = 0; r < workers_; ++r) join(r, incarnation);
    ASSERT_EQ(sent_.size(), workers_);
    ASSERT_EQ(sent_[0].header.type, wire::PacketType::start);
    epoch_ = sent_[0].header.epoch;
  }

  wire::Header data_header(std::uint32_t rank, std::uint32_t seq, std::uint16_t count,
                           wire::DType dtype = wire::DType::int32) const {
    wire::Header h = header(wire::PacketType::contribution, rank);
    h.op = seq - first_seq_;
    h.seq = seq;
    h.covered = 1;
    h.dtype = dtype;
    h.element_count = count;
    h.flags = wire::kFlagLast;
    return h;
  }
  Decision contribute(std::uint32_t rank, std::uint32_t seq, std::vector<std::int32_t> values,
                      std::uint32_t extra_flags = 0) {
    wire::Header h = data_header(rank, seq, static_cast<std::uint16_t>(values.size()));
    h.flags |= extra_flags;
    return deliver({h, {}, std::as_bytes(std::span(values))}, peer(rank));
  }
  // The chunk without data with which a broadcast or an all_gather of so many elements begins.
  Decision agree(std::uint32_t rank, std::uint32_t seq, wire::Collective collective,
                 std::uint64_t total, std::uint32_t root, wire::DType dtype = wire::DType::int32) {
    wire::Header h = data_header(rank, seq, 0, dtype);
    h.collective = collective;
    h.flags = 0;
    std::array<std::byte, 48> room;
    wire::ExtensionWriter ext(room);
    ext.add(wire::TaskInformation{total, workers_, 0});
    if (collective == wire::Collective::broadcast) ext.add_target_rank(root);
    return deliver({h, ext.bytes(), {}}, peer(rank));
  }
  // All ranks contribute {rank + 1} to this seq.
  void complete(std::uint32_t seq) {
    for (std::uint32_t r = 0; r < workers_; ++r)
      contribute(r, seq, {static_cast<std::int32_t>(r) + 1});
  }
  Decision probe(std::uint32_t rank, std::uint32_t seq) {
    wire::Header h = header(wire::PacketType::probe, rank);
    h.op = seq - first_seq_;
    h.seq = seq;
    return deliver(h, peer(rank));
  }
  Decision acknowledge(std::uint32_t rank, std::uint32_t seq) {
    wire::Header h = header(wire::PacketType::ack, rank);
    h.seq = seq;
    return deliver(h, peer(rank));
  }
  Decision leave(std::uint32_t rank) {
    return deliver(header(wire::PacketType::leave, rank), peer(rank));
  }
  [[nodiscard]] JobCounters counters() const { return engine_->counters(0); }
  [[nodiscard]] JobStatus status() const { return engine_->job_status(now_)[0]; }

  std::unique_ptr<StillEngine> engine_;
  std::unique_ptr<Outbox> outbox_;
  Instant now_ = Instant::from_ns(1'000'000'000);
  std::uint32_t workers_ = 0;
  std::uint32_t first_seq_ = 0;
  std::uint16_t epoch_ = 0;
  std::vector<Sent> sent_;

  // Moves the engine's outbox to sent_.
  void collect() {
    for (const Outgoing& o : outbox_->items()) {
      const auto ext = o.extension_span();
      sent_.push_back(
          {o.to, o.peer, o.header, {ext.begin(), ext.end()}, {o.payload.begin(), o.payload.end()}});
    }
    outbox_->clear();
  }
};

}  // namespace tributary::aggregator
