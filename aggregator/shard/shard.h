// Everything of one shard index, for all jobs: chunk tables, slots, buffers, deadlines, results
// (protocol rule 16). No two shards share any state, so each may live on a lcore of its own, and a
// whole Shard can be handed to another owner between two calls (Engine::hand_over()).
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
// contributions, shard_plain.cc is the short way of most of them; shard_sum.cc moves their bytes;
// shard_slots.cc dynamic slots; shard_escalate.cc what goes to the completion host and comes back;
// shard_tree.cc sums that go up; shard_relay.cc what other switches could not finish;
// shard_exclude.cc children that are left out; shard_retry.cc chunks sent again as floating point;
// shard_congestion.cc marks of queues; shard_degrade.cc results that lack ranks; shard_reply.cc
// results and answers to probes; shard_change.cc other jobs in their places; chunk_look.cc what
// people see of one chunk.
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

#include "aggregator/chunk/chunk_look.h"
#include "aggregator/chunk/fold_queue.h"
#include "aggregator/chunk/job_index.h"
#include "aggregator/chunk/outbox.h"
#include "aggregator/chunk/payloads.h"
#include "aggregator/chunk/slot_pool.h"
#include "aggregator/chunk/verdict.h"
#include "aggregator/shard/abort_cause.h"
#include "aggregator/shard/shard_job.h"
#include "aggregator/shard/status.h"

namespace tributary::aggregator {

// A job of a configuration, and where shards keep it: jobs that stay keep their places.
struct JobPlacement {
  const config::JobConfig* config = nullptr;
  std::uint32_t place = 0;
  std::uint32_t first_slot = 0;
  bool is_new = true;  // to this place
};

struct UnsentBuffer {
  BufferPool* pool;
  std::uint32_t buffer;
};
static_assert(sizeof(UnsentBuffer) == config::kUnsentBytes);

// What changes in a shard.
struct ShardChange {
  struct Entry {
    std::uint32_t place = 0;
    std::unique_ptr<ShardJob> job;  // nullptr: none
    std::uint32_t quota = 0;        // of dynamic slots
  };
  std::vector<Entry> entries;
  JobIndex<ShardJob> by_id;
  std::vector<ShardJob*> present;
  std::vector<BufferPool*> pools;
  std::vector<UnsentBuffer> unsent;
  std::vector<const void*> sources;
};

class Shard {
 public:
  // Of `config`, the jobs that have this shard. `memory` holds payload_bytes(config, index) bytes
  // and outlives the shard.
  Shard(const config::SwitchConfig& config, std::uint8_t index, std::span<std::byte> memory);
  Shard(const Shard&) = delete;
  Shard& operator=(const Shard&) = delete;
  static std::size_t payload_bytes(const config::SwitchConfig& config, std::uint8_t index);

  // Other jobs in places of this shard, see Engine::prepare(). `places` has all jobs of the next
  // configuration; what cannot be had is thrown as std::invalid_argument. Control thread.
  [[nodiscard]] ShardChange prepare(std::span<const JobPlacement> places, Reserve& reserve) const;
  // Puts it in place; what was there is in `change` afterwards. Their epochs are over.
  void apply(ShardChange& change);

  // ---- from the control half; `job` is the job's place

  // All ranks are members; peers[rank] is where each is bound.
  void start_epoch(std::uint32_t job, std::uint16_t epoch, std::uint32_t first_seq,
                   std::span<const Endpoint> peers, Instant now);
  // This member is now bound there.
  void bind(std::uint32_t job, std::uint32_t rank, const Endpoint& peer);
  // The epoch is over: frees all that the job held, which counts as held until the last expire().
  void clear(std::uint32_t job);
  // A rank has left, with all results of the ops before `first_op`. True when an unfinished chunk
  // of a later one still needs its contribution.
  bool forget_child(std::uint32_t job, std::uint16_t child, std::uint32_t first_op);
  // When this member was last heard of here; nullopt: not since the epoch began. The engine's
  // thread, whoever the owner is.
  [[nodiscard]] std::optional<Instant> last_heard(std::uint32_t job, std::uint32_t rank) const;

  // ---- packets and time

