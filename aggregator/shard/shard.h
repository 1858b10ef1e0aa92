// The state of one shard index for all jobs: chunk tables, slots, buffers, deadlines, results
// (protocol rule 16). No two shards share state, so each may live on an lcore of its own, and a
// whole Shard can be handed to another owner between two calls (Engine::hand_over()).
//
//   Engine ── start_epoch, clear, forget_child, expire ─▶ Shard ─▶ RESULT, PENDING, UNKNOWN
//             (control: who takes part)                     ▲  ├─▶ ESCALATION, CONTRIBUTION, PROBE
//   packet ── contribution, probe, ack ─────────────────────┤  │   to the completion host
//   result of the completion host or parent ────────────────┘  └─▶ abort request ─▶ Engine
//
// Two decisions are left to the engine: a packet whose sender is no member (verdict `refused`), and
// the end of an epoch (verdict `epoch_aborted`, with abort_request()).
//
// Sources: shard.cc life of jobs and epochs, dispatch, clock; shard_data.cc decides on
// contributions; shard_plain.cc is the short way for most of them; shard_cache.cc keeps
// acknowledged results; shard_slots.cc dynamic slots; shard_escalate.cc traffic with the completion
// host; shard_tree.cc sums that go up; shard_relay.cc data that other switches could not finish;
// shard_exclude.cc children that are left out; shard_retry.cc chunks sent again as floating point;
// shard_congestion.cc congestion marks; shard_degrade.cc results that lack ranks; shard_reply.cc
// results and answers to probes; shard_change.cc other jobs in their places; shard_look.cc the
// state of one chunk for `tributary trace`.
//
// ChunkSums moves the bytes: it makes the sums and keeps their buffers.
//
// Pure: no clock, no I/O, no allocation after construction. One thread at a time calls it. Payload
// spans in messages appended to an Outbox are valid until the next call.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "aggregator/chunk/chunk_look.h"
#include "aggregator/chunk/job_index.h"
#include "aggregator/chunk/outbox.h"
#include "aggregator/chunk/payloads.h"
#include "aggregator/chunk/slot_pool.h"
#include "aggregator/chunk/verdict.h"
#include "aggregator/shard/abort_cause.h"
#include "aggregator/shard/chunk_sums.h"
#include "aggregator/shard/shard_job.h"
#include "aggregator/shard/status.h"

namespace tributary::aggregator {

// A job of a configuration, and its place in the shards: jobs that stay keep their places.
struct JobPlacement {
  const config::JobConfig* config = nullptr;
  std::uint32_t place = 0;
  std::uint32_t first_slot = 0;
  bool is_new = true;  // new in this place
};

// The changes of one shard.
struct ShardChange {
  struct Entry {
    std::uint32_t place = 0;
    std::unique_ptr<ShardJob> job;  // nullptr: none
    std::uint32_t quota = 0;        // of dynamic slots
  };
  std::vector<Entry> entries;
  JobIndex<ShardJob> by_id;
  std::vector<ShardJob*> present;
  ChunkSums::Room room;
};

class Shard {
 public:
  // Takes the jobs of `config` that have this shard. `memory` holds payload_bytes(config, index)
  // bytes and outlives the shard.
  Shard(const config::SwitchConfig& config, std::uint8_t index, std::span<std::byte> memory);
  Shard(const Shard&) = delete;
  Shard& operator=(const Shard&) = delete;
  static std::size_t payload_bytes(const config::SwitchConfig& config, std::uint8_t index);

  // Prepares other jobs for places of this shard, see Engine::prepare(). `places` has all jobs of
  // the next configuration; throws std::invalid_argument if they do not fit. Control thread.
  [[nodiscard]] ShardChange prepare(std::span<const JobPlacement> places, Reserve& reserve) const;
  // Applies the change; `change` then holds the replaced jobs, whose epochs must be over.
  void apply(ShardChange& change);

  // ---- called by the engine's control part; `job` is the job's place

