// Everything of one shard index, for all jobs: chunk tables, slots, buffers, deadlines, results
// (protocol rule 16). No two shards share any state, so each may live on a lcore of its own, and a
// whole Shard can be handed to another owner at any time between two calls.
//
//   Engine ── start_epoch, clear, forget_child, expire ─▶ Shard ─▶ RESULT, PENDING, UNKNOWN
//             (control: who takes part)                     ▲  ├─▶ ESCALATION, CONTRIBUTION, PROBE
//   packet ── contribution, probe, ack ─────────────────────┤  │   to the completion host
//   result of the completion host or parent ────────────────┘  └─▶ abort request ─▶ Engine
//
// What a shard cannot decide alone it leaves to the engine: a sender that is no member (verdict
// `refused`), and the end of an epoch (verdict `epoch_aborted`, with abort_request()).
//
// Sources: shard.cc life of jobs and epochs, dispatch, clock; shard_data.cc decides on
// contributions; shard_sum.cc moves their bytes; shard_slots.cc dynamic slots; shard_escalate.cc
// what goes to the completion host and comes back; shard_tree.cc sums that go up; shard_relay.cc
// what other switches could not finish; shard_exclude.cc children that are left out;
// shard_retry.cc chunks sent again as floating point;
// shard_reply.cc results and answers to probes.
//
// Pure: no clock, no I/O, no allocation after construction. One thread at a time calls it.
// Payload spans of what is appended to an Outbox are valid until the next call.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "aggregator/abort_cause.h"
#include "aggregator/job_index.h"
#include "aggregator/outbox.h"
#include "aggregator/shard_job.h"
#include "aggregator/slot_pool.h"
#include "aggregator/status.h"
#include "aggregator/verdict.h"

namespace tributary::aggregator {

class Shard {
 public:
  // Of `config`, the jobs that have this shard. `memory` holds payload_bytes(config, index) bytes
  // and outlives the shard.
  Shard(const config::SwitchConfig& config, std::uint8_t index, std::span<std::byte> memory);
  Shard(const Shard&) = delete;
  Shard& operator=(const Shard&) = delete;
  static std::size_t payload_bytes(const config::SwitchConfig& config, std::uint8_t index);

  // ---- from the control half; `job` is the job's place in the configuration

  // All ranks are members; peers[rank] is where each is bound.
  void start_epoch(std::uint32_t job, std::uint16_t epoch, std::uint32_t first_seq,
                   std::span<const Peer> peers, Instant now);
  // This member is now bound there.
  void bind(std::uint32_t job, std::uint32_t rank, const Peer& peer);
  // The epoch is over: frees all that the job held.
  void clear(std::uint32_t job);
  // A rank has left. True when an unfinished chunk still needs its contribution.
  bool forget_child(std::uint32_t job, std::uint16_t child);
  // When this member was last heard of here; nullopt: not since the epoch began.
  [[nodiscard]] std::optional<Instant> last_heard(std::uint32_t job, std::uint32_t rank) const;

  // ---- packets and time

  // What the coming on_packet() of this packet will touch: first the tombstone and the sender,
  // and, when those are here, the payload and the sum. Calling them is never necessary.
  void prefetch_entry(const wire::Header& h) const;
  void prefetch_data(const wire::Packet& packet) const;
  // By how many packets the latter runs ahead: more find no room on their way.
  static constexpr std::uint32_t kPacketsAhead = 4;
  // A contribution, probe or ack. `refused`: the sender is no member of the running epoch, or the
  // job has no such shard; nothing was changed or said.
  Decision on_packet(const wire::Packet& packet, const Peer& from, Instant now, Outbox& out);
  // RESULT, PENDING, UNKNOWN or ESCALATION of the switch above; the engine has checked the sender,
  // and takes PENDING and UNKNOWN with the flag bypass on to the rank in `origin`.
  Decision on_parent(const wire::Packet& packet, Instant now, Outbox& out);
  // When that was last heard of here in the running epoch.
  [[nodiscard]] std::optional<Instant> parent_heard(std::uint32_t job) const;
  // Of the host whose results are taken; 0: the one next door.
  void set_host_term(std::uint32_t job, std::uint32_t term);
  // The ops in which this child takes no part in the sums here; none in a new epoch.
  void set_exclusion(std::uint32_t job, std::uint16_t child, Exclusion ops);
  [[nodiscard]] Exclusion exclusion(std::uint32_t job, std::uint16_t child) const;
  // Every op of which anything was summed here in this epoch is before it.
  [[nodiscard]] std::uint32_t next_op(std::uint32_t job) const;
  // The chunk waits for what the host makes of it.
  [[nodiscard]] bool is_with_host(std::uint32_t job, std::uint32_t seq) const;
  // See Engine::announce_again().
  std::uint32_t announce_again(std::uint32_t job, std::uint32_t seq, Outbox& out);
  // RESULT of the completion host. False: it was of no use.
  bool on_result(const wire::Packet& packet, Instant now, Outbox& out);
  // UNKNOWN of the completion host that asks for a chunk as floating point. False: of no use.
  bool begin_retry(const wire::Packet& request, Instant now);
  // Ends what is overdue. True: an epoch must be aborted, see abort_request(); then call again.
  bool expire(Instant now, Outbox& out);

