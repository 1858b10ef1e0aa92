#include "completion/engine/engine_pieces.h"

#include <algorithm>
#include <cstring>

#include "completion/engine/engine_replies.h"
#include "completion/engine/engine_retry.h"
#include "completion/engine/evaluate.h"
#include "completion/model/model.h"
#include "completion/pieces/cover.h"

namespace tributary::completion {

using aggregator::ChunkDescription;
using aggregator::Outbox;

namespace {

// One piece that has arrived; its ranks are in Job::ranks.
struct Arrival {
  const wire::Packet& packet;
  ChunkDescription description;
  const aggregator::Kernels* kernels = nullptr;
  bool aggregate = false;
  bool wide = false;  // the payload is in accumulator type
  wire::Reason reason = wire::Reason::none;
};

DropReason check_payload(const Job& job, const Arrival& a) {
  const ChunkDescription& d = a.description;
  const std::size_t wire_bytes = wire::size_of(d.dtype);
  if (d.encoding == wire::Encoding::compressed) return DropReason::bad_encoding;
  if (d.dtype == wire::DType::none && d.collective != wire::Collective::barrier)
    return DropReason::bad_dtype;
  const bool combined = d.dtype != wire::DType::none && !wire::moves_data(d.collective);
  if (combined && a.kernels == nullptr) return DropReason::bad_reduce_op;
  const std::size_t element = a.wide ? a.kernels->acc_bytes : wire_bytes;
  if (a.packet.payload.size() != d.element_count * element) return DropReason::bad_payload_length;
  if (a.packet.payload.size() > buffer_bytes(job.limits)) return DropReason::payload_too_large;
  return DropReason::none;
}

// Checks the ranks, and sets job.ranks to them.
DropReason check_ranks(Job& job, const Arrival& a) {
  const wire::Header& h = a.packet.header;
  clear(job.ranks);
  if (!a.aggregate) {
    if (h.origin >= job.workers()) return DropReason::bad_child;
    insert(job.ranks, h.origin);
    return DropReason::none;
  }
  if (!wire::read_rank_bitmaps(a.packet.extensions, job.workers(), job.ranks))
    return DropReason::bad_extension;
  return h.covered != 0 && count(job.ranks) == h.covered ? DropReason::none
                                                         : DropReason::bad_coverage;
}

void describe(Chunk& chunk, const Arrival& a, ConstRankSet ranks) {
  chunk.described = true;
  chunk.description = a.description;
  chunk.first_rank = lowest(ranks);
  chunk.slot = a.packet.header.slot;
}

void fill(Piece& piece, const Arrival& a, ConstRankSet ranks) {
  const auto payload = a.packet.payload;
  piece.wide = a.wide;
  piece.overflow = (a.packet.header.flags & wire::kFlagOverflow) != 0;
  piece.payload_bytes = static_cast<std::uint32_t>(payload.size());
  std::copy(ranks.begin(), ranks.end(), piece.ranks.begin());
  if (!payload.empty()) std::memcpy(piece.buffer.data(), payload.data(), payload.size());
}

// Replaces a chunk's sum by the model's answer, once: from here on it is kept like any result.
wire::Reason ask_model(const Job& job, const Chunk& chunk, const Piece& sum) {
  // Where there is no model, its step is what ranks bring for it: 0, "none". A question ends
  // nothing.
  if (job.model == nullptr)
    return chunk.description.target == wire::kModelStep ? wire::Reason::none
                                                        : wire::Reason::model_lost;
  return job.model->answer(chunk.description, sum.buffer.first(sum.payload_bytes));
}

Decision add(Job& job, Chunk& chunk, const Arrival& arrival, Instant now, Outbox& out) {
  const ChunkDescription& d = arrival.description;
  const bool same = chunk.described
                        ? chunk.description.agrees_with(d)
                        : chunk.description.op == d.op && chunk.description.chunk == d.chunk;
  if (!same) return abort_mismatch(job, chunk, d, out);
  if (!chunk.described) describe(chunk, arrival, job.ranks);
  if (chunk.reason == wire::Reason::none) chunk.reason = arrival.reason;
  if (wire::is_marked(arrival.packet)) chunk.flags |= wire::kFlagCe;
  chunk.given_up = chunk.given_up || (arrival.packet.header.flags & wire::kFlagExcluded) == 0;

  Fit how = fit(chunk, job.ranks, job.lost);
  // Rule 11: a sum that is no step of the declared expression cannot be a part of it.
  if (job.limits.order == wire::Order::reproducible && how != Fit::duplicate && arrival.aggregate &&
      arrival.packet.header.covered > 1 && !job.order.is_step(job.ranks)) {
    std::copy(job.ranks.begin(), job.ranks.end(), job.lost.begin());
    subtract(job.lost, chunk.covered);
    how = Fit::dropped;
  }
  if (how == Fit::duplicate) {
    job.counters.duplicates.add();
    return {Verdict::dropped, DropReason::duplicate};
  }
  if (how == Fit::dropped) {
    job.counters.overlaps_dropped.add();
    ask_again(job, chunk, job.lost, out);
    return {Verdict::dropped, DropReason::overlap};
  }
  if (how == Fit::replaces) {
    job.counters.superseded.add(job.remove_overlapping(chunk, job.ranks));
    if (count(job.lost) != 0) job.counters.overlaps_dropped.add();
    ask_again(job, chunk, job.lost, out);
  }
  Piece* const piece = job.take_piece();
  if (piece == nullptr) return {Verdict::dropped, DropReason::aborted};
  fill(*piece, arrival, job.ranks);
  job.join(chunk, *piece);
  if (job.broken) return {Verdict::dropped, DropReason::aborted};
  (arrival.aggregate ? job.counters.aggregates : job.counters.singles).add();
  job.counters.piece_bytes.add(arrival.packet.payload.size());
  if (job.limits.trigger == config::Trigger::streaming && arrival.kernels != nullptr)
    combine_newest(job, chunk, *arrival.kernels);
  if (chunk.covered_count < required_ranks(chunk, job.workers())) return {Verdict::held};
  complete(job, chunk, now, out);
  if (job.state == JobState::aborted) return {Verdict::epoch_aborted};
  return {chunk.state == ChunkState::open ? Verdict::held : Verdict::completed};
}

}  // namespace

Decision on_mark(Job& job, const wire::Packet& packet, Instant now) {
  const wire::Header& h = packet.header;
  if (!packet.payload.empty()) return {Verdict::dropped, DropReason::bad_payload_length};
  Chunk* chunk = nullptr;
  const Job::Find found = job.find(h.shard, h.seq, chunk);
  if (found == Job::Find::stale) {
    job.counters.stale.add();
    return {Verdict::dropped, DropReason::stale_seq};
  }
  if (found == Job::Find::none) {
    ChunkDescription wanted;
    wanted.op = h.op;
    wanted.chunk = h.chunk;
    chunk = job.open(h.shard, h.seq, wanted, now);
    if (chunk == nullptr) {
      job.counters.refused_full.add();
      return {Verdict::dropped, DropReason::no_slot};
    }
  }
  job.counters.marks.add();
  const wire::Reason why = aggregator::escalation_reason(h);
  chunk->given_up = chunk->given_up || why != wire::Reason::excluded;
  // A result never changes, and neither does its congestion mark (rule 15).
  if (chunk->state == ChunkState::open && wire::is_marked(packet)) chunk->flags |= wire::kFlagCe;
  if (chunk->reason == wire::Reason::none) chunk->reason = why;
  job.refresh_gauges();
  return {Verdict::noted};
}

Decision on_piece(Job& job, const wire::Packet& packet, Instant now, Outbox& out) {
  const wire::Header& h = packet.header;
  Arrival arrival{packet, aggregator::describe(packet)};
  arrival.aggregate = h.type != wire::PacketType::contribution;
  arrival.kernels = job.kernels_of(arrival.description);
  arrival.wide = arrival.aggregate && arrival.kernels != nullptr &&
                 job.limits.partials == wire::Partials::wide;
  arrival.reason = aggregator::escalation_reason(h);
  DropReason bad = check_payload(job, arrival);
  if (bad == DropReason::none) bad = check_ranks(job, arrival);
  if (bad != DropReason::none) {
    job.counters.invalid.add();
    return {Verdict::dropped, bad};
  }

  Chunk* chunk = nullptr;
  Job::Find found = job.find(h.shard, h.seq, chunk);
  if (found == Job::Find::stale) {
    job.counters.stale.add();
    return {Verdict::dropped, DropReason::stale_seq};
  }
  // The root has begun another attempt, so it has not accepted the result of this one, and will
  // not.
  if (found == Job::Find::found && chunk->state == ChunkState::complete &&
      h.attempt > chunk->attempt)
    found = Job::Find::none;
  if (found == Job::Find::none) {
    chunk = job.open(h.shard, h.seq, arrival.description, now);
    job.refresh_gauges();
    if (chunk == nullptr) {
      job.counters.refused_full.add();
      return {Verdict::dropped, DropReason::no_slot};
    }
    chunk->attempt = h.attempt;
  }
  if (h.attempt < chunk->attempt) {
    job.counters.stale.add();
    return {Verdict::dropped, DropReason::stale_seq};
  }
  // An engine that has lost its state learns of an attempt from nodes that know it.
  if (chunk->state == ChunkState::open && h.attempt > chunk->attempt)
    job.begin_attempt(*chunk, h.attempt, now);
  if (chunk->state != ChunkState::open) {
    const bool late = is_degraded(*chunk, job.workers()) &&
                      count_common(chunk->covered, job.ranks) < count(job.ranks);
    (late ? job.counters.late : job.counters.duplicates).add();
    // A resend shows that its sender has no result, so the root may have none either; and a late
    // rank may have missed it.
    if (chunk->state == ChunkState::released || ((h.flags & wire::kFlagResend) == 0 && !late))
      return {Verdict::dropped, DropReason::duplicate};
    job.counters.results_repeated.add();
    send_result(job, *chunk, out);
    return {Verdict::answered};
  }
  return add(job, *chunk, arrival, now, out);
}

void complete(Job& job, Chunk& chunk, Instant now, Outbox& out) {
  const Evaluation done = evaluate(job, chunk, job.kernels_of(chunk.description));
  if (done.overflow && job.float_retry &&
      chunk.description.encoding == wire::Encoding::block_scaled)
    return retry_as_float(job, chunk, now, out);
  if (wire::concerns_model(chunk.description.collective) && !done.overflow) {
    const wire::Reason refused = ask_model(job, chunk, *done.result);
    if (refused != wire::Reason::none) return abort_model(job, chunk, refused, out);
  }
  chunk.overflow = done.overflow;
  job.complete(chunk, *done.result);
  if (is_degraded(chunk, job.workers())) {
    job.counters.degraded.add();
    job.counters.left_out.add(job.workers() - chunk.covered_count);
  }
  if (done.overflow) job.counters.overflows.add();
  job.counters.completed[static_cast<std::size_t>(chunk.reason)].add();
  const auto latency = static_cast<std::uint64_t>((now - chunk.armed_at).to_ns());
  job.counters.latency_ns_total.add(latency);
  job.counters.latency_ns_max.raise_to(latency);
  send_result(job, chunk, out);
  job.refresh_gauges();
}

}  // namespace tributary::completion
