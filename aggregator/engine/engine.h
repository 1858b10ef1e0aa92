// The aggregation engine of one switch: membership of jobs and the shards that sum their chunks.
//
//   packet ─▶ Engine::on_packet ─┬─ join, lease, leave ─▶ Membership ─▶ START, PENDING, ABORT
//                                └─ contribution, probe, ack ─▶ Shard ─▶ RESULT, PENDING, UNKNOWN
//   clock  ─▶ Engine::expire ────▶ deadlines and leases ─▶ ABORT
//   reload ─▶ Engine::prepare, quiesce, apply ─▶ other jobs
//
// The engine decides who takes part and how epochs end; a Shard handles chunks.
//
// Pure: no clock, no I/O, no allocation after construction. One thread at a time calls it; other
// threads may read the counters at any time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "aggregator/chunk/address_book.h"
#include "aggregator/chunk/chunk_look.h"
#include "aggregator/chunk/chunk_state.h"
#include "aggregator/chunk/counters.h"
#include "aggregator/chunk/outbox.h"
#include "aggregator/chunk/payloads.h"
#include "aggregator/chunk/verdict.h"
#include "aggregator/engine/drain.h"
#include "aggregator/engine/epoch_log.h"
#include "aggregator/engine/membership.h"
#include "aggregator/names/name_engine.h"
#include "aggregator/shard/open_desk.h"
#include "aggregator/shard/status.h"
#include "config/model/switch_config.h"
#include "core/time.h"
#include "core/wire/extension.h"
#include "core/wire/header.h"

namespace tributary::aggregator {

// The initial numbers of an incarnation of a switch.
struct EngineStart {
  // Should differ between incarnations, so that a worker of the previous one learns that it is
  // stale. 0 counts as 1.
  std::uint16_t epoch = 1;
  // First seq of every shard; START carries it. Tests begin near the wrap.
  std::uint32_t seq = 0;
  // Memory for payloads, at least Engine::payload_bytes(), on a cache line; it outlives the engine.
  // Empty: the engine allocates it.
  std::span<std::byte> memory = {};
  // Seed of the nonces with which this switch joins its parents; differs between incarnations.
  std::uint64_t nonce_seed = 1;
  // Where JOINs of jobs that are not there are noted; it outlives the engine. nullptr: nowhere.
  OpenDesk* open_desk = nullptr;
};

class Shard;
struct EngineChange;

// The members of a job's last epoch, and the endpoint of each. `serial` changes with each START of
// any job of the engine, and is 0 if there was none: data derived from the list is valid until it
// changes.
struct Members {
  std::span<const Member> list;
  std::uint64_t serial = 0;
};

class Engine {
 public:
  // Port indices of config.ports are those of an Endpoint. `addresses` outlives the engine. Throws
  // std::invalid_argument when the jobs do not fit the configured slots.
  Engine(const config::SwitchConfig& config, const AddressBook& addresses, EngineStart start);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // `packet` is parsed and its integrity is verified. Appends messages to send to `out`.
  Decision on_packet(const wire::Packet& packet, const Endpoint& from, Instant now, Outbox& out);

  // A packet of this switch that `from`, a rank's host, sent back, as far as it is quoted: no
  // process has the UDP port any more. Ends the epoch if it is a START to the member there, with
  // its nonce.
  Decision on_returned(const wire::Packet& sent, const Endpoint& from, Outbox& out);

