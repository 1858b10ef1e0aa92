#include "aggregator/shard/shard.h"

#include <algorithm>

#include "core/invariant.h"
#include "core/prefetch.h"
#include "core/wire/rank_bitmap.h"

namespace tributary::aggregator {
namespace {

std::vector<std::uint32_t> pool_quotas(const config::SwitchConfig& config, std::uint8_t index) {
  std::vector<std::uint32_t> quotas(config::job_places(config));
  for (std::size_t place = 0; place < config.jobs.size(); ++place)
    quotas[place] = pool_quota(config.jobs[place], index);
  return quotas;
}

// The part of a payload to prefetch if it is read as soon as the packet's turn comes: reading takes
// less time than the misses.
constexpr std::size_t kReadBytes = 1024;

}  // namespace

std::size_t Shard::payload_bytes(const config::SwitchConfig& config, std::uint8_t index) {
  std::size_t bytes = 0;
  for (const auto& c : config::buffer_classes(config, index))
    bytes += c.bytes * (c.reserved + c.cached);
  return bytes;
}

Shard::Shard(const config::SwitchConfig& config, std::uint8_t index, std::span<std::byte> memory)
    : index_(index),
      switch_id_(config.id),
      preempt_idle_(config.preempt_idle),
      preempt_busy_(config.preempt_busy),
      memory_(memory),
      kernels_{KernelTable(wire::Arithmetic::saturating), KernelTable(wire::Arithmetic::modular)},
      jobs_(config::job_places(config)),
      by_id_(config.jobs.size()),
      pool_(config::pool_slots(config), pool_quotas(config, index)) {
  const auto classes = config::buffer_classes(config, index);
  classes_.reserve(classes.size());
  std::vector<BufferPool*> pools;
  pools.reserve(classes.size());
  present_.reserve(config.jobs.size());
  for (const auto& c : classes) {
    const std::uint32_t count = c.reserved + c.cached;
    classes_.push_back(std::make_unique<BufferClass>(
        BufferClass{BufferPool(memory_.first(count * c.bytes), c.bytes, count),
                    ResultCache(c.cached, config::job_places(config))}));
    pools.push_back(&classes_.back()->buffers);
    memory_ = memory_.subspan(count * c.bytes);
  }
  sums_.room().released.watch(std::move(pools));
  coverage_.resize(wire::rank_words(config::kMaxWorkers));
  sums_.room().reserve_fan_in(config::largest_fan_in(config));
  std::uint32_t slot = 0;
  for (std::uint32_t place = 0; place < config.jobs.size(); ++place) {
    const config::JobConfig& job = config.jobs[place];
    if (index < job.shards) add_job(job, place, slot);
    if (job.slots == config::SlotMode::partition) slot += job.window;
  }
  const std::size_t largest = config::bracket_value_bytes(config, index);
  if (largest == 0) return;
  bracket_class_ = class_for(largest);
  BufferPool& values = class_for(largest)->buffers;
  TRIBUTARY_INVARIANT(values.free() >= config::kMaxBracketDepth);
  std::vector<std::byte*> accumulators(config::kMaxBracketDepth);
  for (std::byte*& accumulator : accumulators) accumulator = values.at(values.take());
  sums_.use_for_brackets(std::move(accumulators));
}

void Shard::add_job(const config::JobConfig& job, std::uint32_t place, std::uint32_t first_slot) {
  jobs_[place] = std::make_unique<ShardJob>(
      job, place, first_slot, *class_for(config::slot_buffer_bytes(job)),
      config::hold_buffers(job) > 0 ? class_for(config::hold_buffer_bytes(job)) : nullptr,
      kernels_[static_cast<std::size_t>(job.arithmetic)]);
  by_id_.insert(job.id, jobs_[place].get());
  present_.push_back(jobs_[place].get());
  sums_.room().released.grow(config::most_unsent(job));
}

BufferClass* Shard::class_for(std::size_t buffer_bytes) {
  const auto found = std::find_if(classes_.begin(), classes_.end(), [&](const auto& c) {
    return c->buffers.buffer_bytes() == buffer_bytes;
  });
  TRIBUTARY_INVARIANT(found != classes_.end());
  return found->get();
}

void Shard::start_epoch(std::uint32_t place, std::uint16_t epoch, std::uint32_t first_seq,
                        std::span<const Endpoint> peers, Instant now) {
  if (jobs_[place] == nullptr) return;
  clear(place);
  ShardJob& job = *jobs_[place];
  job.resize(static_cast<std::uint32_t>(peers.size()));
  job.epoch = epoch;
  job.running = true;
  job.seed = job.next_seed = 0;
  job.next_op = 0;
  job.left_at_op = ShardJob::kNobodyLeft;
  job.recalled_at = Instant();
  job.has_exclusions = job.marked = false;
  job.table.reset(first_seq);
  job.history.reset();
  job.parent_heard = now;
  job.acknowledged_up = first_seq;
  job.awaited_above.clear();
  std::fill(job.asked_above.begin(), job.asked_above.end(), AskedAbove());
  pool_.start(place);
  for (std::size_t child = 0; child < peers.size(); ++child)
    job.children[child].enter(peers[child], now);
}

void Shard::bind(std::uint32_t place, std::uint32_t rank, const Endpoint& peer) {
  if (jobs_[place] != nullptr) jobs_[place]->children[rank].peer = peer;
}

void Shard::clear(std::uint32_t place) {
  if (jobs_[place] == nullptr) return;
  ShardJob& job = *jobs_[place];
  for (ChunkEntry& e : job.table.entries()) {
    free_slot(job, e, std::max(turn_, e.opened_at));
    job.deadlines.cancel(e);
    sums_.release(job, e);
  }
  job.cache.drop(place, [&](std::uint32_t buffer) { static_cast<void>(job.buffers.put(buffer)); });
  job.table.reset(0);
  job.degraded.reset();
  job.sent_held = 0;
  job.running = job.broken = false;
  pool_.stop(place);
  for (Child& child : job.children) child.present = false;
  job.refresh_gauges();
}

Decision Shard::break_off(ShardJob& job) {
  job.broken = job.running;
  nothing_due_before_ = Instant();
  return {Verdict::dropped, DropReason::aborted};
}

bool Shard::forget_child(std::uint32_t place, std::uint16_t child, std::uint32_t first_op) {
  if (jobs_[place] == nullptr) return false;
  ShardJob& job = *jobs_[place];
  job.children[child].present = false;
  job.table.forget_child(child);
  release_acknowledged(job);
  job.left_at_op = std::min(job.left_at_op, first_op);
  return job.table.unfinished_without(child, first_op) != nullptr;
}

std::optional<Instant> Shard::last_heard(std::uint32_t place, std::uint32_t rank) const {
  if (jobs_[place] == nullptr || !jobs_[place]->children[rank].heard) return std::nullopt;
  return jobs_[place]->children[rank].last_heard;
}

void Shard::prefetch_entry(const wire::Header& h) const {
  const ShardJob* const job = by_id_.find(h.job);
  if (job == nullptr || h.child >= job->fan_in) return;
  prefetch_to_write(&job->table.entry_for(h.seq));
  prefetch_to_write(&job->children[h.child]);
}

void Shard::prefetch_data(const wire::Packet& packet, Payloads payloads) const {
  const wire::Header& h = packet.header;
  const std::span<const std::byte> payload = packet.payload;
  if (payload.empty()) return;
  if (payloads == Payloads::read_first) return prefetch<kReadBytes>(payload.data(), payload.size());
  const ShardJob* const job = by_id_.find(h.job);
  if (job == nullptr) return;
  const ChunkEntry& e = job->table.entry_for(h.seq);
  const bool open = e.state == ChunkState::open && e.seq == h.seq && e.buffer != kNone;
  const std::uint32_t buffer = open ? e.buffer : job->buffers.upcoming(kPacketsAhead);
  prefetch_start(payload.data(), payload.size());
  prefetch_start(job->buffers.at(buffer), payload.size());
  // The last child to send this holds the result of a window before, which is then released.
  if (open && e.arrived + 1u == job->fan_in)
    prefetch_to_write(&job->table.entry_a_window_before(h.seq));
}

Decision Shard::on_packet(const wire::Packet& packet, const Endpoint& from, Instant now,
                          Outbox& out) {
  const wire::Header& h = packet.header;
  ShardJob* const job = by_id_.find(h.job);
  if (job == nullptr) return {Verdict::refused, DropReason::bad_shard};
  if (!job->running || h.epoch != job->epoch || !job->child_map.knows(h))
    return {Verdict::refused, DropReason::not_joined};
  Child& child = job->children[h.child];
  if (!child.present || child.peer != from) return {Verdict::refused, DropReason::sender_mismatch};
  child.last_heard = now;
  child.heard = true;
  sums_.reclaim();
  if (h.plane != job->plane || h.stream != 0) return {Verdict::dropped, DropReason::bad_shard};
  if (h.op == kNoOp) return {Verdict::dropped, DropReason::bad_op};
  if (h.type == wire::PacketType::escalation ||
      (h.type == wire::PacketType::contribution && job->child_map.relays(h)))
    return on_relayed(*job, packet, from, now, out);
  if (h.type == wire::PacketType::contribution || h.type == wire::PacketType::aggregate)
    return on_contribution(*job, packet, from, now, out);
  if (h.type == wire::PacketType::probe) return on_probe(*job, packet, from, now, out);
  return on_ack(*job, packet, now, out);
}

void Shard::note_deadline(ShardJob& job, ChunkEntry& e, Instant now) {
  job.note_trouble(e, OpEventKind::deadline, now);
  for (std::uint16_t child = 0; child < job.fan_in; ++child) {
    if (!job.awaits(e, child)) continue;
    job.totals[child].missed_deadlines.add();
    job.history.missed(e.description, child);
  }
}

// Takes no buffers, so released ones stay as they are until the next packet.
bool Shard::expire(Instant now, Outbox& out) {
  turn_ = now;
  if (sums_.take_broke()) nothing_due_before_ = Instant();
  if (now < nothing_due_before_) return false;
  Instant next = Instant::max();
  for (ShardJob* const present : present_) {
    ShardJob& job = *present;
    if (job.broken) {
      begin_abort(job, wire::Reason::broken_invariant);
      return true;
    }
    while (ChunkEntry* const e = job.deadlines.due(now)) {
      if (e->state == ChunkState::open) note_deadline(job, *e, now);
      if (e->state == ChunkState::open && job.config.on_deadline == config::OnDeadline::abort) {
        request_deadline_abort(job, *e);
        return true;
      }
      if (out.room() < job.fan_in + std::size_t{2}) return false;  // the next call goes on
      if (e->state == ChunkState::open) {
        flush(job, *e, wire::Reason::deadline, now, out);
      } else {  // sent, and no result came back
        free_slot(job, *e, now);
        sums_.release(job, *e);
      }
      job.refresh_gauges();
    }
    next = std::min(next, job.deadlines.next_due(now));
  }
  nothing_due_before_ = next;
  return false;
}

bool Shard::add_slots(Instant now, Slots which, SlotPlace& place, SlotLimits& limits,
                      std::vector<SlotStatus>& out) const {
  for (; place.job < present_.size(); ++place.job, place.entry = 0) {
    const ShardJob& job = *present_[place.job];
    const auto entries = job.table.entries();
    for (; place.entry < entries.size(); ++place.entry) {
      if (limits.looks == 0 || limits.rows == 0) return false;
      --limits.looks;
      const ChunkEntry& e = entries[place.entry];
      const bool sent = e.state == ChunkState::sent && which == Slots::all;
      if (e.state != ChunkState::open && !e.holds_slot && !sent) continue;
      --limits.rows;
      out.push_back(slot_status(job, e, now));
    }
  }
  return true;
}

SlotStatus Shard::slot_status(const ShardJob& job, const ChunkEntry& e, Instant now) const {
  constexpr std::size_t kMostMissing = 16;
  std::vector<std::uint32_t> missing(kMostMissing);
  missing.resize(missing_ranks(job, e, missing).size());
  return {job.config.id,
          job.plane,
          index_,
          slot_of(job, e),
          e.description.op,
          e.description.chunk,
          e.seq,
          e.arrived,
          job.fan_in,
          now - e.opened_at,
          std::move(missing),
          e.state == ChunkState::sent,
          e.holds_slot};
}

std::size_t Shard::table_bytes() const {
  const auto of = [](const auto& table) { return table.capacity() * sizeof(table[0]); };
  const auto of_pointers = [](const auto& table) { return table.capacity() * sizeof(void*); };
  std::size_t total = config::kShardBytes + pool_.table_bytes() + by_id_.table_bytes();
  total += of(jobs_) + of_pointers(present_) + of(classes_) + sums_.table_bytes();
  total += of(coverage_) + abort_cause_.table_bytes();
  for (const auto& c : classes_) total += c->table_bytes();
  for (const ShardJob* const job : present_) total += job->table_bytes();
  return total;
}

}  // namespace tributary::aggregator
