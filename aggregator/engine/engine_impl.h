// The engine's internals, shared by its source files: control packets (engine_join.cc), path probes
// (engine_path_probe.cc), status for `show`
// (engine_status.cc), changes of jobs (engine_change.cc) and the drains before them
// (engine_drain.cc), ranks that may be gone (engine_questions.cc), jobs that grow and shrink
// (engine_resize.cc), shards of other owners (engine_away.cc), records of epochs
// (engine_epochs.cc), and construction, dispatch, clock and ends of epochs (engine.cc).
#pragma once

#include <array>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <vector>

#include "aggregator/chunk/job_index.h"
#include "aggregator/chunk/reserve.h"
#include "aggregator/engine/engine.h"
#include "aggregator/engine/job.h"
#include "aggregator/shard/shard.h"

namespace tributary::aggregator {

// The job's part in this shard; nullptr if it has none, or the shard is away.
inline const ShardJob* find_part(const Shard* shard, std::uint32_t place) {
  return shard == nullptr ? nullptr : shard->find_job(place);
}

struct Engine::Impl {
  Impl(const config::SwitchConfig& config, const AddressBook& book, EngineStart start);

  // engine.cc
  // Handles packets that the short way does not take.
  Decision on_other(const wire::Packet& packet, const Endpoint& from, Instant now, Outbox& out);
  Decision on_data(Shard& shard, const wire::Packet& packet, const Endpoint& from, Instant now,
                   Outbox& out);
  Decision on_control(const wire::Packet& packet, const Endpoint& from, Instant now, Outbox& out);
  void abort_epoch(Job& job, wire::Reason reason, Outbox& out);
  // Set job.last_abort: an empty cause; one that blames a child; the ranks inside the first so many
  // children of scratch_ids.
  void set_cause(Job& job, std::uint32_t lost_switch);
  void blame_child(Job& job, std::uint32_t child);
  void list_ranks(Job& job, std::size_t children);
  static void write_cause(const AbortCause& cause, Outgoing& message);
  // Ends the epoch that the shard asked to end.
  void abort_for(const Shard& shard, Outbox& out);
  bool abort_by_host(Job& job, const wire::Packet& packet, Outbox& out);
  bool relay(const Job& job, const wire::Packet& packet, Outbox& out);
  void clear_shards(const Job& job);
  // nullptr if there is no such shard, or it is away.
  [[nodiscard]] Shard* shard_at(std::uint8_t index) const {
    return index < shards.size() ? shards[index].get() : nullptr;
  }
  Decision refuse(const wire::Packet& packet, const Endpoint& from, wire::Reason why,
                  DropReason counted, Job* job, Outbox& out);
  void send_abort(const Job& job, const Endpoint* to, Outbox& out);
  // Returns DropReason::none when the sender is a present member of this epoch.
  Decision check_member(Job& job, const wire::Packet& packet, const Endpoint& from, Instant now,
                        Outbox& out);
  // The shards note when members were heard; leases are checked here.
  void collect_last_heard(Job& job, std::uint32_t child);
  void expire_leases(Job& job, Instant now, Outbox& out);

  // engine_epochs.cc
  void record(Job& job, EpochRecord record);
  void record_begin(Job& job, const wire::Resumption& from, bool paused, Instant now);
  [[nodiscard]] Instant lost_since(const Job& job) const;
  void record_end(Job& job, EpochRecord end);
  void record_abort(Job& job);  // for job.last_abort
  void record_leave(Job& job, bool drained);

  // engine_change.cc
  [[nodiscard]] std::unique_ptr<Job> make_job(const config::SwitchConfig& config,
                                              const config::JobConfig& job, std::uint32_t place,
                                              std::uint64_t seed) const;
  [[nodiscard]] std::vector<JobPlacement> place_jobs(const config::SwitchConfig& next) const;
  void check_slots_for(const config::SwitchConfig& next) const;
  void inherit(Job& from, Job& to);
  // Keeps what has not been read of jobs that go, or went before; `replaced` are the former jobs.
  void keep_records(std::span<std::unique_ptr<Job>> replaced,
                    std::vector<std::unique_ptr<EpochLog>>& room);
  // Forgets children that were joining; returns those that were present, in scratch_ids.
  std::size_t lose_where(Job& job, const Engine::Gone& gone);
  void end_where(Job& job, const Engine::Gone& gone, Outbox& out);
  void lose_behind(Job& job, std::uint16_t port, Duration gone, Outbox& out);