  // All ranks are members; peers[rank] is the endpoint of each.
  void start_epoch(std::uint32_t job, std::uint16_t epoch, std::uint32_t first_seq,
                   std::span<const Endpoint> peers, Instant now);
  // Changes this member's endpoint.
  void bind(std::uint32_t job, std::uint32_t rank, const Endpoint& peer);
  // The epoch is over: frees all that the job held; hold times end at the last expire().
  void clear(std::uint32_t job);
  // A rank has left; it holds all results of the ops before `first_op`. Returns true if an
  // unfinished chunk of a later op still needs its contribution.
  bool forget_child(std::uint32_t job, std::uint16_t child, std::uint32_t first_op);
  // When a packet of this member last came here; nullopt: none since the epoch began. Called by the
  // engine's thread, even if the shard has another owner.
  [[nodiscard]] std::optional<Instant> last_heard(std::uint32_t job, std::uint32_t rank) const;

  // ---- packets and time

  // Prefetches what on_packet() of this packet touches: first the chunk entry and the sender, and,
  // when those are here, the payload and the sum. Calling these is optional.
  void prefetch_entry(const wire::Header& h) const;
  void prefetch_data(const wire::Packet& packet, Payloads payloads) const;
  // prefetch_data() runs ahead by so many packets; a CPU cannot have more misses in flight.
  static constexpr std::uint32_t kPacketsAhead = 2;
  // Between the two, sums may be computed later than they are decided (fold_queue.h): packets must
  // stay in place until end_burst(). Decisions and messages do not differ.
  void begin_burst() { sums_.begin_burst(); }
  void end_burst() { sums_.end_burst(); }
  // The short way of most packets, see shard_plain.cc: same decision as on_packet(). Or `refused`:
  // nothing has changed, and on_packet() must decide.
  Decision take_plain(const wire::Packet& packet, const Endpoint& from, Instant now, Outbox& out);
  // Takes a contribution, probe or ack. `refused`: the sender is no member of the running epoch, or
  // the job has no such shard; nothing has changed and no reply was made.
  Decision on_packet(const wire::Packet& packet, const Endpoint& from, Instant now, Outbox& out);
  // RESULT, PENDING, UNKNOWN or ESCALATION of the switch above. The engine has checked the sender,
  // and passes PENDING and UNKNOWN with the flag bypass on to the rank in `origin`.
  Decision on_parent(const wire::Packet& packet, Instant now, Outbox& out);
  // When the parent last sent to the running epoch here. Also called by the engine's thread.
  [[nodiscard]] std::optional<Instant> parent_heard(std::uint32_t job) const;
  // Sets the term of the host whose results are taken; 0: the host in this switch.
  void set_host_term(std::uint32_t job, std::uint32_t term);
  // Sets the ops in which this child takes no part in the sums here; none in a new epoch.
  void set_exclusion(std::uint32_t job, std::uint16_t child, Exclusion ops);
  [[nodiscard]] Exclusion exclusion(std::uint32_t job, std::uint16_t child) const;
  // The op after all those of which anything was summed here in this epoch.
  [[nodiscard]] std::uint32_t next_op(std::uint32_t job) const;
  // True if the chunk waits for the host's result.
  [[nodiscard]] bool is_with_host(std::uint32_t job, std::uint32_t seq) const;
  // See Engine::announce_again().
  std::uint32_t announce_again(std::uint32_t job, std::uint32_t seq, Outbox& out);
  // RESULT of the completion host. Returns false if it was of no use.
  bool on_result(const wire::Packet& packet, Instant now, Outbox& out);
  // RESULT of an engine that this switch hosts, in the tree of a root above (T9).
  Decision on_hosted_result(const wire::Packet& packet, Instant now, Outbox& out);
  // Such an engine has taken this sum, which was for the parent: the host finishes the chunk.
  void on_sum_taken(const wire::Header& sum, Instant now);
  // True if some chunk waits for a host's result, and only that host can make it.
  [[nodiscard]] bool waits_for_host(std::uint32_t job) const;
  // UNKNOWN of the completion host that asks for a chunk as floats. Returns false if of no use.
  bool begin_retry(const wire::Packet& request, Instant now);
  // Ends what is overdue. True: an epoch must be aborted, see abort_request(); then call again.
  bool expire(Instant now, Outbox& out);

