// One job's membership of the switch above: the upper half of a switch in a tree.
//
//   down ──all children joined──▶ joining ──START──▶ running ──last child left──▶ leaving ──┐
//    ▲                               ▲                  │                                   │
//    │                               └── children ──────┤ the epoch ends here               │
//    └── ABORT, NACK, or 3 tries ──── aborting ◀────────┘       ACK, ABORT, or 3 tries ─────┤
//    ▲                                                                                      │
//    └──────────────────────────────────────────────────────────────────────────────────────┘
//
// For its parent a switch is a child like a worker: it joins with a nonce of its own, drawn anew
// each time its children have joined, keeps a lease, leaves, and is bound to one port and address.
// Two things differ: it also watches the parent (a LEASE is answered), because its own children
// rely on it; and if the epoch ends here, it ends above, too (ABORT goes up).
//
// Pure state: the engine sends the packets that due() and the other calls ask for. Lost JOINs are
// repeated when children repeat theirs, so only leases and farewells need timers.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "aggregator/chunk/outbox.h"
#include "aggregator/shard/join_refusal.h"
#include "config/model/switch_config.h"
#include "core/endpoint.h"
#include "core/prng.h"
#include "core/time.h"
#include "core/wire/drain.h"
#include "core/wire/extension.h"

namespace tributary::aggregator {

class Upstream {
 public:
  enum class State : std::uint8_t { down, joining, running, leaving, aborting };
  enum class Due : std::uint8_t { nothing, lease, leave, abort, parent_lost };

  // `peer`: the parent's endpoint, whose flow doesn't matter.
  Upstream(const config::ParentConfig& parent, const Endpoint& peer, Duration lease,
           std::uint64_t seed);

  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] std::uint16_t port() const { return peer_.port(); }
  [[nodiscard]] std::uint16_t child() const { return child_; }
  [[nodiscard]] std::uint16_t fan_in() const { return fan_in_; }
  [[nodiscard]] std::uint32_t parent_id() const { return parent_id_; }
  [[nodiscard]] std::uint64_t nonce() const { return nonce_; }
  [[nodiscard]] std::uint16_t epoch() const { return epoch_; }  // from running on
  // True for a packet that only the parent can have sent (protocol rule 18).
  [[nodiscard]] bool is_from(const Endpoint& peer) const { return peer.is_same_host(peer_); }

  // All children have joined, or one has sent JOIN again; `from`: what they resume from. Returns
  // true if JOIN must be sent now.
  bool join(Instant now, const wire::Resumption& from = {});
  // The parent's answers to JOIN. `ids` are the ranks that it waits for.
  void pending(std::span<const std::uint32_t> ids);
  void refused(const JoinRefusal& refusal, Instant now);
  // START came for this nonce.
  void start(std::uint16_t epoch, Instant now);
  [[nodiscard]] std::span<const std::uint32_t> awaited() const {
    return std::span(awaited_).first(awaited_count_);
  }
  // Why this switch cannot take part, as of a moment ago: the parent has refused it, or has other
  // settings. None if it can take part.
  [[nodiscard]] JoinRefusal refusal(Instant now) const;

  // A packet of the parent has come in the running epoch.
  void heard(Instant when) {
    if (state_ == State::running && last_heard_ < when) last_heard_ = when;
  }
  // The epoch ended above, or never began there: no farewell is needed.
  void end();
  // The last child has left / the epoch ended here. The caller sends LEAVE / ABORT now.
  void leave() { say_farewell(State::leaving); }
  void abort() { say_farewell(State::aborting); }
  // The action that is due at this time; the caller performs it.
  Due due(Instant now);

 private:
  void say_farewell(State state);

  Endpoint peer_;
  std::uint32_t parent_id_;
  std::uint16_t child_;
  std::uint16_t fan_in_;
  Duration lease_;
  Prng random_;

  State state_ = State::down;
  std::uint64_t nonce_ = 0;
  wire::Resumption from_;
  std::uint16_t epoch_ = 0;
  bool asked_ = false;  // JOIN was sent in this state
  Instant last_join_;
  Instant last_heard_;
  Instant last_lease_;
  Instant next_try_;  // when a farewell is repeated
  std::uint8_t tries_ = 0;
  JoinRefusal refusal_;
  Instant refused_at_;
  std::array<std::uint32_t, wire::kMaxMissingIds> awaited_{};
  std::size_t awaited_count_ = 0;
};

}  // namespace tributary::aggregator