  // engine_join.cc
  Decision on_join(Job& job, const wire::Packet& packet, const Endpoint& from, Instant now,
                   Outbox& out);
  Decision on_rightful_join(Job& job, const wire::Packet& packet, const Endpoint& from,
                            std::uint16_t child, Instant now, Outbox& out);
  Decision refuse_plane(Job& job, const wire::Packet& packet, const Endpoint& from, Outbox& out);
  Decision refuse_other_planes(Job& job, const wire::Packet& packet, const Endpoint& from,
                               Outbox& out);
  // nullptr: there is no such job.
  Decision refuse_for(const JoinRefusal& why, const wire::Packet& packet, const Endpoint& from,
                      Job* job, DropReason counted, Outbox& out);
  Decision refuse_other_tree(Job& job, const wire::Packet& packet, const Endpoint& from,
                             std::optional<std::uint16_t> child, Outbox& out);
  Decision on_unknown_join(const wire::Packet& packet, const Endpoint& from, Outbox& out);
  std::optional<Decision> refuse_other_task(Job& job, const wire::Packet& packet,
                                            const Endpoint& from, Outbox& out);
  std::optional<Decision> refuse_other_run(Job& job, const wire::Packet& packet,
                                           const Endpoint& from, std::uint16_t child, Instant now,
                                           Outbox& out);
  void ask_holder(Job& job, std::uint32_t child, Outbox& out);
  Decision refuse_taken(Job& job, const wire::Packet& packet, const Endpoint& from,
                        std::uint32_t child, Outbox& out);
  Decision on_leave(Job& job, const wire::Packet& packet, const Endpoint& from, Instant now,
                    Outbox& out);
  // Makes all children members of this epoch, and sends them START.
  void begin_epoch(Job& job, std::uint16_t epoch, std::uint32_t first_seq, Instant now,
                   Outbox& out);
  // The settings that all members must agree on.
  wire::StartInfo start_info(const Job& job) const;
  // Equal where two switches have equal settings of a job.
  [[nodiscard]] std::uint32_t settings_digest(const Job& job) const;
  void send_start(Job& job, std::uint32_t child, Outbox& out);
  void send_ack(const Job& job, const wire::Packet& packet, const Endpoint& to, Outbox& out);
  void send_join_pending(Job& job, std::uint64_t nonce, const Endpoint& to, Instant now,
                         Outbox& out);
  // The ranks below this switch that an epoch waits for.
  std::span<const std::uint32_t> awaited_below(const Job& job, Instant now);
  void say_forming(Job& job, std::span<const std::uint32_t> awaited, Instant now, Outbox& out);

  void abort_missing_departed(Job& job, wire::Reason reason, Outbox& out);

  // engine_path_probe.cc; nullptr: there is no such job
  Decision answer_path_probe(const Job* job, const wire::Packet& packet, const Endpoint& from,
                             Outbox& out);

  // engine_resize.cc
  std::optional<Decision> admit_size(Job& job, const wire::Packet& packet, const Endpoint& from,
                                     std::uint16_t child, Instant now, Outbox& out);
  std::optional<Decision> contradict(Job& job, const wire::Packet& packet, const Endpoint& from,
                                     std::uint16_t child, std::uint32_t other, Outbox& out);
  static void take_size(Job& job, std::uint32_t size);

  // engine_drain.cc
  [[nodiscard]] static bool can_drain(const Job& job);
  void want_drain(Job& job, Instant now, Outbox& out);
  void begin_drain(Job& job, const wire::Drain& asked, Instant now, Outbox& out);
  Decision on_drain(const wire::Packet& packet, const wire::Drain& drain, const Endpoint& from,
                    Instant now, Outbox& out);
  Decision on_drain_above(Job& job, const wire::Packet& packet, const wire::Drain& drain,
                          Instant now, Outbox& out);
  void on_drain_below(Job& job, std::uint32_t child, const wire::Drain& drain, Instant now,
                      Outbox& out);
  void sum_up_answers(Job& job, Instant now, Outbox& out);
  void say_drain(Job& job, Outbox& out);
  void say_drain_up(const Job& job, wire::DrainStep step, Outbox& out);
  void expire_drain(Job& job, Instant now, Outbox& out);
  // A child that says it has all results before the drain's op is no member of the epoch any more.
  Verdict depart(Job& job, std::uint16_t child, std::uint32_t held_before, Instant now,
                 Outbox& out);
  void end_membership(Job& job, Outbox& out);
  bool cannot_resume(Job& job, std::uint32_t child, std::uint64_t nonce, const wire::Resumption& r);
  void blame(Job& job, wire::Reason reason, std::size_t children);
  void give_up_resumption(Job& job, std::uint64_t id, Instant now, Outbox& out);
  Decision on_resumption_given_up(Job& job, std::optional<std::uint16_t> child,
                                  const wire::Drain& said, const Endpoint& from, Instant now,
                                  Outbox& out);
  static void write_join(const Job& job, Outgoing& join, const wire::Drain& drain);
  static bool is_outdated(const Job& job, const Member& m, std::uint64_t nonce,
                          const wire::Resumption& r, const Endpoint& from, Instant now);
  Decision refuse_to_resume(Job& job, const wire::Packet& packet, const Endpoint& from,
                            Outbox& out);
  bool agree_on_resumption(Job& job, std::uint32_t child, const wire::Resumption& r, Instant now);

