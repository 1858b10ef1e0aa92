// A rank on a connected queue pair, RC or UC. To the engine it is a member like any other: the
// switch's end speaks the protocol in its place, since the rank's packets have no header of ours.
//
//   free ──REQ──▶ replied ──RTU, or data──▶ joining ──START──▶ running
//     ▲              │ silence                 │ LEAVE, ABORT, DREQ, a NAK that ends it, silence
//     │              ▼                         ▼
//     └────────────────────────── ending ◀── failed
//                       DREP, or none
//
// The engine is told of a failed one from outside its calls; see ConnectedRanks. Pure: packets for
// the engine, and what engines say, as values. All memory is taken at construction.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "config/model/switch_config.h"
#include "core/counter.h"
#include "core/endpoint.h"
#include "core/time.h"
#include "core/wire/header.h"
#include "dataplane/rdma/connected/op_window.h"
#include "dataplane/rdma/connected/receive_side.h"
#include "dataplane/rdma/connected/send_side.h"
#include "dataplane/rdma/connected/unreliable_side.h"

namespace tributary::dataplane {

// Numbers of the switch's connected queue pairs, below those of jobs' UD queue pairs: which lcore
// has it, and a count that makes numbers come again late.
constexpr std::uint32_t kConnectedQpn = 0x400000;
constexpr std::uint32_t kConnectedCount = 0x3FFFF;
constexpr bool is_connected_qpn(std::uint32_t qpn) {
  return (qpn & 0xC00000) == kConnectedQpn;
}
constexpr std::uint16_t lcore_of_qpn(std::uint32_t qpn) {
  return static_cast<std::uint16_t>(qpn >> 18 & 0xF);
}
static_assert(config::kMaxLcores <= 16);
// DREQ comes again until the rank confirms it (IBA volume 1, 12.9), ever more rarely, and so many
// times in all.
constexpr std::uint32_t kMostDisconnects = 6;
constexpr Duration pause_after_disconnect(std::uint32_t nth) {
  return Duration::ms(50) * (std::int64_t{1} << (nth - 1));
}
// An endpoint's flow where it is one of these: no UD queue pair of a rank has that bit.
constexpr std::uint32_t kConnectedFlow = 0x80000000;
constexpr bool is_connected(const Endpoint& e) {
  return e.front_end() == FrontEndId::rdma && (e.flow() & kConnectedFlow) != 0;
}

struct Connection {
  enum class State : std::uint8_t { free, replied, joining, running, failed, ending };

  Connection(const config::JobConfig& config, std::uint32_t of_rank);

  State state = State::free;
  std::uint32_t job;
  std::uint32_t rank;
  std::uint32_t workers;
  Duration lease;

  // Set by REQ.
  wire::RoceTransport transport = wire::RoceTransport::rc;  // or uc
  std::uint32_t qpn = 0;  // of the switch's end, and its communication id
  std::uint32_t remote_qpn = 0;
  std::uint32_t remote_id = 0;
  std::uint64_t transaction = 0;
  std::uint32_t first_psn = 0;  // of the rank's requests
  std::uint8_t responder_resources = 0;
  std::uint8_t initiator_depth = 0;
  std::uint64_t nonce = 0;
  Endpoint peer;
  WindowTerms terms;
  ReceiveSide requests;      // of RC
  UnreliableSide datagrams;  // of UC
  SendSide results;
  // The expected request of RC, where it was not taken whole: the same packet is to come again.
  struct Partly {
    std::size_t bytes = 0;  // that were taken; 0: there is none
    std::uint64_t address = 0;
    std::size_t size = 0;
    // False for a packet in the place of this one that is another.
    [[nodiscard]] bool may_be(std::uint64_t at, std::size_t of) const {
      return bytes == 0 || (at == address && of == size);
    }
  };
  Partly partly;
  bool congested = false;  // the packet at hand has met a queue
  std::uint32_t acknowledged = 0;

  // Set by START.
  OpWindow window;
  std::uint16_t epoch = 0;
  std::uint16_t child = 0;
  std::uint16_t fan_in = 0;
  std::uint32_t first_seq = 0;
  bool wrote = false;  // data was taken since then

  Instant heard;     // the rank's last packet
  Instant progress;  // it last acknowledged a result, or had none to acknowledge
  Instant timer;     // of the next message that repeats, or of the next sign of life
  Instant told;      // the engine, that the rank lives
  Instant asked;     // before START a rank on UC, whether it is there; the engine, for results
  Instant repeated;  // results, because the rank asked for them
  std::uint32_t tries = 0;
  const char* why = "";      // it ends
  bool must_answer = false;  // the engine asks whether the rank lives

  struct Counters {
    Counter writes;  // packets of the rank that were taken
    Counter write_bytes;
    Counter results;  // packets to the rank, repeated ones included
    Counter result_bytes;
    Counter resent;  // of those
    Counter naks_sent;
    Counter naks_received;
  };
  Counters counters;

  [[nodiscard]] bool is_unreliable() const { return transport == wire::RoceTransport::uc; }
  [[nodiscard]] bool is_open() const { return state != State::free && state != State::ending; }
  // It has no epoch yet, or no more, whose end it would be told. Returns false, or says why it
  // ends.
  bool ends_outside_epoch(wire::Reason reason) {
    if (state == State::failed) return true;
    if (state != State::replied && state != State::joining) return false;
    why = wire::name_of(reason);
    return true;
  }
  // True once the engine knows of it.
  [[nodiscard]] bool has_joined() const {
    return state == State::joining || state == State::running || state == State::failed;
  }
  [[nodiscard]] std::uint32_t seq_of(std::uint64_t n) const {
    return first_seq + static_cast<std::uint32_t>(n);
  }
  // The chunk with this seq, which is within 2^31 of the window's base.
  [[nodiscard]] std::uint64_t chunk_of(std::uint32_t seq) const;

  // The rank's packets in the protocol. Their extensions are in `room`, whose bytes stay
  // until the engine is through with it.
  using Room = std::array<std::byte, 48>;
  [[nodiscard]] wire::Packet join(Room& room) const;
  [[nodiscard]] wire::Packet leave() const;
  [[nodiscard]] wire::Packet lease_packet() const {
    return {header(wire::PacketType::lease), {}, {}};
  }
  // All results that the rank is known to hold; a sign of life as well.
  [[nodiscard]] wire::Packet held() const;
  // Written in its place: there is one for each chunk.
  void contribute(std::uint64_t n, std::span<const std::byte> data, Room& room,
                  wire::Packet& packet) const;
  [[nodiscard]] wire::Packet probe(std::uint64_t n) const;

  // START of the engine.
  void start(const wire::Header& start);
  void fail(const char* because) {
    state = State::failed;
    why = because;
  }

 private:
  void describe(wire::PacketType type, wire::Header& h) const;
  void describe_chunk(wire::PacketType type, std::uint64_t n, wire::Header& h) const;
  [[nodiscard]] wire::Header header(wire::PacketType type) const {
    wire::Header h;
    describe(type, h);
    return h;
  }
};

}  // namespace tributary::dataplane
