// The aggregation engine of one switch: membership of jobs and the shards that sum their chunks.
//
//   packet ─▶ Engine::on_packet ─┬─ join, lease, leave ─▶ Membership ─▶ START, PENDING, ABORT
//                                └─ contribution, probe, ack ─▶ Shard ─▶ RESULT, PENDING, UNKNOWN
//   clock  ─▶ Engine::expire ────▶ deadlines and leases ─▶ ABORT
//   reload ─▶ Engine::prepare, quiesce, apply ─▶ other jobs
//
// The engine decides who takes part and how epochs end; what a chunk needs is in its Shard.
//
// Pure: no clock, no I/O, no allocation after construction. One thread at a time calls it; the
// counters may be read by others at any time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "aggregator/chunk/chunk_look.h"
#include "aggregator/chunk/chunk_state.h"
#include "aggregator/chunk/counters.h"
#include "aggregator/chunk/outbox.h"
#include "aggregator/chunk/payloads.h"
#include "aggregator/chunk/verdict.h"
#include "aggregator/engine/membership.h"
#include "aggregator/shard/status.h"
#include "config/model/switch_config.h"
#include "core/time.h"
#include "core/wire/extension.h"
#include "core/wire/header.h"

namespace tributary::aggregator {

// Where an incarnation of a switch begins to count.
struct EngineStart {
  // Should differ between incarnations, so that a worker of the previous one is told that it is
  // stale. 0 counts as 1.
  std::uint16_t epoch = 1;
  // First seq of every shard; START carries it. Tests begin near the wrap.
  std::uint32_t seq = 0;
  // For payloads, of at least Engine::payload_bytes(), on a cache line; outlives the engine. Empty:
  // the engine takes its own.
  std::span<std::byte> memory = {};
  // Of the nonces with which this switch joins others; differs between incarnations.
  std::uint64_t nonce_seed = 1;
};

class Shard;
struct EngineChange;

// The members of a job's last epoch, where each is bound. `serial` is another one after each START
// of any job of the engine, and 0 where there was none: what was made of the list is good until
// then.
struct Members {
  std::span<const Member> list;
  std::uint64_t serial = 0;
};

class Engine {
 public:
  // Port indices of config.ports are the port of an Endpoint. Throws std::invalid_argument when the
  // jobs do not fit the configured slots.
  Engine(const config::SwitchConfig& config, EngineStart start);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // `packet` is parsed and its integrity is verified. Messages to send are appended to `out`.
  Decision on_packet(const wire::Packet& packet, const Endpoint& from, Instant now, Outbox& out);

  // What the completion host says, which the caller has made sure of: RESULT is kept
  // and multicast, PENDING and UNKNOWN go to the rank in `origin`, ABORT ends the epoch. False: it
  // was of no use, because it is late or nobody waits for it.
  bool on_host_packet(const wire::Packet& packet, Instant now, Outbox& out);
  // RESULT of an engine that this switch hosts for the job's root above: kept and multicast like
  // the root's own, which comes later (T9). False: of no use.
  bool on_hosted_result(const wire::Packet& packet, Instant now, Outbox& out);
  // The engine that this switch hosts has taken this sum, which was for the parent.
  void on_sum_taken(const wire::Header& sum, Instant now);
  // Some chunk of the shard waits for what a host makes of it.
  [[nodiscard]] bool waits_for_host(std::uint32_t job, std::uint8_t shard) const;
  // Who finishes what is escalated of a shard, from now on: START names it for shard 0, and no
  // other term's results are taken. Address and term 0: the engine next door.
  void set_completion_host(std::uint32_t job, std::uint8_t shard, std::uint32_t ipv4,
                           std::uint32_t term);
  // What START says of the job.
  [[nodiscard]] wire::StartInfo start_info(std::uint32_t job) const;
  // The epoch that runs, if one does.
  [[nodiscard]] std::optional<std::uint16_t> running_epoch(std::uint32_t job) const;
  // Every result of the shard before this seq is here.
  [[nodiscard]] std::uint32_t accepted_before(std::uint32_t job, std::uint8_t shard) const;
  // Another host begins with nothing: tells it what it has to finish, from `seq` on, as far as
  // there is room. Returns the seq to go on from; accepted_before() + W: that was all.
  std::uint32_t announce_again(std::uint32_t job, std::uint8_t shard, std::uint32_t seq,
                               Outbox& out);
  // Leaves a child out of the sums of all ops from `from` on, or takes it back; nullopt: from the
  // first op that has not begun. It holds until the epoch ends.
  Ruling exclude(std::uint32_t job, std::uint32_t child, bool exclude,
                 std::optional<std::uint32_t> from, Outbox& out);
  // The child that this rank is; nullopt: none, or it is behind a switch that is one.
  [[nodiscard]] std::optional<std::uint32_t> worker_child(std::uint32_t job,
                                                          std::uint32_t rank) const;
  // Nobody finishes what is escalated: ABORT(host-lost).
  void abort_host_lost(std::uint32_t job, Outbox& out);
  // What on_packet() of this packet will touch; see Shard, and burst.h for when.
  void prefetch_entry(const wire::Header& header) const;
  void prefetch_data(const wire::Packet& packet, Payloads payloads) const;
  // Between the two, of one burst or of several, payloads of packets must stay where they are: sums
  // may be made later than they are decided, and several of a chunk in one pass (fold_queue.h).
  // What is in the outbox may be sent at any time.
  void begin_burst();
  void end_burst();

  // Ends what is overdue: open chunks past their deadline, silent members. Cheap when nothing is.
  void expire(Instant now, Outbox& out);

  // ABORT(shutdown) to every running job.
  void shut_down(Outbox& out);

  // To whom a job_group message goes. None: there is no such job, or it has had no epoch.
  [[nodiscard]] Members members(std::uint32_t job) const;

