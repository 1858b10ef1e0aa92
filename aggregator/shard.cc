#include "aggregator/shard.h"

#include <algorithm>
#include <array>
#include <cassert>

#include "config/memory_plan.h"

namespace tributary::aggregator {
namespace {

std::size_t tombstone_count(const config::SwitchConfig& config, std::uint8_t index) {
  std::size_t count = 0;
  for (const auto& job : config.jobs)
    if (index < job.shards) count += std::size_t{2} * job.window;
  return count;
}

}  // namespace

std::size_t Shard::payload_bytes(const config::SwitchConfig& config, std::uint8_t index) {
  std::size_t bytes = 0;
  for (const auto& job : config.jobs)
    if (index < job.shards) bytes += config::job_shard_payload_bytes(job);
  return bytes;
}

Shard::Shard(const config::SwitchConfig& config, std::uint8_t index, std::span<std::byte> memory)
    : index_(index),
      memory_(memory),
      tombstones_(tombstone_count(config, index)),
      by_id_(config.jobs.size()) {
  std::span<Tombstone> left(tombstones_);
  std::uint32_t slot = 0;
  for (std::uint32_t place = 0; place < config.jobs.size(); ++place) {
    const config::JobConfig& job = config.jobs[place];
    const std::uint32_t first_slot = slot;
    slot += job.window;
    jobs_.emplace_back();
    if (index >= job.shards) continue;
    const std::size_t entries = std::size_t{2} * job.window;
    jobs_.back() = std::make_unique<ShardJob>(job, place, first_slot, left.first(entries),
                                              pool_for(config, config::slot_buffer_bytes(job)),
                                              queue_for(job.deadline));
    left = left.subspan(entries);
    by_id_.insert(job.id, jobs_.back().get());
  }
}

// Jobs with buffers of the same size share one pool, which holds the sum of what each may take.
BufferPool& Shard::pool_for(const config::SwitchConfig& config, std::size_t buffer_bytes) {
  for (const auto& pool : pools_)
    if (pool->buffer_bytes() == buffer_bytes) return *pool;
  std::size_t count = 0;
  for (const auto& job : config.jobs)
    if (index_ < job.shards && config::slot_buffer_bytes(job) == buffer_bytes)
      count += std::size_t{2} * job.window;
  pools_.push_back(std::make_unique<BufferPool>(memory_.first(count * buffer_bytes), buffer_bytes,
                                                static_cast<std::uint32_t>(count)));
  memory_ = memory_.subspan(count * buffer_bytes);
  return *pools_.back();
}

ChunkDeadlines& Shard::queue_for(Duration timeout) {
  for (const auto& queue : queues_)
    if (queue->timeout() == timeout) return *queue;
  queues_.push_back(std::make_unique<ChunkDeadlines>(timeout, tombstones_));
  return *queues_.back();
}

void Shard::start_epoch(std::uint32_t place, std::uint16_t epoch, std::uint32_t first_seq,
                        std::span<const Peer> peers, Instant now) {
  if (jobs_[place] == nullptr) return;
  clear(place);
  ShardJob& job = *jobs_[place];
  job.epoch = epoch;
  job.running = true;
  job.table.reset(first_seq);
  for (std::size_t rank = 0; rank < peers.size(); ++rank)
    job.children[rank] = {peers[rank], true, false, now};
}

void Shard::bind(std::uint32_t place, std::uint32_t rank, const Peer& peer) {
  if (jobs_[place] != nullptr) jobs_[place]->children[rank].peer = peer;
}

void Shard::clear(std::uint32_t place) {
  if (jobs_[place] == nullptr) return;
  ShardJob& job = *jobs_[place];
  for (Tombstone& e : job.table.entries()) {
    job.deadlines.cancel(e);
    if (e.buffer != kNone) job.buffers.put(e.buffer);
    e.buffer = kNone;
  }
  job.table.reset(0);
  job.running = false;
  for (Child& child : job.children) child.present = false;
  job.refresh_gauges();
}

bool Shard::forget_child(std::uint32_t place, std::uint16_t child) {
  if (jobs_[place] == nullptr) return false;
  ShardJob& job = *jobs_[place];
  job.children[child].present = false;
  job.table.forget_child(child);
  release_acknowledged(job);
  return job.table.open_without(child) != nullptr;
}

std::optional<Instant> Shard::last_heard(std::uint32_t place, std::uint32_t rank) const {
  if (jobs_[place] == nullptr || !jobs_[place]->children[rank].heard) return std::nullopt;
  return jobs_[place]->children[rank].last_heard;
}

Decision Shard::on_packet(const wire::Packet& packet, const Peer& from, Instant now, Outbox& out) {
  const wire::Header& h = packet.header;
  ShardJob* const job = by_id_.find(h.job);
  if (job == nullptr) return {Verdict::refused, DropReason::bad_shard};
  if (!job->running || h.epoch != job->epoch || h.origin >= job->config.workers ||
      h.child != h.origin)
    return {Verdict::refused, DropReason::not_joined};
  Child& child = job->children[h.child];
  if (!child.present || child.peer != from) return {Verdict::refused, DropReason::sender_mismatch};
  child.last_heard = now;
  child.heard = true;
  if (h.plane != 0 || h.stream != 0) return {Verdict::dropped, DropReason::bad_shard};
  if (h.type == wire::PacketType::contribution)
    return on_contribution(*job, packet, from, now, out);
  if (h.type == wire::PacketType::probe) return on_probe(*job, packet, from, out);
  return on_ack(*job, packet);
}

bool Shard::expire(Instant now) {
  for (const auto& queue : queues_) {
    Tombstone* const e = queue->due(now);
    if (e == nullptr) continue;
    const auto holds = [&](const auto& job) {
      return job != nullptr && e >= job->table.entries().data() &&
             e <= &job->table.entries().back();
    };
    ShardJob& job = **std::find_if(jobs_.begin(), jobs_.end(), holds);
    job.counters.slot_hold_ns_max.raise_to(
        static_cast<std::uint64_t>((now - e->opened_at).to_ns()));
    request_deadline_abort(job, *e);
    return true;
  }
  return false;
}

void Shard::begin_abort(const ShardJob& job, wire::Reason reason) {
  abort_job_ = job.place;
  abort_cause_.reason = reason;
  abort_cause_.epoch = job.epoch;
  abort_cause_.chunk = {};
  abort_cause_.missing.clear();
  abort_cause_.has_error = false;
}

void Shard::request_deadline_abort(ShardJob& job, const Tombstone& e) {
  begin_abort(job, wire::Reason::deadline);
  abort_cause_.chunk.op = e.description.op;
  abort_cause_.chunk.chunk = e.description.chunk;
  abort_cause_.chunk.seq = e.seq;
  abort_cause_.chunk.shard = index_;
  const std::size_t n = job.table.missing(e, scratch_ids_);
  abort_cause_.missing.assign(scratch_ids_.begin(), scratch_ids_.begin() + static_cast<long>(n));
}

void Shard::add_slots(Instant now, std::size_t most, std::vector<SlotStatus>& out) const {
  constexpr std::size_t kMostMissing = 16;
  for (const auto& job : jobs_) {
    if (job == nullptr) continue;
    const ChunkTable& table = job->table;
    for (const Tombstone& e : table.entries()) {
      if (e.state != ChunkState::open) continue;
      if (out.size() == most) return;
      std::vector<std::uint32_t> missing(kMostMissing);
      missing.resize(table.missing(e, missing));
      out.push_back({job->config.id, index_, job->first_slot + table.slot_of(e), e.description.op,
                     e.description.chunk, e.seq, e.arrived, job->config.workers, now - e.opened_at,
                     std::move(missing)});
    }
  }
}

std::size_t Shard::table_bytes() const {
  std::size_t total = 0;
  for (const auto& job : jobs_)
    if (job != nullptr) total += job->table.table_bytes();
  return total;
}

}  // namespace tributary::aggregator