  // After epoch_aborted or a true expire(): whose epoch must end, and why. For the reason
  // rank-left the engine knows which ranks.
  [[nodiscard]] std::uint32_t abort_job() const { return abort_job_; }
  [[nodiscard]] const AbortCause& abort_request() const { return abort_cause_; }

  // ---- for people

  [[nodiscard]] const ShardJob* find_job(std::uint32_t job) const { return jobs_[job].get(); }
  void add_slots(Instant now, std::size_t most, Slots which, std::vector<SlotStatus>& out) const;
  [[nodiscard]] std::uint8_t index() const { return index_; }
  [[nodiscard]] std::size_t table_bytes() const;

 private:
  void add_job(const config::SwitchConfig& config, std::uint32_t place, std::uint32_t first_slot,
               std::span<Tombstone> entries);
  BufferClass* class_for(std::size_t buffer_bytes);
  ChunkDeadlines& queue_for(Duration timeout);
  [[nodiscard]] ShardJob& job_of(const Tombstone& e) const;
  static void note_deadline(ShardJob& job, const Tombstone& e, Instant now);

  // shard_data.cc
  ChunkTable::Place locate(ShardJob& job, std::uint16_t child, std::uint32_t seq, Tombstone*& e);
  static DropReason check_data(const ShardJob& job, const Contribution& c, bool is_sum,
                               const Kernels*& kernels);
  Decision on_contribution(ShardJob& job, const wire::Packet& packet, const Peer& from, Instant now,
                           Outbox& out);
  Decision on_first(ShardJob& job, Tombstone& e, const Contribution& c, const Kernels* kernels,
                    const wire::Packet& packet, Instant now, Outbox& out);
  Decision on_further(ShardJob& job, Tombstone& e, const Contribution& c, const Kernels* kernels,
                      const wire::Packet& packet, Instant now, Outbox& out);
  Decision on_repeated(ShardJob& job, Tombstone& e, const Contribution& c, const Peer& from,
                       const wire::Packet& packet, Outbox& out);
  Decision on_complete(ShardJob& job, Tombstone& e, const Kernels* kernels, Instant now,
                       Outbox& out);
  Decision request_mismatch_abort(ShardJob& job, const Tombstone& e, const Contribution& got);
  void request_deadline_abort(ShardJob& job, const Tombstone& e);
  void begin_abort(const ShardJob& job, wire::Reason reason);
  // The ranks inside the children that an open chunk still lacks, as many as there is room for.
  static std::span<const std::uint32_t> missing_ranks(const ShardJob& job, const Tombstone& e,
                                                      std::span<std::uint32_t> room);

  // shard_sum.cc
  void take_in(ShardJob& job, Tombstone& e, const Contribution& c, const Kernels& kernels);
  void fold_prefix(ShardJob& job, Tombstone& e, const Contribution& c, const Kernels& kernels);
  void collect(ShardJob& job, Tombstone& e, const Contribution& c, const Kernels& kernels);
  void hold(ShardJob& job, Tombstone& e, const Contribution& c);
  static void put_back_held(ShardJob& job, const Tombstone& e);
  void fold_one(ShardJob& job, Tombstone& e, std::uint16_t child, const std::byte* data,
                const Kernels& kernels);
  void pass_on(ShardJob& job, Tombstone& e, std::span<const std::byte> payload);
  // Messages may refer to a buffer that is let go. What the completion engine here hears, it has
  // copied before it answers; what goes to the switch above is on its way when the next packet
  // comes.
  void let_go(const ShardJob& job, BufferPool& pool, std::uint32_t& buffer);
  void settle_buffers();
  void settle_heard();
  void let_go_of_data(ShardJob& job, Tombstone& e);
  void release_acknowledged(ShardJob& job);
  void keep_or_free(ShardJob& job, Tombstone& e);

  // shard_slots.cc
  // The reason why the chunk gets no slot; none: it has one now.
  wire::Reason take_slot(ShardJob& job, std::uint32_t seq, Instant now, Outbox& out);
  bool preempt(ShardJob& job, std::uint32_t slot, Instant now, Outbox& out);
  void free_slot(ShardJob& job, Tombstone& e, Instant now);
  void change_seed(ShardJob& job, std::uint32_t seq);
  void adopt_seed(ShardJob& job);
  [[nodiscard]] std::uint32_t pool_slot(const ShardJob& job, std::uint32_t seq) const;