  // The port through which a message to the parent goes; nullopt: the job ends here.
  [[nodiscard]] std::optional<std::uint16_t> uplink(std::uint32_t job) const;

  [[nodiscard]] std::size_t job_count() const;
  [[nodiscard]] const config::JobConfig& job_config(std::size_t index) const;
  // Of all shards together, as they are now. Any thread.
  [[nodiscard]] JobCounters counters(std::size_t index) const;
  // Of one shard; nullptr when the job does not have it. Any thread.
  [[nodiscard]] const ShardCounters* shard_counters(std::size_t index, std::uint8_t shard) const;
  // Of all shards and all jobs, those that are gone included. Any thread.
  [[nodiscard]] HoldTimes slot_holds() const;
  static std::size_t payload_bytes(const config::SwitchConfig& config);
  [[nodiscard]] std::uint64_t memory_bytes() const;  // payload buffers and tables, all reserved

  // Of all jobs and chunks. With large tables either takes longer than a packet loop has, which
  // looks at a job, or at so many chunks, at a time.
  [[nodiscard]] std::vector<JobStatus> job_status(Instant now) const;
  [[nodiscard]] JobStatus job_status(Instant now, std::size_t index) const;
  [[nodiscard]] std::vector<SlotStatus> slot_status(Instant now, std::size_t most,
                                                    Slots which = Slots::held) const;
  // Puts what it finds from `place` on behind `into`, and moves `place` on; false: that was all.
  // Whatever happens between two looks but a change of configuration, no chunk comes up twice.
  bool slot_status(Instant now, Slots which, SlotPlace& place, SlotLimits limits,
                   std::vector<SlotStatus>& into) const;
  // The time-line of an op, over all shards in order of time; empty when it is not known (any
  // more).
  [[nodiscard]] std::vector<OpLine> op_lines(std::uint32_t job, std::uint32_t op,
                                             Instant now) const;
  // Of the latest ops of a job, oldest first; none where one rank's data is passed on.
  [[nodiscard]] std::vector<OpLateness> lateness(std::uint32_t job, Instant now,
                                                 std::uint32_t from_op = 0) const;
  // Of a job's children.
  [[nodiscard]] std::vector<Exclusion> exclusions(std::size_t index) const;
  // Of all jobs; of each job the latest child first. With many children it takes longer than a
  // packet loop has, which looks at some of them at a time.
  [[nodiscard]] std::vector<ChildLateness> stragglers(Instant now) const;
  // Puts the next children from `place` on behind `into`, and moves `place` on; false: that was
  // all. What a child costs grows with its job's shards: `most` is of both together, and a piece is
  // of one child at least. Each child is compared with the ops that are known when it is looked at.
  bool stragglers(Instant now, LatenessPlace& place, std::size_t most,
                  std::vector<ChildLateness>& into) const;
  // Of one child of a job, all shards together. Any thread.
  [[nodiscard]] ChildTotals child_totals(std::size_t index, std::uint32_t child) const;
  // Of one chunk of the running epoch; unseen while its shard is away.
  [[nodiscard]] ChunkState chunk_state(std::size_t job_index, std::uint8_t shard,
                                       std::uint32_t seq) const;
  // Of the chunk that this packet names; nothing is known where it names none. On the loop: unlike
  // the others of these, it allocates nothing.
  [[nodiscard]] ChunkLook look(const wire::Header& header) const;

  // Change of configuration: jobs come, go and change; those that are the same go on undisturbed
  // (rule 16). prepare() makes all that the change needs, on a control thread and while packets are
  // handled; one change at a time. Throws std::invalid_argument, with figures, when it does not fit
  // what was reserved.
  [[nodiscard]] std::shared_ptr<EngineChange> prepare(const config::SwitchConfig& next);
  // Two steps between the same two packets. quiesce() ends the epochs of jobs that change or go:
  // ABORT(configuration-changed), which has to be sent before apply() forgets where to. After that
  // `change` holds what was replaced, for the control thread to destroy.
  void quiesce(const EngineChange& change, Outbox& out);
  void apply(EngineChange& change);
  // There will be no such port: epochs with members behind it end as those of jobs that change, and
  // say which ranks these are; whoever has asked to join through it may do so through another.
  void end_behind(std::uint16_t port, Outbox& out);
  // The same of members that can be where they joined from no longer.
  using Gone = std::function<bool(const Endpoint&)>;
  void end_where(const Gone& gone, Outbox& out);
  // What one call can append at most.
  [[nodiscard]] std::size_t outbox_capacity() const;
  [[nodiscard]] static std::size_t outbox_capacity(const config::SwitchConfig& config);

  // Hands a shard to another owner, who calls it from then on, expire() included; nullptr: it is
  // away already, or there is none. Not within a burst, and like a change of configuration: neither
  // this nor take_back() between prepare() and apply(). While a shard is away
  //   - packets and results of it that come here are dropped (bad-shard) or of no use; those of
  //     members still say that they live, and so do those that the shard gets;
  //   - leases, LEAVE and ABORT end epochs as ever; no epoch of a job that has the shard begins
  //     (JOIN is answered with PENDING), no child is excluded, and no change is prepared;
  //   - figures for any thread are as they are; what one of its chunks is doing is not shown.
  // Of an epoch that it asks an end for (verdict epoch_aborted, a true Shard::expire()) it asks
  // again once it is back: that packet comes again, and the deadline has still passed.
  std::shared_ptr<Shard> hand_over(std::uint8_t shard);
  // The same shard, which nobody else calls any more. It learns what it has missed: epochs that are
  // over, who has left, where members are bound and who finishes its chunks.
  void take_back(const std::shared_ptr<Shard>& shard, Outbox& out);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tributary::aggregator