  // What the coming on_packet() of this packet will touch: first the chunk entry and the sender,
  // and, when those are here, the payload and the sum. Calling them is never necessary.
  void prefetch_entry(const wire::Header& h) const;
  void prefetch_data(const wire::Packet& packet, Payloads payloads) const;
  // By how many packets the latter runs ahead: more find no room on their way.
  static constexpr std::uint32_t kPacketsAhead = 2;
  // Between the two sums may be made later than they are decided (fold_queue.h): what packets carry
  // has to stay where it is until end_burst(). Nothing that is said or sent differs.
  void begin_burst() { folds_.begin(); }
  void end_burst() { folds_.end(); }
  // The short way of most packets, see shard_plain.cc: decided as on_packet() would have. Or
  // `refused`: nothing has changed, and on_packet() decides.
  Decision take_plain(const wire::Packet& packet, const Endpoint& from, Instant now, Outbox& out);
  // A contribution, probe or ack. `refused`: the sender is no member of the running epoch, or the
  // job has no such shard; nothing was changed or said.
  Decision on_packet(const wire::Packet& packet, const Endpoint& from, Instant now, Outbox& out);
  // RESULT, PENDING, UNKNOWN or ESCALATION of the switch above; the engine has checked the sender,
  // and takes PENDING and UNKNOWN with the flag bypass on to the rank in `origin`.
  Decision on_parent(const wire::Packet& packet, Instant now, Outbox& out);
  // When that was last heard of here in the running epoch. The engine's thread, too.
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
  // RESULT of an engine that this switch hosts, in the tree of a root above (T9).
  Decision on_hosted_result(const wire::Packet& packet, Instant now, Outbox& out);
  // Such an engine has taken this sum, which was for the parent: the chunk is the host's.
  void on_sum_taken(const wire::Header& sum, Instant now);
  // Some chunk waits for what a host makes of it, and only that host can.
  [[nodiscard]] bool waits_for_host(std::uint32_t job) const;
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
  // From there on; true: that was all of the shard.
  bool add_slots(Instant now, Slots which, SlotPlace& place, SlotLimits& limits,
                 std::vector<SlotStatus>& out) const;
  [[nodiscard]] ChunkLook look(const wire::Header& header) const;  // see Engine
  [[nodiscard]] std::uint8_t index() const { return index_; }
  [[nodiscard]] std::size_t job_places() const { return jobs_.size(); }
  [[nodiscard]] std::uint32_t pool_slots() const { return pool_.slots(); }  // of dynamic jobs
  [[nodiscard]] std::size_t table_bytes() const;
  // Of jobs that a change of configuration has removed. Any thread.
  [[nodiscard]] const HoldTimes& past_holds() const { return past_holds_; }

 private:
  [[nodiscard]] SlotStatus slot_status(const ShardJob& job, const ChunkEntry& e, Instant now) const;
  void add_job(const config::JobConfig& job, std::uint32_t place, std::uint32_t first_slot);
  BufferClass* class_for(std::size_t buffer_bytes);
  static void note_deadline(ShardJob& job, ChunkEntry& e, Instant now);
  // An invariant is broken: of this job's sums nothing is said any more, and its epoch ends with
  // the next expire(). What other jobs have stays theirs.
  [[gnu::cold]] Decision break_off(ShardJob& job);

  // shard_change.cc
  [[nodiscard]] std::vector<std::uint32_t> unused_buffers(
      std::span<const JobPlacement> places) const;
  BufferClass* buffers_for(const config::JobConfig& job, std::size_t bytes, std::uint32_t count,
                           OwnBuffers* inherited, std::unique_ptr<OwnBuffers>& own,
                           std::vector<std::uint32_t>& unused, Reserve& reserve) const;
  [[nodiscard]] std::unique_ptr<ShardJob> make_job(const JobPlacement& p,
                                                   std::vector<std::uint32_t>& unused,
                                                   Reserve& reserve) const;

