// The protocol engine of one rank in one epoch of a job, or of one of its planes
// (docs/protocol.md).
//
//   joining ──START──▶ running ──leave()──▶ leaving ──ACK, or 3 tries──▶ left
//      │                  │                    ▲
//      └─────timeout, NACK, ABORT─▶ failed ────┘ (only where the switch still holds this member)
//
// Pure: packets, ops and `now` come in; datagrams and finished ops go out. No clock, no I/O, no
// threads, and no allocation between START and the end of the epoch, except for an op whose result
// lacks ranks. One thread at a time calls it; other threads may read counters at any time. A failed
// epoch stays failed: a new session joins the next one.
//
// It decides what a packet means and makes the outgoing packets. Other classes keep its state, and
// each can be read and tested alone: Membership (is this rank a member?), Flights (which chunks are
// in flight, and which are overdue?), MissingRanks (which ranks does the switch wait for?),
// LeftOutRanks (which ranks does a result lack?).
//
// Files: session.cc (life, ops), session_join.cc (JOIN, START, LEAVE), session_send.cc (outgoing
// packets while running), session_receive.cc (incoming packets while running), session_retry.cc
// (chunks sent again as floating point), session_probe.cc (asking for overdue chunks),
// session_congestion.cc (fewer chunks in flight where data meets queues), session_drain.cc (the
// epoch is to end after an op that all ranks finish).
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "core/counter.h"
#include "core/drop_reason.h"
#include "core/exclusion.h"
#include "core/time.h"
#include "core/wire/drain.h"
#include "core/wire/extension.h"
#include "core/wire/header.h"
#include "worker/session/failure.h"
#include "worker/session/flights.h"
#include "worker/session/left_out_ranks.h"
#include "worker/session/membership.h"
#include "worker/session/missing_ranks.h"
#include "worker/session/op.h"
#include "worker/session/send_batch.h"
#include "worker/session/session_options.h"

namespace tributary::worker {

// Bytes are payload bytes.
struct SessionCounters {
  Counter ops;
  Counter contributions;  // first sends
  Counter contribution_bytes;
  Counter results;
  Counter result_bytes;
  Counter duplicate_results;
  Counter asked_results;  // answers to a probe, which the group's copy did not forestall
  Counter probes;
  Counter resends;
  Counter pending_replies;
  Counter unknown_replies;
  Counter float_retries;   // chunks whose fixed-point sum overflowed
  Counter floats_at_once;  // chunks sent as floats because others overflowed
  Counter degraded;        // results that lack ranks
  Counter smoothed_rtt_ns;
  Counter marked_results;    // results that carry a congestion mark (rule 15)
  Counter reported_marks;    // results that got a mark on their way to this rank
  Counter window_decreases;  // because of marked results, over all shards
  Counter least_window;      // gauge: the smallest of any shard so far; 0: before START
  DropCounters drops;
};

enum class SessionState : std::uint8_t { joining, running, failed, leaving, left };

class Session {
 public:
  Session(const SessionOptions& options, Instant now);

  [[nodiscard]] SessionState state() const { return state_; }
  [[nodiscard]] std::uint16_t epoch() const { return membership_.epoch(); }
  // This rank's place among the switch's children, and how many there are; from running on.
  [[nodiscard]] std::uint16_t child() const { return membership_.child(); }
  [[nodiscard]] std::uint16_t fan_in() const { return membership_.fan_in(); }
  [[nodiscard]] const wire::StartInfo& start_info() const { return start_; }  // from running on
  // The UDP port of the host that notifies ranks itself; 0: none. From running on.
  [[nodiscard]] std::uint16_t host_udp_port() const { return host_udp_port_; }
  [[nodiscard]] std::uint32_t first_seq() const { return first_seq_; }
  [[nodiscard]] bool degrades() const { return left_out_.allowed(); }
  [[nodiscard]] const std::optional<Failure>& failure() const { return failure_; }
  // While joining: a sentence about the process that has this rank and has answered the switch, or
  // about one of another run; empty if there is none.
  [[nodiscard]] std::string taken_by() const;
  [[nodiscard]] const SessionCounters& counters() const { return counters_; }