  // engine_away.cc
  [[nodiscard]] bool all_here(const Job& job) const;
  // A shard that is here, for state that is equal in all shards; nullptr if all are away.
  [[nodiscard]] const Shard* any_shard(const Job& job) const;
  void check_all_here() const;
  void catch_up(Job& job, Shard& shard, Outbox& out);

  // engine_questions.cc
  [[nodiscard]] bool has_waiting_ranks(Job& job) const;
  void ask_silent(Job& job, Instant now, Outbox& out);

  // engine_exclude.cc
  Ruling rule(Job& job, std::uint32_t child, bool exclude, std::optional<std::uint32_t> from);
  void tell_exclusion(const Job& job, std::uint32_t child, Outbox& out);

  // engine_upstream.cc
  bool is_from_parent(std::uint32_t id, const Endpoint& from);
  Decision on_downward(const wire::Packet& packet, const Endpoint& from, Instant now, Outbox& out);
  Decision on_parent_start(Job& job, const wire::Packet& packet, Instant now, Outbox& out);
  Decision on_parent_pending(Job& job, const wire::Packet& packet);
  Decision on_child_forming(Job& job, const wire::Packet& packet, const Endpoint& from, Instant now,
                            Outbox& out);
  Decision on_parent_nack(Job& job, const wire::Packet& packet, Instant now, Outbox& out);
  void give_back(Job& job, wire::Reason why, Outbox& out);
  Decision on_parent_abort(Job& job, const wire::Packet& packet, Outbox& out);
  Decision on_child_abort(Job& job, const wire::Packet& packet, const Endpoint& from, Instant now,
                          Outbox& out);
  void adopt_cause(Job& job, const wire::Packet& packet, std::uint32_t lost_switch);
  void abort_parent_lost(Job& job, Outbox& out);
  void expire_upstream(Job& job, Instant now, Outbox& out);
  void join_parent(Job& job, Instant now, Outbox& out);
  void send_farewell(Job& job, Outbox& out);
  void send_leave_up(const Job& job, Outbox& out);
  void send_abort_up(Job& job, Outbox& out);
  Outgoing* send_up(const Job& job, wire::PacketType type, std::uint16_t epoch, Outbox& out);

  // The children or ranks that an AbortCause or PENDING lists, collected here so that the packet
  // path does not allocate.
  std::array<std::uint32_t, kMaxListedIds> scratch_ids;
  std::array<std::uint32_t, kMaxListedIds> scratch_ranks;
  std::vector<Endpoint> scratch_peers;

  const AddressBook& addresses;
  std::uint64_t epochs_begun = 0;  // of all jobs
  std::uint64_t drains_begun = 0;
  std::uint64_t records_made = 0;  // of epochs; the serial of the last
  std::uint64_t records_read = 0;  // the reader has all up to this one
  std::uint32_t first_seq;
  std::uint16_t next_epoch;
  std::uint16_t udp_base_port;
  bool takes_fragments;  // announced in START
  std::uint32_t switch_id;
  std::uint64_t nonce_seed;
  OpenDesk* open_desk;
  struct Free {
    void operator()(std::byte* memory) const { ::operator delete[](memory, kBufferAlignment); }
  };
  static constexpr std::align_val_t kBufferAlignment{64};
  std::unique_ptr<std::byte[], Free> own_memory;  // nullptr when the caller gave some
  std::uint64_t payload_bytes = 0;
  std::optional<Reserve> reserve;  // outlives the pieces taken from it
  std::size_t outbox_capacity = 0;
  std::uint64_t changes = 0;               // prepared so far
  Instant jobs_due;                        // when leases and parents are checked next
  Instant looked_at;                       // when they were checked last
  std::vector<std::unique_ptr<Job>> jobs;  // in the order of the configuration
  JobIndex<Job> job_index;
  std::vector<std::unique_ptr<EpochLog>> past_epochs;  // of removed jobs
  std::vector<std::shared_ptr<Shard>> shards;          // nullptr: away, see engine_away.cc
  // All shards, away or not, for state that any thread may read.
  std::vector<std::shared_ptr<const Shard>> all_shards;
};

// The state that prepare() builds; apply() exchanges it for the current one.
struct EngineChange {
  std::vector<std::unique_ptr<Job>> jobs;  // in the order of the configuration; nullptr: unchanged
  std::vector<std::size_t> stays_from;     // for those: the place before
  JobIndex<Job> job_index;
  std::vector<std::uint32_t> ending;                   // ids of jobs that change or go
  std::vector<std::unique_ptr<EpochLog>> past_epochs;  // room; then what was read
  std::vector<ShardChange> shards;
  std::vector<Endpoint> peers;
  std::size_t outbox_capacity = 0;
};

}  // namespace tributary::aggregator