  // shard_data.cc
  ChunkTable::Place locate(ShardJob& job, std::uint16_t child, std::uint32_t seq, bool by_all,
                           ChunkEntry*& e);
  // In windows. While a switch acknowledges nothing from L on, the root takes nothing from L + 2W
  // on; and rule 2 is one window.
  static constexpr std::int64_t kMostAhead = 3;
  static bool may_be_ahead(const ShardJob& job, std::uint32_t seq);
  void catch_up(ShardJob& job);
  static DropReason check_data(const ShardJob& job, const Contribution& c, bool is_sum,
                               const Kernels*& kernels);
  Decision on_contribution(ShardJob& job, const wire::Packet& packet, const Endpoint& from,
                           Instant now, Outbox& out);
  Decision on_first(ShardJob& job, ChunkEntry& e, const Contribution& c, const Kernels* kernels,
                    const wire::Packet& packet, Instant now, Outbox& out);
  Decision on_further(ShardJob& job, ChunkEntry& e, const Contribution& c, const Kernels* kernels,
                      const wire::Packet& packet, const Endpoint& from, Instant now, Outbox& out);
  Decision on_repeated(ShardJob& job, ChunkEntry& e, const Contribution& c, const Endpoint& from,
                       const wire::Packet& packet, Instant now, Outbox& out);
  Decision on_complete(ShardJob& job, ChunkEntry& e, const Kernels* kernels, Instant now,
                       Outbox& out);
  Decision request_mismatch_abort(ShardJob& job, const ChunkEntry& e, const Contribution& got);
  void request_deadline_abort(ShardJob& job, const ChunkEntry& e);
  void begin_abort(const ShardJob& job, wire::Reason reason);
  // The ranks inside the children that an open chunk still lacks, as many as there is room for.
  static std::span<const std::uint32_t> missing_ranks(const ShardJob& job, const ChunkEntry& e,
                                                      std::span<std::uint32_t> room);

  // shard_plain.cc
  static void learn_kind(ShardJob& job, const wire::Packet& packet);
  void note_plain(ShardJob& job, const wire::Packet& packet, Instant now);
  Decision take_further(ShardJob& job, ChunkEntry& e, const ChunkDescription& d,
                        const wire::Packet& packet, Instant now, Outbox& out);
  Decision take_first(ShardJob& job, const ChunkDescription& d, const wire::Packet& packet,
                      Instant now, Outbox& out);

  // shard_sum.cc
  void attach(ShardJob& job, ChunkEntry& e, const Contribution& c, const Kernels& kernels);
  void fold_prefix(ShardJob& job, ChunkEntry& e, const Contribution& c, const Kernels& kernels);
  void collect(ShardJob& job, ChunkEntry& e, const Contribution& c, const Kernels& kernels);
  void hold(ShardJob& job, ChunkEntry& e, const Contribution& c);
  void put_back_held(ShardJob& job, const ChunkEntry& e);
  void fold_one(ShardJob& job, ChunkEntry& e, std::uint16_t child, const std::byte* data,
                const Kernels& kernels);
  void pass_on(ShardJob& job, ChunkEntry& e, std::span<const std::byte> payload);
  // Messages may refer to a buffer that is let go. What the completion engine here hears, it has
  // copied before it answers; what goes to the switch above is on its way when the next packet
  // comes.
  void release(ShardJob& job, BufferPool& pool, std::uint32_t& buffer);
  void settle_buffers() {
    settle_heard();
    if (!unsent_.empty()) settle_unsent();
  }
  void settle_unsent();
  void settle_heard() {
    if (unsettled_) settle_pools();
  }
  void settle_pools();
  void release_data(ShardJob& job, ChunkEntry& e);
  void release_acknowledged(ShardJob& job);
  void keep_or_free(ShardJob& job, ChunkEntry& e);

  // shard_slots.cc
  // The reason why the chunk gets no slot; none: it has one now.
  wire::Reason take_slot(ShardJob& job, std::uint32_t seq, Instant now, Outbox& out);
  [[nodiscard]] bool may_preempt(const ShardJob& job, const SlotPool::Owner& owner,
                                 Instant now) const;
  bool preempt(ShardJob& job, std::uint32_t slot, Instant now, Outbox& out);
  void free_slot(ShardJob& job, ChunkEntry& e, Instant now);
  void change_seed(ShardJob& job, std::uint32_t seq);
  void adopt_seed(ShardJob& job);
  [[nodiscard]] std::uint32_t pool_slot(const ShardJob& job, std::uint32_t seq) const;
  // Of a chunk that holds one, or last did.
  [[nodiscard]] std::uint32_t slot_of(const ShardJob& job, const ChunkEntry& e) const;

