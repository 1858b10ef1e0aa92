#include "worker/session/session.h"

#include <algorithm>

#include "core/op_number.h"

namespace tributary::worker {
namespace {

constexpr Duration kAckDelay = Duration::ms(10);

}  // namespace

Session::Session(const SessionOptions& options, Instant now)
    : options_(options),
      next_try_(now),
      join_deadline_(now + options.join_timeout),
      child_(static_cast<std::uint16_t>(options.rank)),
      fan_in_(static_cast<std::uint16_t>(options.size)) {}

void Session::submit(Op& op, Instant now) {
  op.id = next_op_;
  op.failure.reset();
  op.left_out.clear();
  op.lacking.clear();
  counters_.ops.add();
  if (next_op_ == kNoOp) {  // for good: only another epoch counts from 0 again
    op.failure = out_of_numbers(options_.job);
    finished_.push_back(op);
    return;
  }
  ++next_op_;
  if (state_ != SessionState::running) {
    const Failure closed{wire::Reason::none, {}, "the communicator is closed", {}};
    op.failure = not_done(options_.job, op.id, failure_ ? *failure_ : closed);
    finished_.push_back(op);
    return;
  }
  op.cut(options_.rank, options_.size, start_);
  if (ops_.empty()) op_deadline_ = now + options_.op_timeout;
  ops_.push_back(op);
  for (std::uint8_t s = 0; s < start_.shards && s < op.chunks; ++s) {
    if (shards_[s].op != nullptr) continue;
    shards_[s].op = &op;
    shards_[s].chunk = s;
  }
}

// The caller has ended the op: all results are in its buffer, or its failure is set.
void Session::finish(Op& op) {
  ops_.remove(op);
  finished_.push_back(op);
}

void Session::fail(Failure cause) {
  if (state_ != SessionState::joining && state_ != SessionState::running) return;
  if (!failure_) failure_ = std::move(cause);
  state_ = SessionState::failed;
  held_ops_ = ops_.empty() ? next_op_ : ops_.front()->id;
  while (Op* op = ops_.front()) {
    op->failure = failure_->op == op->id ? *failure_ : not_done(options_.job, op->id, *failure_);
    finish(*op);
  }
  // Chunk states point into ops that now belong to the caller again.
  for (ShardWindow& shard : shards_) {
    shard.op = nullptr;
    shard.flight = {};
  }
  for (ChunkState& chunk : chunks_) chunk = {};
  queued_ = {};
  overtaken_ = probed_ = {};
}

void Session::fail_locally(const std::string& text) {
  fail({wire::Reason::none, {}, "job " + std::to_string(options_.job) + ": " + text, {}});
}

void Session::fail_overdue_op(Instant now) {
  if (ops_.empty() || now < op_deadline_) return;
  const Op& op = *ops_.front();
  OpTimeout t{options_.job, op.id, 0, options_.op_timeout, options_.switch_name, {}, {}};
  if (last_heard_) t.silent_for = now - *last_heard_;
  // Its oldest chunk without a result, or the one the switch spoke of last.
  t.chunk = op.chunks;
  for (const ChunkState& c : chunks_)
    if (c.op == &op && c.phase != Phase::held && c.phase != Phase::idle)
      t.chunk = std::min(t.chunk, c.chunk);
  if (t.chunk == op.chunks) t.chunk = 0;
  if (missing_count_ > 0 && missing_op_ == op.id) {
    t.chunk = missing_chunk_;
    t.missing = std::span(missing_).first(missing_count_);
  }
  fail(timed_out(t));
}

void Session::on_packet(const wire::Packet& packet, Instant now) {
  if (packet.header.job != options_.job) return drop(DropReason::unknown_job);
  if (packet.header.plane != options_.plane) return drop(DropReason::bad_shard);
  switch (state_) {
    case SessionState::joining: return on_packet_joining(packet, now);
    case SessionState::running: return on_packet_running(packet, now);
    case SessionState::leaving:
      // Any of these says that the switch holds nothing for this rank any more.
      if (packet.header.epoch == epoch_ &&
          (packet.header.type == wire::PacketType::ack ||
           packet.header.type == wire::PacketType::abort ||
           (packet.header.type == wire::PacketType::nack &&
            packet.header.reason != wire::Reason::sender_mismatch)))
        state_ = SessionState::left;
      return;
    case SessionState::failed:
    case SessionState::left: return;
  }
}

void Session::poll(Instant now, SendBatch& batch) {
  batch.clear();
  switch (state_) {
    case SessionState::joining: return poll_join(now, batch);
    case SessionState::leaving: return poll_leave(now, batch);
    case SessionState::failed:
    case SessionState::left: return;
    case SessionState::running: break;
  }
  fail_overdue_op(now);
  if (state_ != SessionState::running) return;
  send_queued(now, batch);
  send_probes(now, batch);
  send_new(now, batch);
  send_acks(now, batch);
  const Duration lease_period = Duration::ms(start_.lease_ms) / 3;
  if (batch.size() == 0 && now >= last_sent_ + lease_period)
    put_control(batch, wire::PacketType::lease, 0, 0);
  if (batch.size() == 0) return;
  last_sent_before_ = last_sent_;
  last_sent_ = now;
}

Instant Session::next_wakeup() const {
  switch (state_) {
    case SessionState::joining: return std::min(next_try_, join_deadline_);
    case SessionState::leaving: return next_try_;
    case SessionState::failed:
    case SessionState::left: return Instant::max();
    case SessionState::running: break;
  }
  Instant at = last_sent_ + Duration::ms(start_.lease_ms) / 3;
  at = std::min(at, next_timer());
  if (!ops_.empty()) at = std::min(at, op_deadline_);
  for (const ShardWindow& shard : shards_)
    if (shard.ack_due) at = std::min(at, ack_at(shard));
  return at;
}

void Session::send_acks(Instant now, SendBatch& batch) {
  for (std::uint8_t s = 0; s < start_.shards && !batch.full(); ++s) {
    ShardWindow& shard = shards_[s];
    if (!shard.ack_due || now < ack_at(shard)) continue;
    // A rank that only receives sends nothing else that could carry the mark.
    const std::uint32_t flags = shard.mark_to_report ? std::uint32_t{wire::kFlagCe} : 0u;
    put_control(batch, wire::PacketType::ack, s, shard.base, flags);
    shard.ack_due = shard.mark_to_report = false;
    shard.received = 0;
  }
}

// The switch keeps what somebody may lack, and takes nothing new where it has no room: those who
// send nothing themselves say what they have before its window is full.
Instant Session::ack_at(const ShardWindow& shard) const {
  const bool urgent = shard.received >= std::max<std::uint32_t>(start_.window / 4, 1);
  return urgent ? shard.last_activity : shard.last_activity + kAckDelay;
}

}  // namespace tributary::worker
