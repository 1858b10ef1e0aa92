// The protocol engine of one rank in one epoch of a job, or of one of its planes
// (docs/protocol.md).
//
//   joining ──START──▶ running ──leave()──▶ leaving ──ACK, or 3 tries──▶ left
//      │                  │                    ▲
//      └─────timeout, NACK, ABORT─▶ failed ────┘ (only where the switch still holds this member)
//
// Pure: packets, ops and `now` come in; datagrams and finished ops go out. No clock, no I/O, no
// threads, and no allocation between START and the end of the epoch, but for an op whose result
// lacks ranks. One thread at a time calls it; counters may be read by others at any time. An epoch
// that failed stays so: a new session joins the next one.
//
// Files: session.cc (life, ops), session_join.cc (JOIN, START, LEAVE), session_send.cc (what goes
// out while running), session_receive.cc (what comes in while running), session_degraded.cc
// (results that lack ranks), session_retry.cc (chunks sent again as floating point),
// session_timers.cc (what is overdue, and asking for it), session_congestion.cc (fewer chunks under
// way where data meets queues).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/counter.h"
#include "core/drop_reason.h"
#include "core/exclusion.h"
#include "core/time.h"
#include "core/wire/extension.h"
#include "core/wire/header.h"
#include "worker/session/failure.h"
#include "worker/session/op.h"
#include "worker/session/retransmission.h"
#include "worker/session/send_batch.h"
#include "worker/session/window.h"

namespace tributary::worker {

struct SessionOptions {
  std::uint32_t job = 0;
  std::uint32_t rank = 0;
  std::uint32_t size = 0;
  std::uint8_t plane = 0;   // of the job, whose packets these are
  std::uint64_t nonce = 0;  // random: tells this incarnation of the rank from earlier ones
  Duration join_timeout = Duration::seconds(60);
  Duration join_spent;  // of that, on what came before the first session
  Duration op_timeout = Duration::seconds(60);
  std::size_t max_datagram_bytes = 1472;  // in one packet
  std::size_t max_cut_bytes = 0;          // in fragments, where the switch takes them
  std::uint32_t loss_group = 0;           // see worker/api/communicator.h
  bool at_host = false;                   // the same
  std::string switch_name;                // for error texts
  std::string silence_hint;               // behind the one about a switch that does not answer
};

// Bytes are payload bytes.
struct SessionCounters {
  Counter ops;
  Counter contributions;  // first sends
  Counter contribution_bytes;
  Counter results;
  Counter result_bytes;
  Counter duplicate_results;
  Counter probes;
  Counter resends;
  Counter pending_replies;
  Counter unknown_replies;
  Counter float_retries;   // chunks whose fixed-point sum overflowed
  Counter floats_at_once;  // chunks sent as floats because others did
  Counter degraded;        // results that lack ranks
  Counter smoothed_rtt_ns;
  Counter marked_results;    // results that tell of a queue (rule 15)
  Counter reported_marks;    // results that met one themselves, on their way to this rank
  Counter window_decreases;  // because of the former, of all shards
  Counter least_window;      // gauge: the smallest that any shard had; 0: before START
  DropCounters drops;
};

enum class SessionState : std::uint8_t { joining, running, failed, leaving, left };

class Session {
 public:
  Session(const SessionOptions& options, Instant now);

  [[nodiscard]] SessionState state() const { return state_; }
  [[nodiscard]] std::uint16_t epoch() const { return epoch_; }
  [[nodiscard]] const wire::StartInfo& start_info() const { return start_; }  // from running on
  [[nodiscard]] const std::optional<Failure>& failure() const { return failure_; }
  [[nodiscard]] const SessionCounters& counters() const { return counters_; }

  // From running on. After a failure the op finishes at once, with the cause.
  void submit(Op& op, Instant now);
  // Ops that ended since the last call, in the order they ended; nullptr when there are none.
  Op* take_finished() { return finished_.pop_front(); }
  // Ops of a job are numbered together: those before this one have no part here.
  void skip_ops_before(std::uint32_t op) { next_op_ = std::max(next_op_, op); }
  [[nodiscard]] std::uint32_t next_op() const { return next_op_; }
  // In which ops the switch does without this rank, as far as it has said so.
  [[nodiscard]] const Exclusion& excluded() const { return excluded_; }
  [[nodiscard]] bool idle() const { return ops_.empty(); }
  // Of a shard, from running on: all results before `base` are held, and so many chunks may be
  // under way from there. The same on every rank that has the same base (rule 15).
  struct Bound {
    std::uint32_t base = 0;
    std::uint32_t limit = 0;
  };
  [[nodiscard]] Bound bound(std::uint8_t shard) const {
    return {shards_[shard].base, shards_[shard].congestion.limit()};
  }

  // A packet from the switch that passed parse() and its integrity check.
  void on_packet(const wire::Packet& packet, Instant now);

  // Runs what is due and fills `batch` with what to send now. A full batch: ask again at once.
  void poll(Instant now, SendBatch& batch);
  // The transport took only the first `accepted` of `batch`: the rest is sent later. Asking
  // poll() again at once may give the same.
  void rejected(const SendBatch& batch, std::size_t accepted);
  // When poll() has something to do, if no packet and no op arrive before.
  [[nodiscard]] Instant next_wakeup() const;