  // shard_congestion.cc
  static void mark_for_slots(ShardJob& job, ChunkEntry& e);
  static std::uint32_t carried_flags(ShardJob& job, const wire::Packet& packet);
  static void take_mark(ShardJob& job, ChunkEntry& e, const wire::Packet& result);

  // shard_escalate.cc
  Decision escalate_first(ShardJob& job, ChunkEntry& e, const Contribution& c, wire::Reason reason,
                          const wire::Packet& packet, Instant now, Outbox& out);
  void flush(ShardJob& job, ChunkEntry& e, wire::Reason reason, Instant now, Outbox& out);
  void forward(ShardJob& job, const wire::Packet& packet, std::uint32_t flags, Outbox& out);
  void announce(ShardJob& job, const ChunkEntry& e, wire::Reason reason, Outbox& out);
  void send_sum(ShardJob& job, ChunkEntry& e, wire::Reason reason, Outbox& out);
  static std::size_t partial_bytes(const ShardJob& job, const ChunkDescription& d);
  std::span<const std::byte> partial_sum(ShardJob& job, ChunkEntry& e);
  void send_held(ShardJob& job, ChunkEntry& e, wire::Reason reason, Outbox& out);
  void send_to_verify(ShardJob& job, ChunkEntry& e, Instant now, Outbox& out);
  void leave_sent(ShardJob& job, ChunkEntry& e, Instant now);
  static void address_host(const ShardJob& job, Outgoing& o);
  static void address_parent(const ShardJob& job, Outgoing& o);
  static void make_announcement(Outgoing& o);
  void set_coverage(ShardJob& job, Outgoing& o);
  void cover_child(ShardJob& job, std::uint16_t child, Outgoing& o);
  Outgoing* begin_escalation(ShardJob& job, const ChunkEntry& e, wire::Reason reason, Outbox& out);
  void chase(ShardJob& job, ChunkEntry& e, Outbox& out);
  Outgoing* begin_aggregate(ShardJob& job, const ChunkEntry& e, Outbox& out);

  // shard_tree.cc
  void send_up(ShardJob& job, ChunkEntry& e, Instant now, Outbox& out);
  void send_aggregate(ShardJob& job, ChunkEntry& e, std::uint32_t flags, Outbox& out);
  static bool holds_sum(const ChunkEntry& e);
  Outgoing* begin_upward(ShardJob& job, wire::PacketType type, Outbox& out);
  bool ask_parent(ShardJob& job, const wire::Header& question, const ChunkEntry* e, Instant now,
                  Outbox& out);
  static std::uint32_t held_below(const ShardJob& job);
  void acknowledge_up(ShardJob& job, std::uint32_t news, Outbox& out);
  void repeat_held(ShardJob& job, Instant now, Outbox& out);
  void say_held(ShardJob& job, Outbox& out);
  static AskedAbove& asked(ShardJob& job, std::uint32_t seq);
  void on_sum_missing_above(ShardJob& job, ChunkEntry& e, Instant now, Outbox& out);
  Decision on_parent_result(ShardJob& job, ChunkEntry& e, const wire::Packet& packet, Instant now,
                            Outbox& out);
  Decision on_unasked_result(ShardJob& job, const wire::Packet& packet, Instant now, Outbox& out);
  void keep_result(ShardJob& job, ChunkEntry& e, const wire::Packet& packet, Instant now,
                   Outbox& out);

  // shard_relay.cc
  DropReason check_relayed(const ShardJob& job, const wire::Packet& packet, const Contribution& c);
  Decision on_relayed(ShardJob& job, const wire::Packet& packet, const Endpoint& from, Instant now,
                      Outbox& out);
  Decision on_escalated_above(ShardJob& job, ChunkEntry& e, const wire::Header& h, Instant now,
                              Outbox& out);
  Outgoing* begin_reply(ShardJob& job, wire::PacketType type, const ChunkEntry& e, Outbox& out);
  void lose_sum(ShardJob& job, ChunkEntry& e, Instant now, Outbox& out);
  void tell_escalated(ShardJob& job, const ChunkEntry& e, const Endpoint& to, Outbox& out);