  // After epoch_aborted or a true expire(): the job whose epoch must end, and why. For the reason
  // rank-left, the engine knows the ranks.
  [[nodiscard]] std::uint32_t abort_job() const { return abort_job_; }
  [[nodiscard]] const AbortCause& abort_request() const { return abort_cause_; }

  // ---- for status and counters

  [[nodiscard]] const ShardJob* find_job(std::uint32_t job) const { return jobs_[job].get(); }
  // Adds rows from `place` on; true: no more in this shard.
  bool add_slots(Instant now, Slots which, SlotPlace& place, SlotLimits& limits,
                 std::vector<SlotStatus>& out) const;
  [[nodiscard]] ChunkLook look(const wire::Header& header) const;  // see Engine
  [[nodiscard]] std::uint8_t index() const { return index_; }
  [[nodiscard]] std::size_t job_places() const { return jobs_.size(); }
  [[nodiscard]] std::uint32_t pool_slots() const { return pool_.slots(); }  // of dynamic jobs
  [[nodiscard]] std::size_t table_bytes() const;
  // Hold times of jobs that a change of configuration has removed. Any thread.
  [[nodiscard]] const HoldTimes& past_holds() const { return past_holds_; }

 private:
  [[nodiscard]] SlotStatus slot_status(const ShardJob& job, const ChunkEntry& e, Instant now) const;
  void add_job(const config::JobConfig& job, std::uint32_t place, std::uint32_t first_slot);
  BufferClass* class_for(std::size_t buffer_bytes);
  static void note_deadline(ShardJob& job, ChunkEntry& e, Instant now);
  // An invariant is broken: no more sums of this job are sent, and its epoch ends with the next
  // expire(). Other jobs are not affected.
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
  // on; rule 2 adds one window.
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
  // The ranks inside the children that an open chunk still lacks, as many as `room` holds.
  static std::span<const std::uint32_t> missing_ranks(const ShardJob& job, const ChunkEntry& e,
                                                      std::span<std::uint32_t> room);

  // shard_plain.cc
  static void learn_kind(ShardJob& job, const wire::Packet& packet);
  void note_plain(ShardJob& job, const wire::Packet& packet, Instant now);
  Decision take_further(ShardJob& job, ChunkEntry& e, const ChunkDescription& d,
                        const wire::Packet& packet, Instant now, Outbox& out);
  Decision take_first(ShardJob& job, const ChunkDescription& d, const wire::Packet& packet,
                      Instant now, Outbox& out);

  // shard_cache.cc
  void release_acknowledged(ShardJob& job);
  void keep_or_free(ShardJob& job, ChunkEntry& e);

  // shard_slots.cc
  // Returns the reason why the chunk gets no slot; none: it has one now.
  wire::Reason take_slot(ShardJob& job, std::uint32_t seq, Instant now, Outbox& out);
  [[nodiscard]] bool may_preempt(const ShardJob& job, const SlotPool::Owner& owner,
                                 Instant now) const;
  bool preempt(ShardJob& job, std::uint32_t slot, Instant now, Outbox& out);
  void free_slot(ShardJob& job, ChunkEntry& e, Instant now);
  void change_seed(ShardJob& job, std::uint32_t seq);
  void adopt_seed(ShardJob& job);
  [[nodiscard]] std::uint32_t pool_slot(const ShardJob& job, std::uint32_t seq) const;
  // The slot of a chunk that holds one, or that it held last.
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
  void note_part(ShardJob& job, const wire::Header& h, const ChunkDescription& d);
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
  Instant nothing_due_before_;      // no deadline of the present jobs is before this
  Instant turn_;                    // time of the last expire()
  HoldTimes past_holds_;            // of removed jobs
  ChunkSums sums_;
  const BufferClass* bracket_class_ = nullptr;  // has the accumulators of inner brackets
  std::uint32_t abort_job_ = 0;
  AbortCause abort_cause_;
  std::array<std::uint32_t, kMaxListedIds> scratch_ids_;
  std::vector<std::uint64_t> coverage_;  // ranks of the message under construction
};
// Includes the counts of its owners.
static_assert(sizeof(Shard) + 2 * sizeof(void*) <= config::kShardBytes);

}  // namespace tributary::aggregator