  // A packet of the completion host; the caller has checked the sender. RESULT is kept and
  // multicast, PENDING and UNKNOWN go to the rank in `origin`, ABORT ends the epoch. Returns false
  // if the packet was of no use: it is late, or no chunk waits for it.
  bool on_host_packet(const wire::Packet& packet, Instant now, Outbox& out);
  // RESULT of an engine that this switch hosts for the job's root above: kept and multicast like
  // the root's own, which comes later (T9). Returns false if it was of no use.
  bool on_hosted_result(const wire::Packet& packet, Instant now, Outbox& out);
  // The engine that this switch hosts has taken this sum, which was for the parent.
  void on_sum_taken(const wire::Header& sum, Instant now);
  // True if some chunk of the shard waits for a host's result.
  [[nodiscard]] bool waits_for_host(std::uint32_t job, std::uint8_t shard) const;
  // Sets the host that finishes the shard's escalated chunks: START names it for shard 0, and
  // results of other terms are dropped. Address and term 0: the engine in this switch.
  void set_completion_host(std::uint32_t job, std::uint8_t shard, std::uint32_t ipv4,
                           std::uint32_t term);
  // The job's settings, as START carries them.
  [[nodiscard]] wire::StartInfo start_info(std::uint32_t job) const;
  // The running epoch; nullopt if there is none.
  [[nodiscard]] std::optional<std::uint16_t> running_epoch(std::uint32_t job) const;
  // The seq before which every result of the shard is here.
  [[nodiscard]] std::uint32_t accepted_before(std::uint32_t job, std::uint8_t shard) const;
  // A new host begins without state: announces the chunks that it has to finish, from `seq` on, as
  // far as there is room. Returns the seq to go on from; accepted_before() + W means it is done.
  std::uint32_t announce_again(std::uint32_t job, std::uint8_t shard, std::uint32_t seq,
                               Outbox& out);
  // Leaves a child out of the sums of all ops from `from` on, or takes it back; nullopt: from the
  // first op that has not begun. It is valid until the epoch ends.
  Ruling exclude(std::uint32_t job, std::uint32_t child, bool exclude,
                 std::optional<std::uint32_t> from, Outbox& out);
  // The child that is this rank; nullopt if there is none, or if the rank is behind a switch.
  [[nodiscard]] std::optional<std::uint32_t> worker_child(std::uint32_t job,
                                                          std::uint32_t rank) const;
  // No host finishes escalated chunks any more: sends ABORT(host-lost).
  void abort_host_lost(std::uint32_t job, Outbox& out);
  // Prefetches what on_packet() of this packet touches; see Shard, and burst.h for when.
  void prefetch_entry(const wire::Header& header) const;
  void prefetch_data(const wire::Packet& packet, Payloads payloads) const;
  // Between the two, over one burst or several, payloads of packets must stay in place: sums may be
  // computed later than they are decided, and several of a chunk in one pass (fold_queue.h).
  // Messages in the outbox may be sent at any time.
  void begin_burst();
  void end_burst();

  // Ends what is overdue: open chunks past their deadline, silent members. Cheap if there is none.
  void expire(Instant now, Outbox& out);

  // ABORT(shutdown) to every running job.
  void shut_down(Outbox& out);

  // The destinations of a job_group message. Empty if there is no such job, or it had no epoch.
  [[nodiscard]] Members members(std::uint32_t job) const;

  // The port of the link to the parent; nullopt if this switch is the job's root.
  [[nodiscard]] std::optional<std::uint16_t> uplink(std::uint32_t job) const;

  // For named data (aggregator/names/): who sent this packet, in the job's last epoch; and this
  // switch's place at its parent, for a header of a packet that goes there.
  [[nodiscard]] NameSender name_sender(const wire::Header& header, const Endpoint& from) const;
  void address_up(wire::Header& header) const;

  [[nodiscard]] std::size_t job_count() const;
  [[nodiscard]] const config::JobConfig& job_config(std::size_t index) const;
  // The sum over all shards, as it is now. Any thread.
  [[nodiscard]] JobCounters counters(std::size_t index) const;
  // The counters of one shard; nullptr when the job does not have it. Any thread.
  [[nodiscard]] const ShardCounters* shard_counters(std::size_t index, std::uint8_t shard) const;
  // Over all shards and all jobs, removed ones included. Any thread.
  [[nodiscard]] HoldTimes slot_holds() const;
  static std::size_t payload_bytes(const config::SwitchConfig& config);
  [[nodiscard]] std::uint64_t memory_bytes() const;  // payload buffers and tables, all reserved

  // State of all jobs and chunks. With large tables either takes longer than a packet loop may
  // spend, so the loop looks at one job, or at a limited number of chunks, at a time.
  [[nodiscard]] std::vector<JobStatus> job_status(Instant now) const;
  [[nodiscard]] JobStatus job_status(Instant now, std::size_t index) const;
  // How epochs began and ended: all that is kept after this serial, of removed jobs, too. `since`
  // is the `until` of the latest answer that the reader has; 0: none. There is one reader.
  [[nodiscard]] EpochRecords epoch_records(std::uint64_t since) const;
  [[nodiscard]] std::vector<SlotStatus> slot_status(Instant now, std::size_t most,
                                                    Slots which = Slots::held) const;
  // Appends rows found from `place` on to `into`, and moves `place` on; false: there are no more.
  // Unless the configuration changes between two calls, no chunk comes up twice.
  bool slot_status(Instant now, Slots which, SlotPlace& place, SlotLimits limits,
                   std::vector<SlotStatus>& into) const;
  // The time-line of an op over all shards, in order of time; empty if it is not known, or not
  // known any more.
  [[nodiscard]] std::vector<OpLine> op_lines(std::uint32_t job, std::uint32_t op,
                                             Instant now) const;
  // The ops of a job that op_lines() knows, oldest first.
  [[nodiscard]] std::vector<KnownOp> known_ops(std::uint32_t job, Instant now) const;
  // The latest ops of a job, oldest first; none where one rank's data is passed on.
  [[nodiscard]] std::vector<OpLateness> lateness(std::uint32_t job, Instant now,
                                                 std::uint32_t from_op = 0) const;
  // The exclusions of a job's children.
  [[nodiscard]] std::vector<Exclusion> exclusions(std::size_t index) const;
  // Rows for all jobs; within a job, the latest child first. With many children it takes longer
  // than a packet loop may spend, so the loop uses the next function for some of them at a time.
  [[nodiscard]] std::vector<ChildLateness> stragglers(Instant now) const;
  // Appends the next children from `place` on to `into`, and moves `place` on; false: there are no
  // more. The cost of a child grows with its job's shards: `most` limits both together, and a call
  // adds at least one child. Each child is compared with the ops that are known at that time.
  bool stragglers(Instant now, LatenessPlace& place, std::size_t most,
                  std::vector<ChildLateness>& into) const;
  // Totals of one child of a job over all shards. Any thread.
  [[nodiscard]] ChildTotals child_totals(std::size_t index, std::uint32_t child) const;
  // The state of one chunk of the running epoch; unseen while its shard is away.
  [[nodiscard]] ChunkState chunk_state(std::size_t job_index, std::uint8_t shard,
                                       std::uint32_t seq) const;
  // The state of the chunk that this packet names; unknown if it names none. Called on the loop:
  // unlike the functions above, it allocates nothing.
  [[nodiscard]] ChunkLook look(const wire::Header& header) const;