  // shard_exclude.cc
  static void leave_out_excluded(ShardJob& job, ChunkEntry& e, std::uint16_t opener);
  Decision bypass(ShardJob& job, const wire::Packet& packet, Outbox& out);
  static void remind(ShardJob& job, const wire::Header& h, Outbox& out);

  // shard_retry.cc
  Decision on_retry(ShardJob& job, const wire::Packet& packet, const Endpoint& from, Outbox& out);

  // shard_degrade.cc
  bool takes_count(const ShardJob& job, const ChunkDescription& d, const wire::Packet& result);
  static bool tells_all(const ShardJob& job, const Contribution& result);
  void note_left_out(ShardJob& job, ChunkEntry& e, const wire::Packet& result, Instant now);
  static void add_left_out(const ShardJob& job, std::uint32_t seq, Outgoing& o);
  static bool comes_late(const ShardJob& job, const ChunkEntry& e, const Contribution& c);
  Decision answer_late(ShardJob& job, const ChunkEntry& e, const Endpoint& from, Outbox& out);

  // shard_notify.cc
  Decision recall(ShardJob& job, const wire::Header& ahead, Instant now, Outbox& out);

  // shard_reply.cc
  Decision on_probe(ShardJob& job, const wire::Packet& packet, const Endpoint& from, Instant now,
                    Outbox& out);
  Decision on_ack(ShardJob& job, const wire::Packet& packet, Instant now, Outbox& out);
  static Decision say_pending(ShardJob& job, const wire::Header& asked, const Endpoint& from,
                              std::span<const std::uint32_t> missing, bool held_up, Outbox& out);
  static std::span<const std::uint32_t> ranks_behind(const ShardJob& job,
                                                     const ChunkEntry* in_the_way,
                                                     std::span<std::uint32_t> room);
  Decision answer_from_cache(ShardJob& job, const wire::Packet& packet, const Endpoint& from,
                             Outbox& out);
  void multicast_result(ShardJob& job, const ChunkEntry& e, Outbox& out);
  void send_result(ShardJob& job, const ChunkEntry& e, const Endpoint& to, Outbox& out);
  void finish_result(ShardJob& job, const ChunkEntry& e, Outgoing& o, bool whole);
  static std::uint32_t result_flags(const ChunkEntry& e);

  std::uint8_t index_;
  std::uint32_t switch_id_;
  Duration preempt_idle_;
  bool preempt_busy_;
  std::span<std::byte> memory_;
  std::vector<std::unique_ptr<BufferClass>> classes_;
  std::array<KernelTable, 2> kernels_;           // by wire::Arithmetic
  std::vector<std::unique_ptr<ShardJob>> jobs_;  // by place; may be nullptr
  JobIndex<ShardJob> by_id_;
  SlotPool pool_;

  std::vector<ShardJob*> present_;  // those of jobs_ that are there
  Instant nothing_due_before_;      // no deadline of theirs
  Instant turn_;                    // when expire() was called last
  HoldTimes past_holds_;            // of jobs that are gone
  std::vector<BufferPool*> pools_;  // all
  bool unsettled_ = false;          // some pool has buffers to take back
  std::vector<UnsentBuffer> unsent_;
  FoldQueue folds_;
  std::vector<std::byte*> bracket_values_;      // accumulators of inner brackets
  const BufferClass* bracket_class_ = nullptr;  // whose buffers those are
  std::vector<const void*> sources_;
  std::uint32_t abort_job_ = 0;
  AbortCause abort_cause_;
  std::array<std::uint32_t, kMaxListedIds> scratch_ids_;
  std::vector<std::uint64_t> coverage_;  // ranks of the message being made
};
// With what counts its owners.
static_assert(sizeof(Shard) + 2 * sizeof(void*) <= config::kShardBytes);

}  // namespace tributary::aggregator
