// Everything of one shard index, for all jobs: chunk tables, slots, buffers, deadlines, results
// (protocol rule 16). No two shards share any state, so each may live on a lcore of its own, and a
// whole Shard can be handed to another owner at any time between two calls.
//
//   Engine ── start_epoch, clear, forget_child, expire ─▶ Shard ─▶ RESULT, PENDING, UNKNOWN
//             (control: who takes part)                     ▲  │
//   packet ── contribution, probe, ack ─────────────────────┘  └▶ abort request ─▶ Engine
//
// What a shard cannot decide alone it leaves to the engine: a sender that is no member (verdict
// `refused`), and the end of an epoch (verdict `epoch_aborted`, with abort_request()).
//
// Pure: no clock, no I/O, no allocation after construction. One thread at a time calls it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "aggregator/abort_cause.h"
#include "aggregator/buffer_pool.h"
#include "aggregator/chunk_deadlines.h"
#include "aggregator/job_index.h"
#include "aggregator/outbox.h"
#include "aggregator/shard_job.h"
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
  // A rank has left. True when an open chunk still needs its contribution.
  bool forget_child(std::uint32_t job, std::uint16_t child);
  // When this member was last heard of here; nullopt: not since the epoch began.
  [[nodiscard]] std::optional<Instant> last_heard(std::uint32_t job, std::uint32_t rank) const;

  // ---- packets and time

  // A contribution, probe or ack. `refused`: the sender is no member of the running epoch, or the
  // job has no such shard; nothing was changed or said.
  Decision on_packet(const wire::Packet& packet, const Peer& from, Instant now, Outbox& out);
  // Ends what is overdue. True: an epoch must be aborted, see abort_request(); then call again.
  bool expire(Instant now);

  // After epoch_aborted or a true expire(): whose epoch must end, and why. For the reason
  // rank-left the engine knows which ranks.
  [[nodiscard]] std::uint32_t abort_job() const { return abort_job_; }
  [[nodiscard]] const AbortCause& abort_request() const { return abort_cause_; }

  // ---- for people

  [[nodiscard]] const ShardJob* find_job(std::uint32_t job) const { return jobs_[job].get(); }
  void add_slots(Instant now, std::size_t most, std::vector<SlotStatus>& out) const;
  [[nodiscard]] std::uint8_t index() const { return index_; }
  [[nodiscard]] std::size_t table_bytes() const;

 private:
  void add_job(const config::JobConfig& config, std::uint32_t job, std::uint32_t first_slot,
               std::span<Tombstone> entries);
  BufferPool& pool_for(const config::SwitchConfig& config, std::size_t buffer_bytes);
  ChunkDeadlines& queue_for(Duration timeout);

  // shard_data.cc
  Decision on_contribution(ShardJob& job, const wire::Packet& packet, const Peer& from, Instant now,
                           Outbox& out);
  Decision open(ShardJob& job, Tombstone& e, const Contribution& c, Instant now, Outbox& out);
  Decision repeated(ShardJob& job, const Tombstone& e, const Contribution& c, const Peer& from,
                    Outbox& out);
  Decision complete(ShardJob& job, Tombstone& e, Instant now, Outbox& out);
  void release_acknowledged(ShardJob& job);

  // shard_reply.cc
  Decision on_probe(ShardJob& job, const wire::Packet& packet, const Peer& from, Outbox& out);
  Decision on_ack(ShardJob& job, const wire::Packet& packet);
  void send_result(ShardJob& job, const Tombstone& e, const Peer* to, Outbox& out);

  Decision request_mismatch_abort(ShardJob& job, const Tombstone& e, const Contribution& got);
  void request_deadline_abort(ShardJob& job, const Tombstone& e);
  void begin_abort(const ShardJob& job, wire::Reason reason);

  std::uint8_t index_;
  std::span<std::byte> memory_;
  std::vector<Tombstone> tombstones_;
  std::vector<std::unique_ptr<BufferPool>> pools_;       // one for each size of buffer
  std::vector<std::unique_ptr<ChunkDeadlines>> queues_;  // one for each timeout
  std::vector<std::unique_ptr<ShardJob>> jobs_;  // by place in the configuration; may be nullptr
  JobIndex<ShardJob> by_id_;

  std::uint32_t abort_job_ = 0;
  AbortCause abort_cause_;
  std::array<std::uint32_t, kMaxListedIds> scratch_ids_;
};

}  // namespace tributary::aggregator
