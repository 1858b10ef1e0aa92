#include "completion/engine/engine_replies.h"

#include <algorithm>
#include <array>

#include "core/wire/degraded.h"

namespace tributary::completion {

using aggregator::Outbox;
using aggregator::Outgoing;

namespace {

wire::Header header_of(const Job& job, wire::PacketType type) {
  wire::Header h;
  h.type = type;
  h.job = job.limits.id;
  h.epoch = job.epoch;
  h.fan_in = static_cast<std::uint16_t>(job.workers());
  h.plane = job.limits.plane;
  return h;
}

// A node that learns of an attempt which it has not begun yet begins it.
void set_attempt(wire::Header& h, std::uint8_t attempt) {
  h.attempt = attempt;
  if (attempt == wire::kFloatRetry) h.flags |= wire::kFlagFloatRetry | wire::kFlagAtPs;
}

wire::Header header_of(const Job& job, const Chunk& chunk, wire::PacketType type) {
  wire::Header h = header_of(job, type);
  h.op = chunk.description.op;
  h.chunk = chunk.description.chunk;
  h.seq = chunk.seq;
  h.shard = chunk.shard;
  set_attempt(h, chunk.attempt);
  return h;
}

void address_to(wire::Header& h, std::uint32_t rank) {
  h.origin = rank;
  h.child = static_cast<std::uint16_t>(rank);
}

wire::OpDescription for_error(const aggregator::ChunkDescription& d, std::uint32_t rank) {
  return {d.total_elements, rank,   d.element_count, d.dtype,          d.reduce_op,
          d.collective,     d.last, d.encoding,      d.scale_exponent, d.target};
}

void set_cause(Job& job, wire::Reason reason, const Chunk& chunk) {
  AbortCause& cause = job.last_abort;
  cause.reason = reason;
  cause.chunk = header_of(job, chunk, wire::PacketType::abort);
  cause.missing.clear();
  cause.has_error = false;
}

}  // namespace

Decision on_probe(Job& job, const wire::Packet& packet, Outbox& out) {
  const wire::Header& h = packet.header;
  job.counters.probes.add();
  if (h.origin >= job.workers()) return {Verdict::dropped, DropReason::bad_child};
  Chunk* chunk = nullptr;
  const Job::Find found = job.find(h.shard, h.seq, chunk);
  if (found == Job::Find::stale) {
    job.counters.stale.add();
    return {Verdict::dropped, DropReason::stale_seq};
  }
  if (chunk != nullptr && (chunk->description.op != h.op || chunk->description.chunk != h.chunk))
    return {Verdict::dropped, DropReason::op_mismatch};
  // Released: the root has the result, and its answer has crossed this probe.
  if (chunk != nullptr && chunk->state == ChunkState::released)
    return {Verdict::dropped, DropReason::stale_seq};
  if (chunk != nullptr && chunk->state == ChunkState::complete) {
    job.counters.results_repeated.add();
    send_result(job, *chunk, out);
    return {Verdict::answered};
  }

  Outgoing* o = out.add();
  if (o == nullptr) return {Verdict::dropped, DropReason::no_mbuf};
  const bool waiting = chunk != nullptr && contains(chunk->covered, h.origin);
  o->header = header_of(job, waiting ? wire::PacketType::pending : wire::PacketType::unknown);
  o->header.op = h.op;
  o->header.chunk = h.chunk;
  o->header.seq = h.seq;
  o->header.shard = h.shard;
  set_attempt(o->header, chunk == nullptr ? h.attempt : std::max(h.attempt, chunk->attempt));
  address_to(o->header, h.origin);
  if (!waiting) {
    job.counters.unknown_replies.add();
    return {Verdict::answered};
  }
  std::array<std::uint32_t, wire::kMaxMissingIds> missing;
  const std::size_t n = job.missing(*chunk, missing);
  wire::ExtensionWriter extensions(o->extensions);
  extensions.add_missing_ids(std::span(missing).first(n));
  o->extension_bytes = extensions.bytes().size();
  job.counters.pending_replies.add();
  return {Verdict::answered};
}

void send_result(Job& job, const Chunk& chunk, Outbox& out) {
  if (job.broken) return;
  Outgoing* o = out.add();
  if (o == nullptr) return;  // kept: a probe of the rank that misses it brings it
  const aggregator::ChunkDescription& d = chunk.description;
  o->header = header_of(job, chunk, wire::PacketType::result);
  o->header.flags |= chunk.flags | (chunk.overflow ? wire::kFlagOverflow : wire::kFlagVerified) |
                     (d.last ? std::uint32_t{wire::kFlagLast} : 0u);
  if (job.limits.arithmetic == wire::Arithmetic::modular) o->header.flags |= wire::kFlagModular;
  if (wire::concerns_model(d.collective)) o->header.flags |= wire::kFlagParams;
  o->header.slot = chunk.slot;
  o->header.covered = chunk.covered_count;
  o->header.dtype = d.dtype;
  o->header.reduce_op = d.reduce_op;
  o->header.element_count = d.element_count;
  o->header.collective = d.collective;
  o->header.encoding = d.encoding;
  o->header.scale_exponent = d.scale_exponent;
  o->header.reason = chunk.reason;
  o->payload = chunk.pieces->payload();

  wire::ExtensionWriter extensions(o->extensions);
  extensions.add(wire::ResultInfo{job.limits.window, 0, job.host_term, 0});
  if (d.target != aggregator::ChunkDescription::kNoTarget) extensions.add_target_rank(d.target);
  if (is_degraded(chunk, job.workers())) {
    o->header.flags |= wire::kFlagDegraded;
    clear(job.lost);
    for (std::uint32_t rank = 0; rank < job.workers(); ++rank)
      if (!contains(chunk.covered, rank)) insert(job.lost, rank);
    wire::add_degraded_list(extensions, chunk.covered_count, job.lost);
  }
  o->extension_bytes = extensions.bytes().size();
}

void ask_again(Job& job, const Chunk& chunk, ConstRankSet ranks, Outbox& out) {
  for_each(ranks, [&](std::uint32_t rank) {
    Outgoing* o = out.add();
    if (o == nullptr) return;  // the rank's own probe gets the answer
    o->header = header_of(job, chunk, wire::PacketType::unknown);
    address_to(o->header, rank);
    job.counters.rerequests.add();
  });
}

Decision abort_mismatch(Job& job, const Chunk& chunk, const aggregator::ChunkDescription& got,
                        Outbox& out) {
  set_cause(job, wire::Reason::op_mismatch, chunk);
  job.last_abort.has_error = true;
  job.last_abort.error = {for_error(chunk.description, chunk.first_rank),
                          for_error(got, lowest(job.ranks))};
  job.counters.aborts_mismatch.add();
  job.stop(JobState::aborted);
  repeat_abort(job, out);
  return {Verdict::epoch_aborted, DropReason::op_mismatch};
}

void abort_overdue(Job& job, const Chunk& chunk, Outbox& out) {
  set_cause(job, wire::Reason::deadline, chunk);
  job.last_abort.missing.resize(wire::kMaxMissingIds);
  job.last_abort.missing.resize(job.missing(chunk, job.last_abort.missing));
  job.counters.aborts_deadline.add();
  job.stop(JobState::aborted);
  repeat_abort(job, out);
}

void abort_model(Job& job, const Chunk& chunk, wire::Reason reason, Outbox& out) {
  set_cause(job, reason, chunk);
  job.counters.aborts_model.add();
  job.stop(JobState::aborted);
  repeat_abort(job, out);
}

Decision abort_broken(Job& job, Outbox& out) {
  job.last_abort.reason = wire::Reason::broken_invariant;
  job.last_abort.chunk = header_of(job, wire::PacketType::abort);
  job.last_abort.missing.clear();
  job.last_abort.has_error = false;
  job.counters.aborts_broken.add();
  job.stop(JobState::aborted);
  repeat_abort(job, out);
  return {Verdict::epoch_aborted, DropReason::aborted};
}

Decision repeat_abort(Job& job, Outbox& out) {
  Outgoing* o = out.add();
  if (o == nullptr) return {Verdict::dropped, DropReason::no_mbuf};
  const AbortCause& cause = job.last_abort;
  o->header = cause.chunk;
  o->header.reason = cause.reason;
  wire::ExtensionWriter extensions(o->extensions);
  if (cause.has_error) extensions.add(cause.error);
  if (!cause.missing.empty()) extensions.add_missing_ids(cause.missing);
  o->extension_bytes = extensions.bytes().size();
  return {Verdict::answered};
}

}  // namespace tributary::completion