  // shard_escalate.cc
  Decision escalate_first(ShardJob& job, Tombstone& e, const Contribution& c, wire::Reason reason,
                          const wire::Packet& packet, Instant now, Outbox& out);
  void flush(ShardJob& job, Tombstone& e, wire::Reason reason, Instant now, Outbox& out);
  void forward(ShardJob& job, const wire::Packet& packet, std::uint32_t flags, Outbox& out);
  void announce(ShardJob& job, const Tombstone& e, wire::Reason reason, Outbox& out);
  void send_sum(ShardJob& job, Tombstone& e, wire::Reason reason, Outbox& out);
  static std::size_t partial_bytes(const ShardJob& job, const ChunkDescription& d);
  std::span<const std::byte> partial_sum(ShardJob& job, Tombstone& e);
  void send_held(ShardJob& job, Tombstone& e, wire::Reason reason, Outbox& out);
  void send_to_verify(ShardJob& job, Tombstone& e, Instant now, Outbox& out);
  void leave_sent(ShardJob& job, Tombstone& e, Instant now);
  static void address_host(const ShardJob& job, Outgoing& o);
  static void make_announcement(Outgoing& o);
  void set_coverage(ShardJob& job, Outgoing& o);
  Outgoing* begin_escalation(ShardJob& job, const Tombstone& e, wire::Reason reason, Outbox& out);
  void chase(ShardJob& job, Tombstone& e, Outbox& out);
  Outgoing* begin_aggregate(ShardJob& job, const Tombstone& e, Outbox& out);

  // shard_tree.cc
  void send_up(ShardJob& job, Tombstone& e, Instant now, Outbox& out);
  void send_aggregate(ShardJob& job, Tombstone& e, std::uint32_t flags, Outbox& out);
  static bool holds_sum(const Tombstone& e);
  Outgoing* begin_upward(ShardJob& job, wire::PacketType type, Outbox& out);
  bool ask_parent(ShardJob& job, const wire::Header& question, const Tombstone* e, Instant now,
                  Outbox& out);
  void acknowledge_up(ShardJob& job, Outbox& out);
  void say_held(ShardJob& job, Outbox& out);
  static AskedAbove& asked(ShardJob& job, std::uint32_t seq);
  void on_sum_missing_above(ShardJob& job, Tombstone& e, Instant now, Outbox& out);
  Decision on_parent_result(ShardJob& job, Tombstone& e, const wire::Packet& packet, Instant now,
                            Outbox& out);
  Decision on_unasked_result(ShardJob& job, const wire::Packet& packet, Instant now, Outbox& out);
  void keep_result(ShardJob& job, Tombstone& e, const wire::Packet& packet, Instant now,
                   Outbox& out);

  // shard_relay.cc
  DropReason check_relayed(const ShardJob& job, const wire::Packet& packet, const Contribution& c);
  Decision on_relayed(ShardJob& job, const wire::Packet& packet, const Peer& from, Instant now,
                      Outbox& out);
  Decision on_escalated_above(ShardJob& job, Tombstone& e, const wire::Header& h, Instant now,
                              Outbox& out);
  Outgoing* begin_reply(ShardJob& job, wire::PacketType type, const Tombstone& e, Outbox& out);
  void lose_sum(ShardJob& job, Tombstone& e, Instant now, Outbox& out);
  void tell_escalated(ShardJob& job, const Tombstone& e, const Peer& to, Outbox& out);

  // shard_exclude.cc
  static void leave_out_excluded(ShardJob& job, Tombstone& e, std::uint16_t opener);
  Decision bypass(ShardJob& job, const wire::Packet& packet, Outbox& out);
  static void remind(ShardJob& job, const wire::Header& h, Outbox& out);

  // shard_retry.cc
  Decision on_retry(ShardJob& job, const wire::Packet& packet, const Peer& from, Outbox& out);

  // shard_reply.cc
  Decision on_probe(ShardJob& job, const wire::Packet& packet, const Peer& from, Instant now,
                    Outbox& out);
  Decision on_ack(ShardJob& job, const wire::Packet& packet, Outbox& out);
  Decision answer_from_cache(ShardJob& job, const wire::Packet& packet, const Peer& from,
                             Outbox& out);
  void multicast_result(ShardJob& job, const Tombstone& e, Outbox& out);
  void send_result(ShardJob& job, const Tombstone& e, const Peer& to, Outbox& out);
  void finish_result(ShardJob& job, const Tombstone& e, Outgoing& o, bool whole);
  static std::uint32_t result_flags(const Tombstone& e);

  std::uint8_t index_;
  std::uint32_t switch_id_;
  Duration preempt_idle_;
  std::span<std::byte> memory_;
  std::vector<Tombstone> tombstones_;
  std::vector<std::unique_ptr<BufferClass>> classes_;
  std::vector<std::unique_ptr<ChunkDeadlines>> queues_;  // one for each timeout
  std::array<KernelTable, 2> kernels_;                   // by wire::Arithmetic
  std::vector<std::unique_ptr<ShardJob>> jobs_;  // by place in the configuration; may be nullptr
  JobIndex<ShardJob> by_id_;
  SlotPool pool_;

  bool unsettled_ = false;  // some pool has buffers to take back
  struct Unsent {
    BufferPool* pool;
    std::uint32_t buffer;
  };
  std::vector<Unsent> unsent_;
  std::vector<std::byte*> bracket_values_;  // accumulators of inner brackets
  std::vector<const void*> sources_;
  std::uint32_t abort_job_ = 0;
  AbortCause abort_cause_;
  std::array<std::uint32_t, kMaxListedIds> scratch_ids_;
  std::vector<std::uint64_t> coverage_;  // ranks of the message being made
};

}  // namespace tributary::aggregator
