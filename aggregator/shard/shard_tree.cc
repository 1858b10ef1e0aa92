// Sums that go up, and the answers (protocol, "Trees"). A sum that is kept until the parent's
// result is here can be sent again; nothing is ever added to it any more. A sum that was not kept
// is asked for again from the children (O9, rule 7).
#include <algorithm>
#include <cstring>

#include "aggregator/shard/shard.h"

namespace tributary::aggregator {
namespace {

// Children that wait ask repeatedly; one question to the parent answers all of them.
constexpr Duration kProbeSpacing = Duration::ms(2);

// True if the result's payload goes to a rank, and so a child, that is not below this switch.
bool is_elsewhere(const ShardJob& job, const ChunkDescription& d) {
  return has_target(d.collective) && !job.child_map.child_of(d.target);
}

// True if a description only says that a chunk is done: its payload goes elsewhere, or it has none.
bool is_notice(const ChunkDescription& d) {
  return has_target(d.collective) && d.element_count == 0;
}

// True if data of the chunk tells more than this result does: for a model, the array.
bool leaves_unsaid(const ChunkDescription& d) {
  return is_notice(d) || wire::concerns_model(d.collective);
}

}  // namespace

std::optional<Instant> Shard::parent_heard(std::uint32_t place) const {
  if (jobs_[place] == nullptr || !jobs_[place]->running) return std::nullopt;
  return jobs_[place]->parent_heard;
}

// All data that can be here is here.
void Shard::send_up(ShardJob& job, ChunkEntry& e, Instant now, Outbox& out) {
  job.counters.sent_up.add();
  job.note(e, OpEventKind::sent_up, now);
  asked(job, e.seq) = {e.seq, false, now};
  send_aggregate(job, e, 0, out);
  leave_sent(job, e, now);
}

AskedAbove& Shard::asked(ShardJob& job, std::uint32_t seq) {
  return job.asked_above[seq & (job.config.window - 1)];
}

void Shard::send_aggregate(ShardJob& job, ChunkEntry& e, std::uint32_t flags, Outbox& out) {
  const std::span<const std::byte> sum = partial_sum(job, e);
  Outgoing* const o = begin_aggregate(job, e, out);
  if (o == nullptr) return;  // a child's probe causes it again
  address_parent(job, *o);
  o->header.flags |= flags | wire::kFlagCompleteSubtree;
  o->header.covered = is_passed_on(e.description) ? 1 : job.child_map.covered();
  o->payload = sum;
  job.counters.bytes_out.add(o->payload.size());
}

void Shard::address_parent(const ShardJob& job, Outgoing& o) {
  o.to = Outgoing::To::parent;
  o.header.child = job.config.parent->child;
  o.header.fan_in = job.config.parent->fan_in;
}

Outgoing* Shard::begin_upward(ShardJob& job, wire::PacketType type, Outbox& out) {
  Outgoing* const o = job.broken ? nullptr : out.add();
  if (o == nullptr) return nullptr;
  address_parent(job, *o);
  o->header.type = type;
  o->header.job = job.config.id;
  o->header.epoch = job.epoch;
  o->header.origin = switch_id_;
  o->header.shard = index_;
  o->header.plane = job.plane;
  return o;
}

// A child asks for a result that the parent makes. `e`: a sum went up; nullptr: another switch's
// data is passed on, and none of it is here. Returns true if the parent has answered PENDING since
// it was last asked.
bool Shard::ask_parent(ShardJob& job, const wire::Header& question, const ChunkEntry* e,
                       Instant now, Outbox& out) {
  AskedAbove& last = asked(job, question.seq);
  if (last.seq != question.seq) last = {question.seq, false, Instant()};
  const bool pending = last.pending;
  if (now - last.at < kProbeSpacing) return pending;
  // A rank that only receives acknowledges by ACK alone, so the probe does not acknowledge for it.
  if (e == nullptr || job.degraded.allowed()) repeat_held(job, now, out);
  Outgoing* const o = begin_upward(job, wire::PacketType::probe, out);
  if (o == nullptr) return pending;
  last.at = now;
  last.pending = false;
  o->header.op = question.op;
  o->header.chunk = question.chunk;
  o->header.seq = question.seq;
  o->header.collective = question.collective;
  o->header.covered = e != nullptr ? 1 : 0;
  job.counters.probes_up.add();
  return pending;
}

// The parent may forget the results before this one: they are here. Where results may lack ranks,
// all ranks below must hold them, too: otherwise other ranks could get ahead of a late rank by more
// than this switch can keep, and chunks would be finished without the ranks below it.
std::uint32_t Shard::held_below(const ShardJob& job) {
  const std::uint32_t low = job.table.low();
  if (!job.degraded.allowed()) return low;
  return seq_before(job.table.floor(), low) ? job.table.floor() : low;
}

void Shard::acknowledge_up(ShardJob& job, std::uint32_t news, Outbox& out) {
  const std::int64_t more = seq_diff(held_below(job), job.acknowledged_up);
  if (more >= std::max<std::int64_t>(news, 1)) say_held(job, out);
}

// Repeats an acknowledgement: a lost ACK would never be repeated otherwise.
void Shard::repeat_held(ShardJob& job, Instant now, Outbox& out) {
  if (now - job.said_held_at < kProbeSpacing) return;
  say_held(job, out);
  job.said_held_at = now;
}

void Shard::say_held(ShardJob& job, Outbox& out) {
  const std::uint32_t held = held_below(job);
  Outgoing* const o = begin_upward(job, wire::PacketType::ack, out);
  if (o == nullptr) return;
  o->header.seq = held;
  if (job.marked) o->header.flags |= wire::kFlagCe;
  job.marked = false;
  job.acknowledged_up = held;
}

Decision Shard::on_parent(const wire::Packet& packet, Instant now, Outbox& out) {
  sums_.reclaim();
  const wire::Header& h = packet.header;
  ShardJob* const job = by_id_.find(h.job);
  if (job == nullptr || h.plane != job->plane || h.stream != 0)
    return {Verdict::dropped, DropReason::bad_shard};
  if (!job->running || h.epoch != job->epoch) return {Verdict::dropped, DropReason::stale_epoch};
  job->parent_heard = now;
  if (h.op == kNoOp) return {Verdict::dropped, DropReason::bad_op};
  ChunkEntry* e = nullptr;
  const ChunkTable::Place place = job->table.find(h.seq, e);
  if (place == ChunkTable::Place::stale) return {Verdict::dropped, DropReason::stale_seq};
  const bool for_a_rank = (h.flags & wire::kFlagBypass) != 0 && h.type != wire::PacketType::result;
  if (for_a_rank && h.type == wire::PacketType::unknown && h.attempt != 0)
    return begin_retry(packet, now) ? Decision{Verdict::noted}
                                    : Decision{Verdict::dropped, DropReason::stale_epoch};
  // If all ranks below are late, no switch here knows of a second attempt (rules 12, 21).
  const bool degraded = h.type == wire::PacketType::result && (h.flags & wire::kFlagDegraded) != 0;
  const bool retried = place == ChunkTable::Place::seen && e->retried;
  if (h.attempt != (retried ? wire::kFloatRetry : 0) && h.type != wire::PacketType::escalation &&
      !(degraded && h.attempt == wire::kFloatRetry))
    return {Verdict::dropped, DropReason::stale_epoch};
  if (for_a_rank || h.type == wire::PacketType::escalation) {
    if (place != ChunkTable::Place::seen || e->description.op != h.op ||
        e->description.chunk != h.chunk)
      return {Verdict::dropped, DropReason::beyond_window};
    return on_escalated_above(*job, *e, h, now, out);
  }
  if (h.type == wire::PacketType::pending) {
    std::vector<std::uint32_t>& awaited = job->awaited_above;
    AskedAbove& last = asked(*job, h.seq);
    if (last.seq == h.seq) last.pending = true;
    awaited.resize(wire::kMaxMissingIds);  // within its capacity
    awaited.resize(std::min(wire::find_missing_ids(packet.extensions, awaited), awaited.size()));
    return {Verdict::noted};
  }
  const bool others = is_passed_on(h) && h.type == wire::PacketType::result;
  if (place == ChunkTable::Place::unseen && (others || degraded))
    return on_unasked_result(*job, packet, now, out);
  if (place != ChunkTable::Place::seen) return {Verdict::dropped, DropReason::beyond_window};
  if (e->description.op != h.op || e->description.chunk != h.chunk)
    return {Verdict::dropped, DropReason::op_mismatch};
  // A rank elsewhere has passed its data on; the ranks here take the chunk for another one.
  if (e->state == ChunkState::open && others) {
    Contribution elsewhere = contribution_of(packet);
    elsewhere.child = kElsewhere;
    return request_mismatch_abort(*job, *e, elsewhere);
  }
  const bool result = h.type == wire::PacketType::result;
  const bool waits = e->state == ChunkState::sent ||
                     (result && e->state == ChunkState::escalated) ||
                     (degraded && e->state == ChunkState::open);
  if (!waits) return {Verdict::dropped, DropReason::duplicate};
  if (result) return on_parent_result(*job, *e, packet, now, out);
  if (h.type != wire::PacketType::unknown) return {Verdict::dropped, DropReason::bad_type};
  on_sum_missing_above(*job, *e, now, out);
  return {Verdict::answered};
}

void Shard::on_sum_missing_above(ShardJob& job, ChunkEntry& e, Instant now, Outbox& out) {
  if (!holds_sum(e)) return lose_sum(job, e, now, out);
  asked(job, e.seq).at = now;
  job.counters.resent_up.add();
  send_aggregate(job, e, wire::kFlagResend, out);
}

Decision Shard::on_parent_result(ShardJob& job, ChunkEntry& e, const wire::Packet& packet,
                                 Instant now, Outbox& out) {
  const wire::Header& h = packet.header;
  // Known only by an announcement: the rank that would have described it is late (rule 21), or the
  // engine in a switch below has taken the only sum that would have (T17).
  Contribution told = contribution_of(packet);
  told.child = kElsewhere;
  if (!e.described && leaves_unsaid(told.description))
    return {Verdict::dropped, DropReason::duplicate};
  if (!e.described && !tells_all(job, told)) return {Verdict::dropped, DropReason::op_mismatch};
  const bool retried = e.retried || h.attempt == wire::kFloatRetry;
  const ChunkDescription& known = e.described ? e.description : told.description;
  const ChunkDescription d = retried ? as_float(known) : known;
  const bool header_only = is_elsewhere(job, d);
  if (h.dtype != d.dtype || h.reduce_op != d.reduce_op || h.collective != d.collective ||
      h.encoding != d.encoding || !is_result_of(d.collective, h) || !takes_count(job, d, packet))
    return {Verdict::dropped, DropReason::op_mismatch};
  // If the payload is one rank's, the other ranks' copies have none; those are not for its switch.
  if (has_target(d.collective) && !header_only && h.element_count == 0 && d.element_count != 0)
    return {Verdict::dropped, DropReason::duplicate};
  const std::size_t bytes = header_only ? 0 : d.payload_bytes();
  if (packet.payload.size() != bytes || h.element_count != (header_only ? 0 : d.element_count))
    return {Verdict::dropped, DropReason::op_mismatch};
  if (e.state == ChunkState::open && job.hold_buffers != nullptr) sums_.drop_held(job, e);
  if (!e.described) e.describe(told);
  e.retried = retried;
  e.description = d;
  keep_result(job, e, packet, now, out);
  return {Verdict::completed};
}

// Data of a rank elsewhere that is passed on to all, to which no rank here adds anything. Or a
// result that waits for no rank here any more (rule 21).
Decision Shard::on_unasked_result(ShardJob& job, const wire::Packet& packet, Instant now,
                                  Outbox& out) {
  Contribution c = contribution_of(packet);
  c.child = 0;  // no child's, whatever the packet says: see forget_arrivals() below
  const ChunkDescription& d = c.description;
  if (is_notice(d)) return {Verdict::dropped, DropReason::beyond_window};
  const bool fits = is_passed_on(d) ? c.payload.size() <= job.config.chunk_bytes &&
                                          d.encoding == wire::Encoding::plain
                                    : tells_all(job, c);
  if (d.dtype == wire::DType::none || !fits || !takes_count(job, d, packet))
    return {Verdict::dropped, DropReason::op_mismatch};
  ChunkEntry* e = nullptr;
  job.table.find(c.seq, e);
  if (!job.table.open(*e, c, now)) return break_off(job);
  job.table.forget_arrivals(*e);
  e->first_child = kElsewhere;
  e->retried = packet.header.attempt != 0;
  keep_result(job, *e, packet, now, out);
  return {Verdict::completed};
}

// Replaces the sum by the result, and passes it on to the children.
void Shard::keep_result(ShardJob& job, ChunkEntry& e, const wire::Packet& packet, Instant now,
                        Outbox& out) {
  sums_.settle();
  free_slot(job, e, now);
  if (packet.payload.empty()) sums_.release_sum(job, e);
  if (!packet.payload.empty()) {
    if (e.buffer == kNone) e.buffer = job.buffers.take();
    if (e.buffer == kNone) {
      break_off(job);
      return;
    }
    std::memcpy(job.buffers.at(e.buffer), packet.payload.data(), packet.payload.size());
  }
  e.overflow = (packet.header.flags & wire::kFlagOverflow) != 0;
  e.verified = (packet.header.flags & wire::kFlagVerified) != 0;
  take_mark(job, e, packet);
  note_left_out(job, e, packet, now);
  job.table.complete(e);
  job.note(e, OpEventKind::made_by_parent, job.parent_heard);
  job.awaited_above.clear();
  job.counters.host_results.add();
  job.counters.completions.add();
  job.refresh_gauges();
  multicast_result(job, e, out);
}

}  // namespace tributary::aggregator
