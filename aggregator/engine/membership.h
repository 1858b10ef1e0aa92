// Membership of a job, epoch by epoch (protocol rule 1). Pure state: the engine turns the outcomes
// into messages and clears the chunk tables.
//
//   idle ──JOIN──▶ forming ──all ranks joined──▶ running ──all left──▶ idle
//                    ▲                              │
//                    └────JOIN──── aborted ◀────────┘ restart, lapse, leave with open chunks, ...
//
// A rank is bound to the Endpoint it joined from. While its lease lasts, a JOIN from another port
// or address does not take its place. A JOIN with another nonce and UDP port from the same place is
// a restarted process, or a second one for the same rank: the rank is asked at its old UDP port,
// and yields when it has not answered two questions. The same UDP port can only be a restart. Until
// a rank has sent more than JOINs, a JOIN with its nonce may bring a new MAC address.
//
// A second process repeats its JOIN for as long as its caller waits, so the rank is asked again and
// again. Each answer counts until the next question, and one that has answered yields only after
// five questions in a row: of some hundred rows, one of two lost packets is likely, and would end
// an epoch that is alive. However often JOIN comes, a question follows the one before by
// kAnswerTime.
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
  // Where another process claims this rank: the last question; wraps after 71 minutes.
  std::uint32_t asked_us = 0;
  std::uint8_t questions : 3 = 0;  // in a row, without an answer; 0: not claimed
  bool vouched : 1 = false;        // has answered one since the claim began
  bool question_due : 1 = false;
  bool joined : 1 = false;    // takes part in the epoch that forms
  bool present : 1 = false;   // takes part in the epoch that runs, and has not left
  bool active : 1 = false;    // has sent more than JOINs in its epoch
  bool able : 1 = false;      // can take part in a drain
  bool answered : 1 = false;  // has answered the question of the drain
  bool left : 1 = false;      // has said so since it joined
  bool names_run : 1 = false;
  std::uint16_t size = 0;  // the ranks that it counts, where a job may be resized
};
static_assert(sizeof(Member) == config::kMemberBytes);

class Membership {
 public:
  enum class Join : std::uint8_t {
    waiting,     // noted; others are missing
    complete,    // all ranks are here: the engine starts the next epoch
    repeated,    // this member's START may have been lost
    restarted,   // another incarnation of a running rank: the engine aborts, then joins it
    asked,       // the process that has the rank is asked whether it lives
    occupied,    // bound elsewhere; lease not lapsed; asked as well
    taken,       // the process that has the rank has answered, and is asked again
    wrong_port,  // the configuration pins this rank to another port
    stale,       // a nonce that has had its epoch
    closing,     // the previous epoch's other ranks have not all left yet
  };

  // `pinned_ports[rank]` is the only port the rank may join through, or kAnyPort.
  static constexpr std::uint16_t kAnyPort = 0xFFFF;
  Membership(std::uint32_t workers, Duration lease, std::vector<std::uint16_t> pinned_ports);

  // For jobs that may be resized, while no epoch runs. The next epoch has the first `workers`
  // ranks, if all of them count so many; the others wait for a later one.
  void resize(std::uint32_t workers) { count_ = workers; }
  // A rank that waits, was heard lately, and states another size than `size`, where each of the two
  // ranks has a place in the other's size. kNone: there is none.
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;
  [[nodiscard]] std::uint32_t contradicting(std::uint32_t rank, std::uint32_t size,
                                            Instant now) const;
  // A rank that waits, was heard lately, and is of another run of the program than `run`; kNone:
  // there is none. A run of 0 is unknown, and may be any.
  [[nodiscard]] std::uint32_t of_other_run(std::uint32_t rank, std::uint64_t run,
                                           Instant now) const;
  // The rank that has just joined is of this run.
  void take_run(std::uint32_t rank, std::uint64_t run);
  // The run of the ranks that wait; 0: unknown.
  [[nodiscard]] std::uint64_t run() const;
  // `size`: the ranks that the sender counts; 0 where the job is never resized.
  Join join(std::uint32_t rank, std::uint64_t nonce, const Endpoint& from, Instant now,
            std::uint16_t size = 0);
  // After join(): whether the process that has the rank is to be asked now.
  bool take_question(std::uint32_t rank);
  // While no epoch runs: this nonce has had its epoch.
  [[nodiscard]] bool is_stale(std::uint32_t rank, std::uint64_t nonce) const {
    const Member& m = members_[rank];
    return state_ != JobState::running && m.active && m.nonce == nonce;
  }
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
  // For drains (aggregator/engine/drain.h).
  void set_able(std::uint32_t rank, bool able) { members_[rank].able = able; }
  [[nodiscard]] bool all_able() const;
  void ask_all();
  void answered(std::uint32_t rank, bool yes = true) { members_[rank].answered = yes; }
  [[nodiscard]] bool all_answered() const;
  // Joins the epoch that forms, under the number of ranks that it has so far.
  [[nodiscard]] bool waits(std::uint32_t rank) const {
    const Member& m = members_[rank];
    return m.joined && (m.size == 0 || m.size == count_);
  }
  // Looks at the ranks before `end`.
  [[nodiscard]] bool any_waits_but(std::uint32_t rank, std::uint32_t end) const;
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
  [[nodiscard]] std::uint32_t workers() const { return count_; }
  [[nodiscard]] std::uint32_t present() const { return present_; }
  [[nodiscard]] const Member& member(std::uint32_t rank) const { return members_[rank]; }
  [[nodiscard]] std::span<const Member> all() const { return std::span(members_).first(count_); }
  // Ranks for which a newcomer waits; at most out.size() written, returns how many.
  std::size_t awaited(std::span<std::uint32_t> out, Instant now) const;
  // Ranks that were started but are not present any more.
  std::size_t departed(std::span<std::uint32_t> out) const;
  [[nodiscard]] std::size_t table_bytes() const {
    return members_.capacity() * sizeof(Member) + pinned_ports_.capacity() * sizeof(std::uint16_t);
  }

 private:
  Join admit(Member& m, std::uint64_t nonce, const Endpoint& from, Instant now, std::uint16_t size);
  // `from` claims this member's rank with another nonce: `restarted` if it may have it.
  Join contest(Member& m, const Endpoint& from, Instant now) const;
  [[nodiscard]] bool may_rebind(const Member& m, const Endpoint& from) const;

  Duration lease_;
  std::vector<Member> members_;
  std::vector<std::uint16_t> pinned_ports_;
  JobState state_ = JobState::idle;
  std::uint16_t epoch_ = 0;
  std::uint32_t count_;  // of members_, that the epoch has or will have
  std::uint32_t present_ = 0;
  std::uint32_t joined_ = 0;  // of all members_
  std::uint64_t run_ = 0;     // of those that name one
  Instant newest_;  // when the last rank, or incarnation of one, joined the epoch that forms
  Instant next_scan_;
};

}  // namespace tributary::aggregator