  // Change of configuration: jobs come, go and change; unchanged jobs go on undisturbed (rule 16).
  // prepare() allocates all that the change needs, on a control thread and while packets are
  // handled; one change at a time. Throws std::invalid_argument, with figures, when it does not fit
  // the reserved memory.
  [[nodiscard]] std::shared_ptr<EngineChange> prepare(const config::SwitchConfig& next);
  // Two steps between the same two packets. quiesce() ends the epochs of jobs that change or go:
  // ABORT(configuration-changed), which must be sent before apply() forgets the members. After that
  // `change` holds the replaced state, for the control thread to destroy.
  void quiesce(const EngineChange& change, Outbox& out);
  void apply(EngineChange& change);
  // Drains (docs/protocol/drains.md). The epochs of these jobs are to end after an op that all
  // ranks finish; none begins here until release(), or, held for a change, until the jobs change.
  // Again if some epoch began since. Jobs that are not here are passed over.
  void drain(std::span<const std::uint32_t> jobs, Instant now, Outbox& out,
             Holder by = Holder::change);
  void release(std::span<const std::uint32_t> jobs, Holder by = Holder::change);
  // Those of these jobs whose epochs still run; for a change, only those whose ranks can go on in
  // another one.
  [[nodiscard]] std::vector<std::uint32_t> draining(std::span<const std::uint32_t> jobs,
                                                    Holder by = Holder::change) const;
  // The port will be removed: epochs with members behind it end like those of jobs that change, and
  // name these ranks. A rank that is joining through it may join through another port.
  void end_behind(std::uint16_t port, Outbox& out);
  // The port's peer has been gone for this long. In jobs whose lease is at most kGonePart times as
  // long, members behind the port are lost: their epochs end as if their leases had expired.
  void lose_behind(std::uint16_t port, Duration gone, Outbox& out);
  static constexpr std::int64_t kGonePart = 10;
  // As end_behind(), for members whose endpoint `gone` rejects.
  using Gone = std::function<bool(const Endpoint&)>;
  void end_where(const Gone& gone, Outbox& out);
  // The most messages that one call can append.
  [[nodiscard]] std::size_t outbox_capacity() const;
  [[nodiscard]] static std::size_t outbox_capacity(const config::SwitchConfig& config);

  // Hands a shard to another owner, who calls it from then on, expire() included. Returns nullptr
  // if it is away already, or there is none. Not within a burst. Like a change of configuration,
  // neither this nor take_back() may be called between prepare() and apply(). While a shard is away
  //   - its packets and results that come here are dropped (bad-shard) or ignored; packets of
  //     members still renew their leases, and so do those that the shard gets;
  //   - leases, LEAVE and ABORT end epochs as usual; no epoch of a job with the shard begins
  //     (JOIN is answered with PENDING), no child is excluded, and no change is prepared;
  //   - counters for any thread stay available; the state of its chunks is not shown.
  // If the shard asks for the end of an epoch (verdict epoch_aborted, a true Shard::expire()), it
  // asks again once it is back: the packet comes again, and the deadline has still passed.
  std::shared_ptr<Shard> hand_over(std::uint8_t shard);
  // Takes the shard back; the other owner must not call it any more. It catches up on what it
  // missed: epochs that ended, ranks that left, endpoints of members and its completion host.
  void take_back(const std::shared_ptr<Shard>& shard, Outbox& out);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tributary::aggregator
