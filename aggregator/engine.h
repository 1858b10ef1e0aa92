// The aggregation engine of one switch: membership of jobs and the shards that sum their chunks.
//
//   packet ─▶ Engine::on_packet ─┬─ join, lease, leave ─▶ Membership ─▶ START, PENDING, ABORT
//                                └─ contribution, probe, ack ─▶ Shard ─▶ RESULT, PENDING, UNKNOWN
//   clock  ─▶ Engine::expire ────▶ deadlines and leases ─▶ ABORT
//
// Pure: no clock, no I/O, no allocation after construction. One thread at a time calls it; the
// counters of JobCounters may be read by others at any time.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "aggregator/chunk_state.h"
#include "aggregator/outbox.h"
#include "config/switch_config.h"
#include "core/counter.h"
#include "core/drop_reason.h"
#include "core/time.h"
#include "core/wire/header.h"

namespace tributary::aggregator {

// What became of a packet. `dropped` and `refused` carry a DropReason.
enum class Verdict : std::uint8_t {
  opened,         // first contribution of a chunk: a slot is held
  folded,         // summed into an open slot
  completed,      // last contribution: the result went out
  answered,       // reply sent: RESULT, PENDING, UNKNOWN, START or ACK
  noted,          // state updated, nothing to say (ack, lease)
  epoch_aborted,  // this packet ended the epoch: ABORT went to every member
  refused,        // NACK or ABORT sent back
  dropped,
};
struct Decision {
  Verdict verdict;
  DropReason reason = DropReason::count_;
};

// Per job, written by the engine's thread, readable by any.
struct JobCounters {
  Counter contributions;       // counted into a sum
  Counter contribution_bytes;  // payload of those
  Counter completions;
  Counter result_bytes;  // payload multicast, once per completion
  Counter duplicates;
  Counter probes;
  Counter resends;         // contributions with the resend flag
  Counter results_resent;  // answers from retained results
  Counter pending_replies;
  Counter unknown_replies;
  Counter nacks;
  Counter joins;
  Counter epochs;
  Counter aborts_deadline;
  Counter aborts_lease;
  Counter aborts_left;
  Counter aborts_restart;
  Counter aborts_mismatch;
  Counter aborts_shutdown;
  Counter slots_open;        // gauge
  Counter slots_high_water;  // gauge
  Counter results_retained;  // gauge
  Counter members;           // gauge: ranks of the running epoch still present
  Counter slot_hold_ns_max;  // longest time from first contribution to completion or abort
};

// For `show jobs`; filled on the engine's thread.
struct MemberStatus {
  std::uint32_t rank = 0;
  bool present = false;
  Peer peer;
  Duration silent_for;            // since its last packet
  std::uint32_t held_before = 0;  // shard 0: holds every result before this seq
};
enum class JobState : std::uint8_t { idle, forming, running, aborted };
const char* name_of(JobState state);
struct JobStatus {
  std::uint32_t id = 0;
  JobState state = JobState::idle;
  std::uint16_t epoch = 0;
  wire::Reason last_abort = wire::Reason::none;
  std::vector<MemberStatus> members;
};
// For `show slots`: one open slot.
struct SlotStatus {
  std::uint32_t job = 0;
  std::uint8_t shard = 0;
  std::uint32_t slot = 0;
  std::uint32_t op = 0;
  std::uint32_t chunk = 0;
  std::uint32_t seq = 0;
  std::uint32_t arrived = 0;
  std::uint32_t fan_in = 0;
  Duration open_for;
  std::vector<std::uint32_t> missing;  // ranks, at most 16
};

// Where an incarnation of a switch begins to count.
struct EngineStart {
  // Should differ between incarnations, so that a worker of the previous one is told that it is
  // stale. 0 counts as 1.
  std::uint16_t epoch = 1;
  // First seq of every shard; START carries it. Tests begin near the wrap.
  std::uint32_t seq = 0;
};

class Engine {
 public:
  // Port indices of config.ports are the `port` of Peer. Throws std::invalid_argument when the
  // jobs do not fit the configured slots.
  Engine(const config::SwitchConfig& config, EngineStart start);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // `packet` is parsed and its integrity is verified. Messages to send are appended to `out`.
  Decision on_packet(const wire::Packet& packet, const Peer& from, Instant now, Outbox& out);

  // Ends what is overdue: open chunks past their deadline, silent members. Cheap when nothing is.
  void expire(Instant now, Outbox& out);

  // ABORT(shutdown) to every running job.
  void shut_down(Outbox& out);

  // Where a job_group message goes: a frame for each VLAN tag among the members, to the ports
  // that lead to members with that tag.
  [[nodiscard]] std::span<const GroupCopy> group_copies(std::uint32_t job) const;

  [[nodiscard]] std::size_t outbox_capacity() const;
  [[nodiscard]] std::size_t job_count() const;
  [[nodiscard]] const config::JobConfig& job_config(std::size_t index) const;
  [[nodiscard]] const JobCounters& counters(std::size_t index) const;
  [[nodiscard]] std::uint64_t memory_bytes() const;  // payload buffers and tables, all reserved

  [[nodiscard]] std::vector<JobStatus> job_status(Instant now) const;
  [[nodiscard]] std::vector<SlotStatus> slot_status(Instant now, std::size_t most) const;
  // Of one chunk of the running epoch.
  [[nodiscard]] ChunkState chunk_state(std::size_t job_index, std::uint8_t shard,
                                       std::uint32_t seq) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tributary::aggregator
