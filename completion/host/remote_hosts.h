// Completion hosts outside the root switch, as the root sees them (T10, protocol "Completion hosts
// elsewhere"): the host and the term of each shard of each job, and whether the host is alive.
//
//   aggregation engine ──To::completion_host──▶ intercept() ──To::peer──▶ host of (job, shard)
//           ▲                                                              │
//           └────────────── on_packet(): address, epoch, term ◀────────────┘
//
//   idle ──epoch begins──▶ asking ──ACK──▶ serving ──silent, restarted, refuses, leaves──┐
//    ▲  ▲                    ▲                                                           │
//    │  └─epoch ends─────────┴── the next live host: term + 1, chunks announced again ◀──┤
//    │                                                                                   │
//    └── here (the root is the last in the list) ◀── no live host ──▶ vacant ──▶ ABORT ◀─┘
//
// Invariants: a (job, shard) has one host at a time, and every change of it raises the term;
// packets from another address, epoch or term change nothing. Chunks have no state here: a host
// that takes over asks the ranks, by answering their probes.
//
// Pure; owner and threads are those of the aggregation engine.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "aggregator/chunk/job_index.h"
#include "aggregator/engine/engine.h"
#include "completion/host/host_job.h"
#include "config/model/switch_config.h"

namespace tributary::completion {

class RemoteHosts {
 public:
  // `nonce` tells incarnations of this switch apart, and later ones those of jobs that come. The
  // engine outlives this object.
  RemoteHosts(const config::SwitchConfig& config, aggregator::Engine& engine, std::uint64_t nonce);

  // True for packets of hosts, as opposed to those of workers and switches.
  [[nodiscard]] bool concerns(const wire::Packet& packet) const;
  aggregator::Decision on_packet(const wire::Packet& packet, const Endpoint& from, Instant now,
                                 aggregator::Outbox& box);
  // Takes a message that the engine sends. Returns true if it was for a host: it is on its way
  // there, or lost. Returns false if other receivers get it, too.
  bool intercept(aggregator::Outgoing& message, Instant now, aggregator::Outbox& box);
  // The messages of the last calls have been sent: the copies of their payload are free again.
  void sent() { copied_ = 0; }
  void expire(Instant now, aggregator::Outbox& box);
  // Chooses hosts anew, by the job's policy and the caller's ranking. A shard whose best host is
  // another one moves there at once: term + 1, chunks announced again. A shard that has come back
  // to the root stays there until the epoch ends.
  HostPlacement place_host(const HostRanking& ranking, Instant now, aggregator::Outbox& box);

  // True if the job has hosts outside the root.
  [[nodiscard]] bool serves(std::uint32_t job) const { return by_id_.find(job) != nullptr; }
  // The most messages that one call can append, without the engine's own.
  [[nodiscard]] std::size_t outbox_capacity() const;
  [[nodiscard]] static std::size_t outbox_capacity(const config::SwitchConfig& config);
  [[nodiscard]] std::size_t job_count() const { return jobs_.size(); }
  [[nodiscard]] std::uint32_t job_id(std::size_t index) const { return jobs_[index]->id; }
  [[nodiscard]] const HostCounters& counters(std::size_t index) const {
    return jobs_[index]->counters;
  }
  [[nodiscard]] std::vector<SeatStatus> status(Instant now) const;

  // Another configuration, as Engine::prepare() has it: a job with hosts outside the root that both
  // have stays as it is. apply() comes after the aggregation engine's.
  struct Change {
    std::vector<std::unique_ptr<HostJob>> jobs;  // nullptr: stays
    std::vector<std::size_t> stays_from;         // for those: the place before
    aggregator::JobIndex<HostJob> by_id;
    std::vector<std::byte> copies;
  };
  [[nodiscard]] std::shared_ptr<Change> prepare(const config::SwitchConfig& next,
                                                std::uint64_t nonce) const;
  void apply(Change& change);

 private:
  using Decision = aggregator::Decision;
  using Outbox = aggregator::Outbox;

  Decision on_hello(HostJob& job, Host& host, const wire::Packet& packet, const Endpoint& from,
                    Instant now, Outbox& box);
  Decision on_answer(HostJob& job, Seat& seat, const wire::Packet& packet, Instant now,
                     Outbox& box);
  Decision pass_on(HostJob& job, Seat& seat, const wire::Packet& packet, Instant now, Outbox& box);
  void begin(HostJob& job, Seat& seat, std::uint16_t epoch, Instant now, Outbox& box);
  void end(HostJob& job, Seat& seat, Outbox& box);
  void say_leave(const HostJob& job, const Seat& seat, Outbox& box);
  // Appoints another host, or the same one anew. `first`: the place at which the search begins.
  void take_over(HostJob& job, Seat& seat, std::size_t first, Chosen why, Instant now, Outbox& box);
  void appoint(HostJob& job, Seat& seat, std::optional<std::size_t> host);
  void expire_seat(HostJob& job, Seat& seat, Instant now, Outbox& box);
  void choose_while_idle(HostJob& job, Seat& seat, Instant now);
  void announce(HostJob& job, Seat& seat, Outbox& box);
  void send_start(HostJob& job, Seat& seat, Instant now, Outbox& box);
  [[nodiscard]] std::optional<std::size_t> find_alive(const HostJob& job, std::size_t first,
                                                      Instant now) const;
  [[nodiscard]] bool alive(const Host& host, Instant now) const;

  aggregator::Engine& engine_;
  Duration lease_;
  Instant next_look_;
  std::vector<std::unique_ptr<HostJob>> jobs_;
  aggregator::JobIndex<HostJob> by_id_;
  std::vector<std::byte> copies_;
  std::size_t copied_ = 0;
};

}  // namespace tributary::completion