  // Says good-bye; open ops fail. Then poll() until left.
  void leave(Instant now);
  // A failure outside the protocol, such as a socket that cannot be opened.
  void fail_locally(const std::string& text);
  // Ends the epoch for this rank, as another plane's has ended. The oldest failure stays: later
  // ones are its consequences.
  void fail(Failure cause);

 private:
  using Phase = ChunkState::Phase;

  // session.cc
  void finish(Op& op);
  void fail_overdue_op(Instant now);
  void drop(DropReason reason) { counters_.drops.add(reason); }

  // session_join.cc
  void poll_join(Instant now, SendBatch& batch);
  void poll_leave(Instant now, SendBatch& batch);
  void on_packet_joining(const wire::Packet& packet, Instant now);
  void note_awaited(const wire::Packet& pending);
  void on_start(const wire::Packet& packet, Instant now);
  [[nodiscard]] std::string objection(const wire::StartInfo& info, bool fragments) const;

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
  void wait_on(ChunkIndex i, bool lacks_room, Instant now);

  // session_retry.cc
  static void choose_encoding(ShardWindow& shard, const ChunkState& before, ChunkState& fresh);
  static std::span<const std::byte> scale(const ChunkState& c, wire::Header& h);
  void begin_retry(ChunkIndex i, Instant now);
  void hold(ChunkIndex i, Instant now);

  // session_degraded.cc
  [[nodiscard]] bool count_fits(const Op& op, const wire::Packet& result);
  void note_left_out(Op& op, const wire::Header& result);

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
  // session_timers.cc
  void track(ChunkIndex i);
  void unlink(ChunkIndex i);
  void overtake(ShardWindow& shard, std::uint64_t before, Instant now,
                std::optional<std::uint32_t> spared = {});
  void check_order(ShardWindow& shard, const ChunkState& got, Instant now);
  void progress(ShardWindow& shard, Instant now);
  void put_off(ShardWindow& shard, bool lacks_room, Instant now);
  void send_probes(Instant now, SendBatch& batch);
  void probe_silent(std::uint8_t s, Instant now, SendBatch& batch);
  void probe(ChunkIndex i, Instant now, SendBatch& batch);
  [[nodiscard]] Instant silent_at(std::uint8_t s) const;
  [[nodiscard]] Instant next_timer() const;

  // Of shard 0, among the job's UDP ports: a hint, and before START one that may be another's.
  [[nodiscard]] std::uint32_t first_port() const {
    return std::uint32_t{options_.plane} * start_.shards;
  }
  // Of the group that a seq is in, for comparison.
  [[nodiscard]] std::uint32_t group_of(std::uint32_t seq) const { return seq & ~(group_ - 1); }
  [[nodiscard]] ChunkIndex index_of(std::uint8_t shard, std::uint32_t seq) const {
    return shard * start_.window + (seq & (start_.window - 1));
  }

  SessionOptions options_;
  SessionState state_ = SessionState::joining;
  std::uint16_t epoch_ = 0;
  wire::StartInfo start_;
  std::optional<Failure> failure_;
  SessionCounters counters_;

  // Joining and leaving.
  Instant next_try_;  // of JOIN or LEAVE
  Instant join_deadline_;
  std::uint8_t leaves_sent_ = 0;
  std::uint32_t held_ops_ = 0;  // after a failure: all results of the ops before it are here
  bool answered_ = false;
  wire::Header last_refusal_;  // the last NACK; reason none: nothing, or something else since
  bool member_ = false;        // as far as known, the switch holds state for this rank
  std::uint16_t child_;  // place among the switch's children: the claim of JOIN, then START's word
  std::uint16_t fan_in_;

  // Running.
  std::uint32_t next_op_ = 0;
  OpQueue ops_;  // not finished, in submission order
  OpQueue finished_;
  Instant op_deadline_ = Instant::max();  // of the oldest op
  std::vector<ChunkState> chunks_;
  std::vector<ShardWindow> shards_;
  std::uint32_t group_ = 1;      // chunks that are checked together (O5); a power of two
  std::uint8_t next_shard_ = 0;  // where sending goes on
  ChunkList queued_;
  TimerLists overtaken_;  // a result passed them on the way, or they are lost
  TimerLists probed_;     // the switch owes an answer
  std::uint64_t next_order_ = 0;
  RetransmissionTimeout timeout_;
  Instant last_sent_;
  Instant last_sent_before_;  // in the turn before the one that set last_sent_
  std::optional<Instant> last_heard_;
  Exclusion excluded_;                    // the switch sums these ops without this rank (rule 14)
  std::optional<Instant> refused_since_;  // the switch has answered nothing but sender mismatch

  bool may_lack_ranks_ = false;          // results of this job may be degraded (rule 21)
  std::vector<std::uint64_t> left_out_;  // scratch: bits of who is missing from a result

  // Ranks the switch named as missing last, and for which op (or for the JOIN).
  static constexpr std::size_t kMostMissing = 254;
  std::array<std::uint32_t, kMostMissing> missing_{};
  std::size_t missing_count_ = 0;
  std::uint32_t missing_op_ = 0;
  std::uint32_t missing_chunk_ = 0;
};

}  // namespace tributary::worker
