// An engine that must not allocate in any call on the packet loop: for packets, results and time,
// and where epochs begin and end. A fixture that has one makes each of its tests a test of that;
// still_engine.cc makes sure that together they take every path of an engine.
//
// Not checked: status and op lines, which allocate; and prepare(), which does so on the control
// thread.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include "aggregator/engine/engine.h"
#include "core/net/udp_peer.h"
#include "dataplane/udp/address_book.h"
#include "tests/aggregator/allocations.h"

namespace tributary::aggregator {

class StillEngine : public Engine {
 public:
  using Engine::Engine;
  ~StillEngine();

  // By wire::Collective.
  using Results = std::array<std::uint64_t, wire::kCollectiveMax + 1>;
  [[nodiscard]] const Results& results() const { return results_; }

  Decision on_packet(const wire::Packet& packet, const Endpoint& from, Instant now, Outbox& out) {
    const NoAllocations none;
    const Decision d = Engine::on_packet(packet, from, now, out);
    if (d.verdict == Verdict::completed) note_result(packet.header);
    return d;
  }
  Decision on_returned(const wire::Packet& sent, const Endpoint& from, Outbox& out) {
    const NoAllocations none;
    return Engine::on_returned(sent, from, out);
  }
  bool on_host_packet(const wire::Packet& packet, Instant now, Outbox& out) {
    const NoAllocations none;
    const bool taken = Engine::on_host_packet(packet, now, out);
    if (taken && packet.header.type == wire::PacketType::result) note_result(packet.header);
    return taken;
  }
  bool on_hosted_result(const wire::Packet& packet, Instant now, Outbox& out) {
    const NoAllocations none;
    return Engine::on_hosted_result(packet, now, out);
  }
  void on_sum_taken(const wire::Header& sum, Instant now) {
    const NoAllocations none;
    Engine::on_sum_taken(sum, now);
  }
  void set_completion_host(std::uint32_t job, std::uint8_t shard, std::uint32_t ipv4,
                           std::uint32_t term) {
    const NoAllocations none;
    Engine::set_completion_host(job, shard, ipv4, term);
  }
  std::uint32_t announce_again(std::uint32_t job, std::uint8_t shard, std::uint32_t seq,
                               Outbox& out) {
    const NoAllocations none;
    return Engine::announce_again(job, shard, seq, out);
  }
  Ruling exclude(std::uint32_t job, std::uint32_t child, bool exclude,
                 std::optional<std::uint32_t> from, Outbox& out) {
    const NoAllocations none;
    return Engine::exclude(job, child, exclude, from, out);
  }
  void abort_host_lost(std::uint32_t job, Outbox& out) {
    const NoAllocations none;
    Engine::abort_host_lost(job, out);
  }
  void prefetch_entry(const wire::Header& header) const {
    const NoAllocations none;
    Engine::prefetch_entry(header);
  }
  void prefetch_data(const wire::Packet& packet, Payloads payloads) const {
    const NoAllocations none;
    Engine::prefetch_data(packet, payloads);
  }
  void begin_burst() {
    const NoAllocations none;
    Engine::begin_burst();
  }
  void end_burst() {
    const NoAllocations none;
    Engine::end_burst();
  }
  void expire(Instant now, Outbox& out) {
    const NoAllocations none;
    Engine::expire(now, out);
  }
  void shut_down(Outbox& out) {
    const NoAllocations none;
    Engine::shut_down(out);
  }
  [[nodiscard]] ChunkLook look(const wire::Header& header) const {
    const NoAllocations none;
    return Engine::look(header);
  }
  void quiesce(const EngineChange& change, Outbox& out) {
    const NoAllocations none;
    Engine::quiesce(change, out);
  }
  void apply(EngineChange& change) {
    const NoAllocations none;
    Engine::apply(change);
  }
  void end_behind(std::uint16_t port, Outbox& out) {
    const NoAllocations none;
    Engine::end_behind(port, out);
  }
  std::shared_ptr<Shard> hand_over(std::uint8_t shard) {
    const NoAllocations none;
    return Engine::hand_over(shard);
  }
  void take_back(const std::shared_ptr<Shard>& shard, Outbox& out) {
    const NoAllocations none;
    Engine::take_back(shard, out);
  }

 private:
  void note_result(const wire::Header& h) { ++results_[static_cast<std::size_t>(h.collective)]; }

  Results results_{};
};

}  // namespace tributary::aggregator
