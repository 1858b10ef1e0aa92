// Random packets of two jobs for engines that are to agree on everything: chunks that saturate, are
// rounded, divided or collide, resends, probes, and ranks that disagree.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/net/udp_peer.h"
#include "core/prng.h"
#include "tests/aggregator/engine_fixture.h"

namespace tributary::aggregator {

// One packet of the random load, with the memory it refers to.
struct Made {
  wire::Header header;
  std::vector<std::byte> payload;
  wire::UdpPeer from;
};

// Random packets of two jobs, whose chunks saturate, are rounded, divided or collide.
class RandomLoad : public EngineTest {
 protected:
  static constexpr std::uint32_t kRanks = 3;
  static constexpr std::uint32_t kWindow = 4;
  static constexpr std::uint32_t kJobs[] = {kJob, kJob + 1};

  static config::SwitchConfig both_jobs() {
    config::JobConfig other = test_job(kRanks, kWindow);
    other.id = kJobs[1];
    other.name = "other";
    other.slots = config::SlotMode::dynamic;
    other.on_deadline = config::OnDeadline::escalate;
    config::SwitchConfig c = test_switch({test_job(kRanks, kWindow), other});
    c.slots = 2 * kWindow;
    return c;
  }

  // The same packets make engines agree on everything, epochs included.
  std::uint16_t join_all(Engine& engine, std::uint32_t job, int incarnation) {
    std::uint16_t epoch = 0;
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      std::array<std::byte, 16> buffer;
      wire::ExtensionWriter ext(buffer);
      ext.add_nonce(nonce(rank, incarnation));
      wire::Header h = header(wire::PacketType::join, rank);
      h.job = job;
      engine.on_packet({h, ext.bytes(), {}}, peer(rank), now_, *outbox_);
      for (const Sent& s : take_sent())
        if (s.header.type == wire::PacketType::start) epoch = s.header.epoch;
    }
    return epoch;
  }

  std::vector<Sent> take_sent() {
    sent_.clear();
    collect();
    return std::move(sent_);
  }

  // A chunk's seq says what it is.
  Made random_packet(Prng& prng, std::uint32_t j, std::uint16_t epoch, std::uint32_t low) {
    struct Kind {
      wire::DType dtype;
      wire::ReduceOp op;
    };
    static constexpr Kind kKinds[] = {{wire::DType::int32, wire::ReduceOp::sum},
                                      {wire::DType::uint8, wire::ReduceOp::sum},
                                      {wire::DType::float16, wire::ReduceOp::sum},
                                      {wire::DType::float32, wire::ReduceOp::mean}};
    const std::uint32_t rank = prng.below(kRanks);
    const auto seq = low + prng.below(kWindow + 1);
    const Kind kind = kKinds[seq % std::size(kKinds)];
    Made m;
    m.from = peer(rank);
    const std::uint32_t what = prng.below(100);
    if (what < 6) {
      m.header = header(what < 3 ? wire::PacketType::probe : wire::PacketType::ack, rank);
      m.header.op = seq;
      m.header.seq = what < 3 ? seq : low;
    } else {
      // One in a hundred asks for something else than the others.
      const auto count = static_cast<std::uint16_t>(what == 99 ? 4 : 8);
      m.header = data_header(rank, seq, count, kind.dtype);
      m.header.reduce_op = kind.op;
      if (what < 16) m.header.flags |= wire::kFlagResend;
      if (what < 10) m.header.flags |= wire::kFlagAtPs;
      m.payload.resize(count * wire::size_of(kind.dtype));
      // Large positive numbers of any type: half of the integers saturate.
      for (std::byte& b : m.payload) b = static_cast<std::byte>(prng.below(0x60));
    }
    m.header.job = kJobs[j];
    m.header.epoch = epoch;
    m.header.fan_in = kRanks;
    return m;
  }
};

inline bool same(const Sent& a, const Sent& b) {
  const bool same_peer = a.to != Outgoing::To::peer || a.peer == b.peer;
  return a.to == b.to && same_peer && a.header == b.header && a.extensions == b.extensions &&
         a.payload == b.payload;
}

}  // namespace tributary::aggregator
