// Contributions: every decision about one, in one place (rules 2, 3, 5 and 7). chunk_sums.h moves
// their bytes.
#include <algorithm>

#include "aggregator/shard/shard.h"
#include "core/invariant.h"

namespace tributary::aggregator {
namespace {

// For a sender on another switch the rank is not known here.
wire::OpDescription for_error(const ShardJob& job, const ChunkDescription& d, std::uint16_t child) {
  const std::uint32_t rank =
      child == kElsewhere ? wire::kUnknownRank : job.child_map.lowest_rank(child);
  return {d.total_elements, rank,   d.element_count, d.dtype,          d.reduce_op,
          d.collective,     d.last, d.encoding,      d.scale_exponent, d.target};
}

DropReason check_reduction(const ShardJob& job, const ChunkDescription& d,
                           const Kernels*& kernels) {
  if (!job.admits(d))
    return job.admitted.any(d.dtype) ? DropReason::bad_reduce_op : DropReason::bad_dtype;
  kernels = job.kernels_of(d);
  if (std::size_t{d.element_count} * kernels->acc_bytes > job.buffers.buffer_bytes())
    return DropReason::payload_too_large;
  return DropReason::none;
}

// A switch sends sums of all ranks below it; a worker sends data of its own.
DropReason check_child(const ShardJob& job, const wire::Header& h) {
  const ChildMap::Child& child = job.child_map[h.child];
  if (child.is_switch != (h.type == wire::PacketType::aggregate)) return DropReason::bad_type;
  if (!child.is_switch) return DropReason::none;
  const std::uint32_t covered = is_passed_on(h) ? 1 : child.covered;
  const bool whole = h.covered == covered && (h.flags & wire::kFlagCompleteSubtree) != 0;
  return whole ? DropReason::none : DropReason::bad_coverage;
}

// A sender that asks for the completion engine resends, or takes itself for excluded.
wire::Reason reason_to_ask(const wire::Header& h) {
  return (h.flags & wire::kFlagBypass) != 0 ? wire::Reason::excluded : wire::Reason::resend;
}

// True if the chunk's first contribution had the same description and was accepted. That gives the
// length of a worker's plain data, and parsing has checked the length.
bool asks_for_the_same(const ChunkEntry& e, const wire::Header& h, const Contribution& c) {
  return e.state == ChunkState::open && e.seq == c.seq && e.described &&
         e.description == c.description && h.type == wire::PacketType::contribution &&
         h.encoding == wire::Encoding::plain;
}

}  // namespace

// Checks data whatever the state of its chunk: a rank's own, or a sum. `kernels` stays nullptr if
// nothing is combined.
DropReason Shard::check_data(const ShardJob& job, const Contribution& c, bool is_sum,
                             const Kernels*& kernels) {
  const ChunkDescription& d = c.description;
  if (c.payload.size() > job.config.chunk_bytes) return DropReason::payload_too_large;
  if (d.encoding == wire::Encoding::compressed) return DropReason::bad_encoding;
  if (d.encoding == wire::Encoding::block_scaled) {
    if (d.dtype != wire::DType::int32) return DropReason::bad_dtype;
    if (c.payload.size() != d.payload_bytes()) return DropReason::bad_payload_length;
  }
  if (d.collective == wire::Collective::barrier)
    return d.dtype == wire::DType::none ? DropReason::none : DropReason::bad_dtype;
  if (wire::moves_data(d.collective)) {
    if (d.dtype == wire::DType::none) return DropReason::bad_dtype;
    if (is_agreement(d) && d.collective == wire::Collective::broadcast && d.target >= job.workers())
      return DropReason::bad_target;
    // Not a sum, so not in the accumulator's type either.
    return c.payload.size() == d.payload_bytes() ? DropReason::none
                                                 : DropReason::bad_payload_length;
  }
  if (has_target(d.collective) && d.target >= job.workers()) return DropReason::bad_target;
  if (wire::concerns_model(d.collective) && d.target == ChunkDescription::kNoTarget)
    return DropReason::bad_target;
  if (const DropReason bad = check_reduction(job, d, kernels); bad != DropReason::none) return bad;
  if (!is_sum) return DropReason::none;
  const bool wide = job.config.partials == wire::Partials::wide;
  const std::size_t bytes = wide ? kernels->acc_bytes : kernels->wire_bytes;
  return c.payload.size() == d.element_count * bytes ? DropReason::none
                                                     : DropReason::bad_payload_length;
}

// Finds the chunk of a child's packet. A rank that sends it holds the result that is in its way,
// even if the ACK for that was lost. `by_all`: so does every rank inside the child.
ChunkTable::Place Shard::locate(ShardJob& job, std::uint16_t child, std::uint32_t seq, bool by_all,
                                ChunkEntry*& e) {
  using enum ChunkTable::Place;
  ChunkTable::Place place = job.table.find(seq, e);
  if (place == stale) return place;
  if (place == beyond_window && e == nullptr && !may_be_ahead(job, seq)) return place;
  if (by_all || !job.degraded.allowed()) job.table.note_sent(child, seq);
  release_acknowledged(job);
  if (place != beyond_window) return place;
  catch_up(job);
  return job.table.find(seq, e);
}

// Where hosts notify ranks themselves (T9), ranks may be further than this switch knows.
bool Shard::may_be_ahead(const ShardJob& job, std::uint32_t seq) {
  const std::int64_t distance = seq_diff(seq, job.table.low());
  return job.config.notify != wire::Notify::root && distance < kMostAhead * job.config.window;
}

// A chunk may be over without any packet here: the engine in a switch below has taken its sum
// (T17).
void Shard::catch_up(ShardJob& job) {
  while (job.table.skip_unseen()) release_acknowledged(job);
}

Decision Shard::on_contribution(ShardJob& job, const wire::Packet& packet, const Endpoint& from,
                                Instant now, Outbox& out) {
  if (packet.header.attempt != 0) return on_retry(job, packet, from, out);
  Contribution c = contribution_of(packet);
  const wire::Header& h = packet.header;
  const Kernels* kernels = nullptr;
  DropReason bad = h.fan_in != job.fan_in ? DropReason::bad_fan_in : check_child(job, h);
  if (bad == DropReason::none) {
    if (asks_for_the_same(job.table.entry_for(c.seq), h, c))
      kernels = job.kernels_of(h);
    else
      bad = check_data(job, c, h.type == wire::PacketType::aggregate, kernels);
  }
  if (bad != DropReason::none) return {Verdict::dropped, bad};

  job.counters.bytes_in.add(c.payload.size());
  if (c.resend) job.counters.resends.add();
  ChunkEntry* e = nullptr;
  const ChunkTable::Place place = locate(job, c.child, c.seq, true, e);
  if (job.config.parent && job.degraded.allowed()) acknowledge_up(job, job.config.window / 4, out);
  if (place == ChunkTable::Place::beyond_window) return recall(job, packet.header, now, out);
  const bool over = place == ChunkTable::Place::stale ||
                    (place == ChunkTable::Place::seen && e->state == ChunkState::released);
  if (over && c.resend) return answer_from_cache(job, packet, from, out);
  if (place == ChunkTable::Place::stale) {
    job.counters.stale.add();
    return {Verdict::dropped, DropReason::stale_seq};
  }
  const bool believes = (h.flags & wire::kFlagBypass) != 0;
  if ((believes || job.has_exclusions) && believes != job.excludes(c.child, h.op))
    remind(job, h, out);
  if (c.congested) job.counters.marked_data.add();
  if (place == ChunkTable::Place::unseen) {
    c.kept = job.note_first(c.description, c.child, now);
    if (job.marked) {
      c.congested = true;
      job.marked = false;
    }
    return on_first(job, *e, c, kernels, packet, now, out);
  }
  if (job.table.has_contributed(*e, c.child))
    return on_repeated(job, *e, c, from, packet, now, out);
  return on_further(job, *e, c, kernels, packet, from, now, out);
}

Decision Shard::on_first(ShardJob& job, ChunkEntry& e, const Contribution& c,
                         const Kernels* kernels, const wire::Packet& packet, Instant now,
                         Outbox& out) {
  adopt_seed(job);
  if (is_passed_on(c.description)) {
    if (!job.table.open(e, c, now)) return break_off(job);
    job.counters.contributions.add();
    job.counters.contribution_bytes.add(c.payload.size());
    sums_.store(job, e, c.payload);
    return on_complete(job, e, nullptr, now, out);
  }
  // A rank that has left cannot contribute any more, whichever node makes the chunk.
  if (job.table.present() < job.fan_in && c.description.op >= job.left_at_op) {
    begin_abort(job, wire::Reason::rank_left);
    return {Verdict::epoch_aborted};
  }
  const bool excluded = job.excludes(c.child, c.description.op);
  if (c.at_ps && !excluded)
    return escalate_first(job, e, c, reason_to_ask(packet.header), packet, now, out);
  if (job.dynamic) {
    const wire::Reason why_not = take_slot(job, c.seq, now, out);
    if (why_not != wire::Reason::none) return escalate_first(job, e, c, why_not, packet, now, out);
  }
  if (!job.table.open(e, c, now)) return break_off(job);
  if (job.dynamic && pool_.crowded_by(job.place)) mark_for_slots(job, e);
  e.holds_slot = true;
  job.next_op = std::max(job.next_op, c.description.op + 1);
  if (job.has_exclusions) leave_out_excluded(job, e, c.child);
  job.deadlines.arm(e);
  job.refresh_gauges();
  if (excluded) return bypass(job, packet, out);
  if (kernels != nullptr) sums_.add(job, e, c, *kernels);
  job.counters.contributions.add();
  job.counters.contribution_bytes.add(c.payload.size());
  if (e.arrived == job.fan_in) return on_complete(job, e, kernels, now, out);
  return {Verdict::opened};
}

Decision Shard::on_further(ShardJob& job, ChunkEntry& e, const Contribution& c,
                           const Kernels* kernels, const wire::Packet& packet, const Endpoint& from,
                           Instant now, Outbox& out) {
  if (e.state == ChunkState::open && !e.bypassed)
    job.note_further(e, c.child, now);
  else
    job.note_again(e, c.description, c.child, now);
  if (comes_late(job, e, c)) return answer_late(job, e, from, out);
  // Two ranks that both pass on their data for one chunk disagree, too.
  if (!e.agrees_with(c.description) || is_passed_on(c.description))
    return e.retried ? Decision{Verdict::dropped, DropReason::duplicate}
                     : request_mismatch_abort(job, e, c);
  if (!e.described) e.describe(c);
  if (e.state == ChunkState::open && (c.at_ps || e.bypassed)) {
    if (e.bypassed && job.excludes(c.child, c.description.op)) return bypass(job, packet, out);
    if (c.at_ps) flush(job, e, reason_to_ask(packet.header), now, out);
  }
  if (e.state == ChunkState::escalated) {
    job.note_late(e, c.child, now);
    job.table.add(e, c.child);
    forward(job, packet, wire::kFlagCollision, out);
    return {Verdict::forwarded};
  }
  // The completion host already has its data, by one way or another.
  if (e.state != ChunkState::open) {
    job.counters.duplicates.add();
    return {Verdict::dropped, DropReason::duplicate};
  }
  job.counters.contributions.add();
  job.counters.contribution_bytes.add(c.payload.size());
  if (c.congested) e.congested = true;
  if (kernels != nullptr) sums_.add(job, e, c, *kernels);
  if (job.dynamic) pool_.touch(pool_slot(job, e.seq), now);
  if (!job.table.add(e, c.child)) return {Verdict::folded};
  return on_complete(job, e, kernels, now, out);
}

// All data that can be here is here, or all that the chunk waits for.
Decision Shard::on_complete(ShardJob& job, ChunkEntry& e, const Kernels* kernels, Instant now,
                            Outbox& out) {
  sums_.settle(e);
  if (e.bypassed) {
    flush(job, e, wire::Reason::excluded, now, out);
    return {Verdict::forwarded};
  }
  if (!TRIBUTARY_INVARIANT_HOLDS(is_passed_on(e.description) || job.table.has_all(e)))
    return break_off(job);
  if (job.config.parent) {
    send_up(job, e, now, out);
    return {Verdict::sent_up};
  }
  const wire::Collective collective = e.description.collective;
  if ((job.config.verify && !wire::moves_data(collective)) || wire::concerns_model(collective)) {
    send_to_verify(job, e, now, out);
    return {Verdict::completed};
  }
  if (kernels != nullptr && !kernels->finish_is_identity && e.buffer != kNone) {
    std::byte* const sum = job.buffers.at(e.buffer);
    if (kernels->finish(sum, sum, e.description.element_count, job.workers())) e.overflow = true;
  }
  if (e.overflow && job.retries_floats(e.description)) {
    flush(job, e, wire::Reason::overflow, now, out);
    return {Verdict::forwarded};
  }
  job.deadlines.cancel(e);
  free_slot(job, e, now);
  job.table.complete(e);
  job.note(e, OpEventKind::made_here, now);
  job.counters.completions.add();
  job.refresh_gauges();
  multicast_result(job, e, out);
  return {Verdict::completed};
}

Decision Shard::on_repeated(ShardJob& job, ChunkEntry& e, const Contribution& c,
                            const Endpoint& from, const wire::Packet& packet, Instant now,
                            Outbox& out) {
  job.counters.duplicates.add();
  if (!c.resend) return {Verdict::dropped, DropReason::duplicate};
  // O6: the data held here goes to the host, too, and states whose data is in it.
  if (e.state == ChunkState::open && c.at_ps) flush(job, e, reason_to_ask(packet.header), now, out);
  switch (e.state) {
    case ChunkState::complete: send_result(job, e, from, out); return {Verdict::answered};
    case ChunkState::sent:
      // The parent has it; a probe asks the parent.
      if (job.config.parent) return {Verdict::dropped, DropReason::duplicate};
      chase(job, e, out);
      if (e.state == ChunkState::sent) return {Verdict::answered};
      [[fallthrough]];
    case ChunkState::escalated:
      forward(job, packet, wire::kFlagResend, out);
      return {Verdict::forwarded};
    default: return {Verdict::dropped, DropReason::duplicate};
  }
}

Decision Shard::request_mismatch_abort(ShardJob& job, const ChunkEntry& e,
                                       const Contribution& got) {
  begin_abort(job, wire::Reason::op_mismatch);
  abort_cause_.has_error = true;
  abort_cause_.error = {for_error(job, e.description, e.first_child),
                        for_error(job, got.description, got.child)};
  abort_cause_.chunk.op = e.description.op;
  abort_cause_.chunk.chunk = e.description.chunk;
  abort_cause_.chunk.seq = e.seq;
  abort_cause_.chunk.shard = index_;
  return {Verdict::epoch_aborted, DropReason::op_mismatch};
}

void Shard::request_deadline_abort(ShardJob& job, const ChunkEntry& e) {
  begin_abort(job, wire::Reason::deadline);
  abort_cause_.chunk.op = e.description.op;
  abort_cause_.chunk.chunk = e.description.chunk;
  abort_cause_.chunk.seq = e.seq;
  abort_cause_.chunk.shard = index_;
  const auto missing = missing_ranks(job, e, scratch_ids_);
  abort_cause_.missing.assign(missing.begin(), missing.end());
}

std::span<const std::uint32_t> Shard::missing_ranks(const ShardJob& job, const ChunkEntry& e,
                                                    std::span<std::uint32_t> room) {
  RankList ranks(job.child_map, room);
  for (std::uint32_t child = 0; child < job.fan_in && !ranks.full(); ++child)
    if (job.awaits(e, static_cast<std::uint16_t>(child))) ranks.add(child);
  return ranks.ranks();
}

void Shard::begin_abort(const ShardJob& job, wire::Reason reason) {
  abort_job_ = job.place;
  abort_cause_.reason = reason;
  abort_cause_.epoch = job.epoch;
  abort_cause_.chunk = {};
  abort_cause_.missing.clear();
  abort_cause_.lost_switch = 0;
  abort_cause_.has_error = false;
}

}  // namespace tributary::aggregator
