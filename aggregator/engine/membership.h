// Who takes part in a job, epoch by epoch (protocol rule 1). Pure state: the engine turns the
// outcomes into messages and clears the chunk tables.
//
//   idle ──JOIN──▶ forming ──all ranks joined──▶ running ──all left──▶ idle
//                    ▲                              │
//                    └────JOIN──── aborted ◀────────┘ restart, lapse, leave with open chunks, ...
//
// A rank is bound to the Endpoint it joined from. While its lease lasts, a JOIN from another port
// or address does not take its place. Until it has sent more than JOINs, a JOIN with its nonce may
// bring a new MAC address.
//
// An epoch begins only with ranks that are waiting for it: each has sent a JOIN since the last one
// came, or just before. A rank that died while it waited is one that is missing.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "aggregator/chunk/outbox.h"
#include "aggregator/shard/status.h"
#include "config/plan/engine_tables.h"
#include "core/time.h"

namespace tributary::aggregator {

struct Member {
  Endpoint peer;
  std::uint64_t nonce = 0;
  Instant last_seen;
  bool joined = false;   // takes part in the epoch that forms
  bool present = false;  // takes part in the epoch that runs, and has not left
  bool active = false;   // has sent more than JOINs in its epoch
};
static_assert(sizeof(Member) == config::kMemberBytes);

class Membership {
 public:
  enum class Join : std::uint8_t {
    waiting,     // noted; others are missing
    complete,    // all ranks are here: the engine starts the next epoch
    repeated,    // this member's START may have been lost
    restarted,   // another incarnation of a running rank: the engine aborts, then joins it
    occupied,    // bound elsewhere; lease not lapsed
    wrong_port,  // the configuration pins this rank to another port
    stale,       // a nonce that has had its epoch
    closing,     // the previous epoch's other ranks have not all left yet
  };

  // `pinned_ports[rank]` is the only port the rank may join through, or kAnyPort.
  static constexpr std::uint16_t kAnyPort = 0xFFFF;
  Membership(std::uint32_t workers, Duration lease, std::vector<std::uint16_t> pinned_ports);

  Join join(std::uint32_t rank, std::uint64_t nonce, const Endpoint& from, Instant now);
  // All joined ranks become present; `epoch` is theirs.
  void start(std::uint16_t epoch, Instant now);
  // False where the configuration pins this rank to another port.
  [[nodiscard]] bool may_be_at(std::uint32_t rank, std::uint16_t port) const {
    return pinned_ports_[rank] == kAnyPort || pinned_ports_[rank] == port;
  }
  // True when `from` is where this present rank joined from; notes that it lives.
  bool is_present(std::uint32_t rank, const Endpoint& from, Instant now);
  // This present rank sent data at this time, maybe some time ago.
  void heard(std::uint32_t rank, Instant when);
  void leave(std::uint32_t rank);
  void abort();
  // The job goes on under another configuration, and this member with it, whom `before` knew as
  // `other`: nonces that have had their epoch stay so. adopt_epoch() comes last; no epoch runs.
  void adopt(std::uint32_t rank, const Membership& before, std::uint32_t other);
  void adopt_epoch(const Membership& before);
  // A present member that has been silent for its lease, or workers() when there is none;
  // also forgets ranks that stopped joining. Scans only when something may have lapsed.
  std::uint32_t lapsed(Instant now);
  [[nodiscard]] bool scan_due(Instant now) const { return now >= next_scan_; }
  // No lease ends before; passed: the epoch has none.
  [[nodiscard]] Instant next_scan() const { return next_scan_; }

  // While an epoch forms: no rank is missing any more.
  [[nodiscard]] bool all_joined(Instant now) const;
  [[nodiscard]] JobState state() const { return state_; }
  [[nodiscard]] std::uint16_t epoch() const { return epoch_; }  // of the last START; 0 before
  [[nodiscard]] std::uint32_t workers() const {
    return static_cast<std::uint32_t>(members_.size());
  }
  [[nodiscard]] std::uint32_t present() const { return present_; }
  [[nodiscard]] const Member& member(std::uint32_t rank) const { return members_[rank]; }
  [[nodiscard]] std::span<const Member> all() const { return members_; }
  // Ranks for which a newcomer waits; at most out.size() written, returns how many.
  std::size_t awaited(std::span<std::uint32_t> out, Instant now) const;
  // Ranks that were started but are not present any more.
  std::size_t departed(std::span<std::uint32_t> out) const;
  [[nodiscard]] std::size_t table_bytes() const {
    return members_.capacity() * sizeof(Member) + pinned_ports_.capacity() * sizeof(std::uint16_t);
  }

 private:
  Join admit(Member& m, std::uint64_t nonce, const Endpoint& from, Instant now);
  [[nodiscard]] bool same_place(const Member& m, const Endpoint& from) const;
  [[nodiscard]] bool may_rebind(const Member& m, const Endpoint& from) const;

  Duration lease_;
  std::vector<Member> members_;
  std::vector<std::uint16_t> pinned_ports_;
  JobState state_ = JobState::idle;
  std::uint16_t epoch_ = 0;
  std::uint32_t present_ = 0;
  std::uint32_t joined_ = 0;
  Instant newest_;  // when the last rank, or incarnation of one, joined the epoch that forms
  Instant next_scan_;
};

}  // namespace tributary::aggregator