  // Once running. After a failure the op finishes at once, with the cause.
  void submit(Op& op, Instant now);
  // Ops that ended since the last call, in that order; nullptr if there are none.
  Op* take_finished() { return finished_.pop_front(); }
  // Planes and switches share the numbers of ops: those before this one have no part here.
  void skip_ops_before(std::uint32_t op) { next_op_ = std::max(next_op_, op); }
  [[nodiscard]] std::uint32_t next_op() const { return next_op_; }
  // The ops that the switch sums without this rank, as far as it has told this rank.
  [[nodiscard]] const Exclusion& excluded() const { return excluded_; }
  [[nodiscard]] bool idle() const { return ops_.empty(); }

  // Drains (docs/protocol/drains.md): the caller submits no op from this one on; kNoOp: any.
  [[nodiscard]] std::uint32_t op_limit() const;
  // True once the switch has said at which op the epoch ends.
  [[nodiscard]] bool ends() const { return drain_ && drain_->step == wire::DrainStep::end; }
  // All ops before that have ended here: a session that resumes there may take this one's place.
  [[nodiscard]] std::optional<wire::Resumption> drained() const;
  // The ranks agree that the epoch ends: the switch is asked for a drain until it begins one.
  void want_drain() { wants_drain_ = true; }
  // Once drained: leaves for good, and the others go on.
  void leave_drained(Instant now);
  // From running on: how many ranks the job may have; most 0: always as many as now.
  struct Sizes {
    std::uint32_t least = 0;
    std::uint32_t most = 0;
  };
  [[nodiscard]] const Sizes& sizes() const { return sizes_; }
  // For a shard, once running: all results before `base` are held, and `limit` chunks may be in
  // flight from there. Equal on every rank with the same base (rule 15).
  struct Bound {
    std::uint32_t base = 0;
    std::uint32_t limit = 0;
  };
  [[nodiscard]] Bound bound(std::uint8_t shard) const {
    const ShardWindow& w = flights_.shards()[shard];
    return {w.base, w.congestion.limit()};
  }

  // A packet from the switch that passed parse() and its integrity check.
  void on_packet(const wire::Packet& packet, Instant now);

  // Runs what is due and fills `batch` with datagrams to send now. If full, call again at once.
  void poll(Instant now, SendBatch& batch);
  // The transport accepted only the first `accepted` of `batch`: the rest is sent later. Calling
  // poll() again at once may return the same.
  void rejected(const SendBatch& batch, std::size_t accepted);
  // When poll() has something to do, if no packet and no op arrive before.
  [[nodiscard]] Instant next_wakeup() const;

  // Leaves the epoch; open ops fail. Call poll() until left.
  void leave(Instant now);
  // A failure outside the protocol, such as a socket that cannot be opened.
  void fail_locally(const std::string& text);
  // Ends the epoch for this rank because another plane's has ended. The first failure is kept:
  // later ones are its consequences.
  void fail(Failure cause);

 private:
  using Phase = ChunkState::Phase;

  // session.cc
  void finish(Op& op);
  void fail_overdue_op(Instant now);
  void fail_in_silence(Instant now);
  void drop(DropReason reason) { counters_.drops.add(reason); }

  // session_join.cc
  void poll_join(Instant now, SendBatch& batch);
  void poll_leave(Instant now, SendBatch& batch);
  void on_packet_joining(const wire::Packet& packet, Instant now);
  void on_start(const wire::Packet& packet, Instant now);

  // session_drain.cc
  void on_drain(const wire::Drain& said);
  void answer_drain(SendBatch& batch);
  void ask_for_drain(Instant now, SendBatch& batch);
  [[nodiscard]] Duration drain_silence() const;
  [[nodiscard]] Instant drain_silent_at() const;
  void fail_in_silent_drain(Instant now);

