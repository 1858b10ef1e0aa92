// Contributions: what a shard takes into its sums (rules 2, 3, 5 and 7).
#include <cstring>

#include "aggregator/reduce.h"
#include "aggregator/shard.h"

namespace tributary::aggregator {
namespace {

// What this version reduces; the wire format knows more.
DropReason check_supported(const wire::Packet& packet, const config::JobConfig& job,
                           ReduceFunction reduce) {
  const wire::Header& h = packet.header;
  if ((h.flags & wire::kFlagAtPs) != 0) return DropReason::at_parameter_server;
  if (h.attempt != 0) return DropReason::stale_epoch;
  if (h.fan_in != job.workers) return DropReason::bad_child;
  if (h.encoding != wire::Encoding::plain) return DropReason::bad_encoding;
  if (packet.payload.size() > job.chunk_bytes) return DropReason::payload_too_large;
  if (h.collective == wire::Collective::barrier)
    return h.dtype == wire::DType::none ? DropReason::count_ : DropReason::bad_dtype;
  if (h.collective != wire::Collective::allreduce) return DropReason::bad_collective;
  if (reduce == nullptr)
    return h.reduce_op == wire::ReduceOp::sum ? DropReason::bad_dtype : DropReason::bad_reduce_op;
  return DropReason::count_;
}

wire::OpDescription for_error(const ChunkDescription& d, std::uint32_t rank) {
  return {d.total_elements, rank, d.element_count, d.dtype, d.reduce_op, d.collective, d.last};
}

}  // namespace

Decision Shard::on_contribution(ShardJob& job, const wire::Packet& packet, const Peer& from,
                                Instant now, Outbox& out) {
  const wire::Header& h = packet.header;
  const ReduceFunction reduce = find_reduce(h.dtype, h.reduce_op);
  if (const DropReason bad = check_supported(packet, job.config, reduce); bad != DropReason::count_)
    return {Verdict::dropped, bad};

  const Contribution c = contribution_of(packet);
  Tombstone* e = nullptr;
  const ChunkTable::Place place = job.table.find(c.seq, e);
  if (c.resend) job.counters.resends.add();
  if (place == ChunkTable::Place::stale) return {Verdict::dropped, DropReason::stale_seq};
  if (place == ChunkTable::Place::beyond_window)
    return {Verdict::dropped, DropReason::beyond_window};
  job.table.note_sent(c.child, c.seq);
  release_acknowledged(job);
  if (place == ChunkTable::Place::unseen) return open(job, *e, c, now, out);
  if (job.table.has_contributed(*e, c.child)) return repeated(job, *e, c, from, out);
  if (!e->description.agrees_with(c.description)) return request_mismatch_abort(job, *e, c);

  job.counters.contributions.add();
  job.counters.contribution_bytes.add(c.payload.size());
  if (reduce != nullptr)
    reduce(job.buffers.at(e->buffer), c.payload.data(), c.description.element_count);
  if (!job.table.add(*e, c.child)) return {Verdict::folded};
  return complete(job, *e, now, out);
}

Decision Shard::open(ShardJob& job, Tombstone& e, const Contribution& c, Instant now, Outbox& out) {
  job.counters.contributions.add();
  job.counters.contribution_bytes.add(c.payload.size());
  job.table.open(e, c, now);
  if (!c.payload.empty()) {
    e.buffer = job.buffers.take();
    std::memcpy(job.buffers.at(e.buffer), c.payload.data(), c.payload.size());
  }
  job.deadlines.arm(e);
  job.refresh_gauges();
  if (job.config.workers == 1) return complete(job, e, now, out);
  // A rank that left can contribute to nothing any more.
  if (job.table.present() < job.config.workers) {
    begin_abort(job, wire::Reason::rank_left);
    return {Verdict::epoch_aborted};
  }
  return {Verdict::opened};
}

Decision Shard::complete(ShardJob& job, Tombstone& e, Instant now, Outbox& out) {
  job.deadlines.cancel(e);
  job.table.complete(e);
  job.counters.completions.add();
  job.counters.result_bytes.add(job.payload(e).size());
  job.counters.slot_hold_ns_max.raise_to(static_cast<std::uint64_t>((now - e.opened_at).to_ns()));
  job.refresh_gauges();
  send_result(job, e, nullptr, out);
  return {Verdict::completed};
}

Decision Shard::repeated(ShardJob& job, const Tombstone& e, const Contribution& c, const Peer& from,
                         Outbox& out) {
  job.counters.duplicates.add();
  if (e.state != ChunkState::complete || !c.resend)
    return {Verdict::dropped, DropReason::duplicate};
  send_result(job, e, &from, out);
  return {Verdict::answered};
}

void Shard::release_acknowledged(ShardJob& job) {
  bool any = false;
  while (Tombstone* const e = job.table.pop_acknowledged()) {
    if (e->buffer != kNone) job.buffers.put(e->buffer);
    e->buffer = kNone;
    any = true;
  }
  if (any) job.refresh_gauges();
}

Decision Shard::request_mismatch_abort(ShardJob& job, const Tombstone& e, const Contribution& got) {
  begin_abort(job, wire::Reason::op_mismatch);
  abort_cause_.has_error = true;
  abort_cause_.error = {for_error(e.description, e.first_child),
                        for_error(got.description, got.child)};
  abort_cause_.chunk.op = e.description.op;
  abort_cause_.chunk.chunk = e.description.chunk;
  abort_cause_.chunk.seq = e.seq;
  abort_cause_.chunk.shard = index_;
  return {Verdict::epoch_aborted, DropReason::op_mismatch};
}

}  // namespace tributary::aggregator
