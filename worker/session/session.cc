#include "worker/session/session.h"

#include <algorithm>

#include "core/net/frame.h"
#include "core/op_number.h"

namespace tributary::worker {
namespace {

constexpr Duration kAckDelay = Duration::ms(10);

}  // namespace

Session::Session(const SessionOptions& options, Instant now)
    : options_(options),
      membership_(now, options.join_timeout, static_cast<std::uint16_t>(options.rank),
                  static_cast<std::uint16_t>(options.size), options.resumes.resumes()) {}

void Session::submit(Op& op, Instant now) {
  op.id = next_op_;
  op.failure.reset();
  op.left_out.clear();
  op.lacking.clear();
  counters_.ops.add();
  if (next_op_ == kNoOp) {  // final: only another epoch counts from 0 again
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
  has_model_ops_ = has_model_ops_ || wire::concerns_model(op.collective);
  op.cut(options_.rank, options_.size, start_);
  if (ops_.empty()) op_deadline_ = now + options_.op_timeout;
  ops_.push_back(op);
  for (std::uint8_t s = 0; s < start_.shards && s < op.chunks; ++s) {
    ShardWindow& shard = flights_.shards()[s];
    if (shard.op != nullptr) continue;
    shard.op = &op;
    shard.chunk = s;
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
  flights_.clear();  // its chunks point into ops that are the caller's again
}

void Session::fail_locally(const std::string& text) {
  fail({wire::Reason::none, {}, "job " + std::to_string(options_.job) + ": " + text, {}});
}

void Session::fail_overdue_op(Instant now) {
  if (ops_.empty() || now < op_deadline_) return;
  const Op& op = *ops_.front();
  OpTimeout t{options_.job, op.id, 0, options_.op_timeout, options_.switch_name, {}, {}};
  if (last_heard_) t.silent_for = now - *last_heard_;
  // Its oldest chunk without a result, or the one that the last PENDING named.
  t.chunk = op.chunks;
  for (const ChunkState& c : flights_.chunks())
    if (c.op == &op && c.phase != Phase::held && c.phase != Phase::idle)
      t.chunk = std::min(t.chunk, c.chunk);
  if (t.chunk == op.chunks) t.chunk = 0;
  if (const auto chunk = missing_.chunk_of(op.id)) {
    t.chunk = *chunk;
    t.missing = missing_.get();
  }
  const std::size_t bytes = op.elements_of(t.chunk) * wire::size_of(op.dtype);
  if (bytes > largest_result_)
    t.packet_bytes = bytes + wire::kHeaderBytes + wire::kIpv4Bytes + wire::kUdpBytes;
  fail(timed_out(t));
}

void Session::fail_in_silence(Instant now) {
  const Duration lease = Duration::ms(start_.lease_ms);
  if (state_ == SessionState::running && asked_since_ && now >= *asked_since_ + lease)
    fail(fell_silent(options_.job, lease, options_.switch_name));
}

void Session::on_packet(const wire::Packet& packet, Instant now) {
  if (packet.header.job != options_.job) return drop(DropReason::unknown_job);
  if (packet.header.plane != options_.plane) return drop(DropReason::bad_shard);
  switch (state_) {
    case SessionState::joining: return on_packet_joining(packet, now);
    case SessionState::running: return on_packet_running(packet, now);
    case SessionState::leaving:
      if (membership_.is_left(packet.header)) state_ = SessionState::left;
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
  if (options_.ends_in_silence) fail_in_silence(now);
  fail_in_silent_drain(now);
  if (state_ != SessionState::running) return;
  send_queued(now, batch);
  send_probes(now, batch);
  send_new(now, batch);
  send_acks(now, batch);
  if (answer_due_ && !batch.full()) answer_drain(batch);
  ask_for_drain(now, batch);
  const Duration lease_period = Duration::ms(start_.lease_ms) / 3;
  if (batch.size() == 0 && now >= last_sent_ + lease_period)
    put_control(batch, wire::PacketType::lease, 0, 0);
  if (batch.size() == 0) return;
  last_sent_before_ = last_sent_;
  last_sent_ = now;
}

Instant Session::next_wakeup() const {
  switch (state_) {
    case SessionState::joining: return membership_.next_join();
    case SessionState::leaving: return membership_.next_leave();
    case SessionState::failed:
    case SessionState::left: return Instant::max();
    case SessionState::running: break;
  }
  if (answer_due_) return last_sent_;
  Instant at = last_sent_ + Duration::ms(start_.lease_ms) / 3;
  if (wants_drain_ && !drain_) at = std::min(at, want_at_);
  at = std::min({at, flights_.next_timer(), drain_silent_at()});
  if (!ops_.empty()) at = std::min(at, op_deadline_);
  if (options_.ends_in_silence && asked_since_)
    at = std::min(at, *asked_since_ + Duration::ms(start_.lease_ms));
  for (const ShardWindow& shard : flights_.shards())
    if (shard.ack_due) at = std::min(at, ack_at(shard));
  return at;
}

void Session::send_acks(Instant now, SendBatch& batch) {
  for (std::uint8_t s = 0; s < start_.shards && !batch.full(); ++s) {
    ShardWindow& shard = flights_.shards()[s];
    if (!shard.ack_due || now < ack_at(shard)) continue;
    // A rank that only receives sends no other packet that could carry the mark.
    const std::uint32_t flags = shard.mark_to_report ? std::uint32_t{wire::kFlagCe} : 0u;
    put_control(batch, wire::PacketType::ack, s, shard.base, flags);
    shard.ack_due = shard.mark_to_report = false;
    shard.received = 0;
  }
}

// The switch keeps results that a rank may lack, and accepts no new chunks without room: ranks that
// send no data acknowledge results before its window is full.
Instant Session::ack_at(const ShardWindow& shard) const {
  const bool urgent = shard.received >= std::max<std::uint32_t>(start_.window / 4, 1);
  return urgent ? shard.last_activity : shard.last_activity + kAckDelay;
}

}  // namespace tributary::worker
