// A session with its clock and its switch in the test's hands: packets in and out, one by one.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

#include "worker/session/session.h"

namespace tributary::worker {

class SessionTest : public ::testing::Test {
 protected:
  static constexpr std::uint32_t kJob = 1;
  static constexpr std::uint64_t kNonce = 0xABCDEF;
  static constexpr std::uint16_t kEpoch = 7;

  // A sent datagram, copied.
  struct Sent {
    std::vector<std::byte> bytes;
    wire::Header header;
    std::vector<std::byte> extensions;
    std::vector<std::byte> payload;
  };

  void SetUp() override {
    options.job = kJob;
    options.rank = 1;
    options.size = 3;
    options.nonce = kNonce;
    options.switch_name = "udp://10.0.0.1";
    options.op_timeout = Duration::seconds(10);
    create();
  }
  void create() { session.emplace(options, now); }

  // Everything that is due now.
  std::vector<Sent> drain() {
    std::vector<Sent> all;
    do {
      session->poll(now, batch);
      for (const Datagram& d : batch.datagrams()) all.push_back(copy(d));
    } while (batch.full());
    return all;
  }
  Sent copy(const Datagram& d) const {
    Sent s;
    s.bytes.assign(d.head.begin(), d.head.end());
    s.bytes.insert(s.bytes.end(), d.payload.begin(), d.payload.end());
    const auto parsed = wire::parse(s.bytes);
    const auto& packet = std::get<wire::Packet>(parsed);
    s.header = packet.header;
    s.extensions.assign(packet.extensions.begin(), packet.extensions.end());
    s.payload.assign(packet.payload.begin(), packet.payload.end());
    EXPECT_EQ(d.port, options.plane * session->start_info().shards + s.header.shard);
    return s;
  }
  // Moves to `at` through every wake-up before it; returns what was sent on the way.
  std::vector<Sent> run_to(Instant at) {
    std::vector<Sent> all = drain();
    while (session->next_wakeup() <= at) {
      now = std::max(now, session->next_wakeup());
      for (Sent& s : drain()) all.push_back(std::move(s));
    }
    now = at;
    return all;
  }
  std::vector<Sent> run_for(Duration d) { return run_to(now + d); }

  void receive(const wire::Header& h, const wire::ExtensionWriter* extensions = nullptr,
               std::span<const std::byte> payload = {}) {
    wire::Packet p;
    p.header = h;
    if (extensions != nullptr) p.extensions = extensions->bytes();
    p.payload = payload;
    session->on_packet(p, now);
  }
  static wire::Header from_switch(wire::PacketType type) {
    wire::Header h;
    h.type = type;
    h.job = kJob;
    h.epoch = kEpoch;
    h.fan_in = 3;
    return h;
  }
  // An answer about the chunk that `about` carries or probes.
  static wire::Header answer(const Sent& about, wire::PacketType type) {
    wire::Header h = from_switch(type);
    h.op = about.header.op;
    h.chunk = about.header.chunk;
    h.seq = about.header.seq;
    h.shard = about.header.shard;
    return h;
  }
  void receive_missing(wire::Header h, std::vector<std::uint32_t> ids) {
    wire::ExtensionWriter w(room);
    w.add_missing_ids(ids);
    receive(h, &w);
  }
  // The switch multicasts the sum: here, the contribution's int32 elements plus `added`.
  void receive_result(const Sent& contribution, std::int32_t added = 100) {
    const std::vector<std::byte> payload = plus(contribution.payload, added);
    receive(result_of(contribution), nullptr, payload);
  }
  // The answer to a JOIN that others are awaited.
  void receive_awaited(const std::vector<std::uint32_t>& ranks) {
    wire::ExtensionWriter w(room);
    w.add_nonce(kNonce);
    w.add_missing_ids(ranks);
    wire::Header h = from_switch(wire::PacketType::pending);
    h.epoch = 0;
    receive(h, &w);
  }
  // The answer to a JOIN that another process has this rank: at that address, if it has answered.
  void receive_refusal(std::uint32_t ipv4 = 0, std::uint16_t udp_port = 0) {
    wire::ExtensionWriter w(room);
    w.add_nonce(kNonce);
    wire::Header h = from_switch(wire::PacketType::nack);
    h.epoch = 0;
    h.reason = wire::Reason::sender_mismatch;
    h.slot = ipv4;
    h.op = udp_port;
    receive(h, &w);
  }
  static wire::Header result_of(const Sent& contribution) {
    wire::Header h = contribution.header;
    h.type = wire::PacketType::result;
    h.flags &= wire::kFlagLast;
    h.origin = 0;
    h.child = 0;
    h.covered = 3;
    return h;
  }
  static std::vector<std::byte> plus(std::vector<std::byte> payload, std::int32_t added) {
    for (std::size_t at = 0; at < payload.size(); at += 4) {
      std::int32_t v = 0;
      std::memcpy(&v, payload.data() + at, 4);
      v += added;
      std::memcpy(payload.data() + at, &v, 4);
    }
    return payload;
  }

  static wire::StartInfo start_info(std::uint32_t window = 4, std::uint32_t chunk_bytes = 16,
                                    std::uint8_t shards = 1) {
    wire::StartInfo info;
    info.window = window;
    info.chunk_bytes = chunk_bytes;
    info.workers = 3;
    info.lease_ms = 3000;
    info.group_ipv4 = 0xEFC30001;
    info.shards = shards;
    info.udp_base_port = 47000;
    return info;
  }
  void receive_start(const wire::StartInfo& info, std::uint32_t first_seq = 0,
                     std::uint64_t nonce = kNonce, std::uint16_t child = 1,
                     std::uint16_t fan_in = 3, std::uint32_t flags = 0) {
    wire::ExtensionWriter w(room);
    w.add_nonce(nonce);
    w.add(info);
    wire::Header h = from_switch(wire::PacketType::start);
    h.child = child;
    h.fan_in = fan_in;
    h.seq = first_seq;
    h.flags = flags;
    receive(h, &w);
  }
  void start(const wire::StartInfo& info, std::uint32_t first_seq = 0) {
    drain();
    receive_start(info, first_seq);
    ASSERT_EQ(session->state(), SessionState::running)
        << (session->failure() ? session->failure()->text : "");
  }

  // An op over its own array 0, 1, 2, ...
  struct Call {
    std::vector<std::int32_t> data;
    Op op;
  };
  Call& submit(std::size_t count) {
    calls.push_back(std::make_unique<Call>());
    Call& c = *calls.back();
    for (std::size_t i = 0; i < count; ++i) c.data.push_back(static_cast<std::int32_t>(i));
    c.op.data = reinterpret_cast<std::byte*>(c.data.data());
    c.op.count = count;
    c.op.dtype = wire::DType::int32;
    session->submit(c.op, now);
    return c;
  }

  static std::vector<Sent> of_type(std::vector<Sent> all, wire::PacketType type) {
    std::erase_if(all, [type](const Sent& s) { return s.header.type != type; });
    return all;
  }

  SessionOptions options;
  Instant now = Instant::from_ns(5'000'000'000);
  std::optional<Session> session;
  SendBatch batch;
  std::array<std::byte, wire::kMaxExtensionBytes> room{};
  std::vector<std::unique_ptr<Call>> calls;
};

}  // namespace tributary::worker