  // session_receive.cc
  void on_packet_running(const wire::Packet& packet, Instant now);
  void on_nack(const wire::Packet& packet, Instant now);
  void on_result(const wire::Packet& packet, Instant now);
  void on_pending(const wire::Packet& packet, Instant now);
  void on_unknown(const wire::Packet& packet, Instant now);
  ChunkIndex find_chunk(const wire::Header& h);
  [[nodiscard]] bool result_fits(const ChunkState& c, const wire::Packet& packet);
  static void deliver(const ChunkState& c, std::span<const std::byte> payload);
  void on_exclusion(const wire::Header& h);
  static void fail_op(Op& op, const wire::Header& result);
  void note_missed(ShardWindow& shard, std::uint32_t seq) const;

  // session_retry.cc
  static void choose_encoding(ShardWindow& shard, const ChunkState& before, ChunkState& fresh);
  static std::span<const std::byte> scale(const ChunkState& c, wire::Header& h);
  void begin_retry(ChunkIndex i, Instant now);
  void hold(ChunkIndex i, Instant now);

  // session_congestion.cc
  void note_congestion(ChunkState& c, const wire::Packet& result);
  void follow(ShardWindow& shard, const ChunkState& oldest);

  // session_send.cc
  [[nodiscard]] wire::Header header(wire::PacketType type) const;
  void put(SendBatch& batch, const wire::Header& h, wire::ExtensionWriter& extensions,
           std::span<const std::byte> payload, ChunkIndex chunk);
  void put_control(SendBatch& batch, wire::PacketType type, std::uint8_t shard, std::uint32_t seq,
                   std::uint32_t flags = 0);
  void send_queued(Instant now, SendBatch& batch);
  void send_new(Instant now, SendBatch& batch);
  void send_chunk(ChunkIndex i, Instant now, SendBatch& batch);
  void expect_chunk(ChunkIndex i, Instant now, SendBatch& batch);
  void send_acks(Instant now, SendBatch& batch);
  [[nodiscard]] Instant ack_at(const ShardWindow& shard) const;

  // session_probe.cc
  void send_probes(Instant now, SendBatch& batch);
  void probe(ChunkIndex i, Instant now, SendBatch& batch);

  // Index of shard 0 among the job's UDP ports: a hint, which may be wrong before START.
  [[nodiscard]] std::uint32_t first_port() const {
    return std::uint32_t{options_.plane} * start_.shards;
  }

  SessionOptions options_;
  SessionState state_ = SessionState::joining;
  Membership membership_;
  wire::StartInfo start_;
  std::uint16_t host_udp_port_ = 0;
  std::optional<Failure> failure_;
  SessionCounters counters_;

  std::uint32_t next_op_ = 0;
  std::uint32_t held_ops_ = 0;  // after a failure: all results of the ops before this one are here
  OpQueue ops_;                 // not finished, in submission order
  OpQueue finished_;
  Instant op_deadline_ = Instant::max();  // of the oldest op

  Flights flights_;
  std::uint8_t next_shard_ = 0;  // the shard with which sending continues
  Instant last_sent_;
  Instant last_sent_before_;  // of the turn before the one that set last_sent_
  std::optional<Instant> last_heard_;
  std::optional<Instant> asked_since_;    // since then no answer has come
  std::uint32_t first_seq_ = 0;           // of every shard
  std::size_t largest_result_ = 0;        // bytes of payload
  Exclusion excluded_;                    // the switch sums these ops without this rank (rule 14)
  std::optional<Instant> refused_since_;  // since then the switch has only answered sender mismatch
  MissingRanks missing_;
  LeftOutRanks left_out_;
  std::optional<wire::Drain> drain_;  // the switch's last word: ask or end
  bool answer_due_ = false;           // to its question
  bool wants_drain_ = false;
  Instant want_at_;
  wire::Resumption left_at_;  // by a drain, for good
  Sizes sizes_;
  bool has_model_ops_ = false;  // another epoch relies on what only these ranks know
};

}  // namespace tributary::worker
