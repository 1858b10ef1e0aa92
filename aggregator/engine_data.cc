// Data packets of the engine: contributions, probes and acknowledgements (rules 2 to 7).
#include "aggregator/engine_impl.h"

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

Decision Engine::Impl::on_contribution(Job& job, const wire::Packet& packet, const Peer& from,
                                       Instant now, Outbox& out) {
  const wire::Header& h = packet.header;
  const ReduceFunction fn =
      reduce[static_cast<std::size_t>(h.dtype)][static_cast<std::size_t>(h.reduce_op)];
  if (const DropReason bad = check_supported(packet, job.config, fn); bad != DropReason::count_)
    return {Verdict::dropped, bad};

  const Contribution c = contribution_of(packet);
  ChunkTable& table = *job.shards[c.shard];
  ChunkEntry* e = nullptr;
  const ChunkTable::Add outcome = table.add(c, fn, now, e);
  if (c.resend) job.counters.resends.add();
  switch (outcome) {
    case ChunkTable::Add::stale: return {Verdict::dropped, DropReason::stale_seq};
    case ChunkTable::Add::beyond_window: return {Verdict::dropped, DropReason::beyond_window};
    case ChunkTable::Add::duplicate:
      job.counters.duplicates.add();
      return {Verdict::dropped, DropReason::duplicate};
    case ChunkTable::Add::duplicate_complete:
      job.counters.duplicates.add();
      if (!c.resend) return {Verdict::dropped, DropReason::duplicate};
      send_result(job, table, *e, c.shard, &from, out);
      return {Verdict::answered};
    case ChunkTable::Add::mismatch:
      abort_mismatch(job, *e, c, out);
      return {Verdict::epoch_aborted, DropReason::op_mismatch};
    case ChunkTable::Add::opened:
    case ChunkTable::Add::folded:
    case ChunkTable::Add::completed: break;
  }

  job.counters.contributions.add();
  job.counters.contribution_bytes.add(c.payload.size());
  if (outcome == ChunkTable::Add::folded) return {Verdict::folded};
  if (outcome == ChunkTable::Add::completed) {
    job.counters.completions.add();
    job.counters.result_bytes.add(table.payload(*e).size());
    job.counters.slot_hold_ns_max.raise_to(static_cast<std::uint64_t>((now - e->armed_at).to_ns()));
    send_result(job, table, *e, c.shard, nullptr, out);
    job.refresh_gauges();
    return {Verdict::completed};
  }
  job.refresh_gauges();
  if (job.membership.present() < job.config.workers) {
    abort_missing_departed(job, wire::Reason::rank_left, out);
    return {Verdict::epoch_aborted};
  }
  return {Verdict::opened};
}

Decision Engine::Impl::on_probe(Job& job, const wire::Packet& packet, const Peer& from,
                                Outbox& out) {
  const wire::Header& h = packet.header;
  ChunkTable& table = *job.shards[h.shard];
  ChunkEntry* e = nullptr;
  const ChunkTable::Lookup found = table.look_up(h.seq, h.child, e);
  job.counters.probes.add();
  if (found == ChunkTable::Lookup::stale) return {Verdict::dropped, DropReason::stale_seq};
  if (found == ChunkTable::Lookup::beyond_window)
    return {Verdict::dropped, DropReason::beyond_window};
  if (found == ChunkTable::Lookup::complete) {
    if (e->description.op != h.op || e->description.chunk != h.chunk)
      return {Verdict::dropped, DropReason::op_mismatch};
    send_result(job, table, *e, h.shard, &from, out);
    return {Verdict::answered};
  }

  Outgoing* o = out.add();
  if (o == nullptr) return {Verdict::dropped, DropReason::no_mbuf};
  const bool waiting = found == ChunkTable::Lookup::waiting;
  o->peer = from;
  o->header = job.header(waiting ? wire::PacketType::pending : wire::PacketType::unknown);
  o->header.op = h.op;
  o->header.chunk = h.chunk;
  o->header.seq = h.seq;
  o->header.shard = h.shard;
  if (waiting) {
    const std::size_t n = table.missing(*e, scratch_ids);
    wire::ExtensionWriter ext(o->extensions);
    ext.add_missing_ids(std::span(scratch_ids).first(n));
    o->extension_bytes = ext.bytes().size();
    job.counters.pending_replies.add();
  } else {
    job.counters.unknown_replies.add();
  }
  return {Verdict::answered};
}

Decision Engine::Impl::on_ack(Job& job, const wire::Packet& packet) {
  const wire::Header& h = packet.header;
  if (!job.shards[h.shard]->acknowledge(h.child, h.seq))
    return {Verdict::dropped, DropReason::beyond_window};
  job.refresh_gauges();
  return {Verdict::noted};
}

void Engine::Impl::send_result(Job& job, ChunkTable& table, const ChunkEntry& e, std::uint8_t shard,
                               const Peer* to, Outbox& out) {
  Outgoing* o = out.add();
  if (o == nullptr) return;  // retained: the probe of whoever misses it brings it
  const ChunkDescription& d = e.description;
  o->to = to == nullptr ? Outgoing::To::job_group : Outgoing::To::peer;
  if (to != nullptr) {
    o->peer = *to;
    job.counters.results_resent.add();
  }
  o->header = job.header(wire::PacketType::result);
  o->header.flags = d.last ? std::uint32_t{wire::kFlagLast} : 0u;
  o->header.op = d.op;
  o->header.chunk = d.chunk;
  o->header.seq = e.seq;
  o->header.slot = job.first_slot + table.slot_of(e);
  o->header.covered = job.config.workers;
  o->header.dtype = d.dtype;
  o->header.reduce_op = d.reduce_op;
  o->header.element_count = d.element_count;
  o->header.collective = d.collective;
  o->header.shard = shard;
  o->payload = table.payload(e);
}

void Engine::Impl::abort_mismatch(Job& job, const ChunkEntry& e, const Contribution& got,
                                  Outbox& out) {
  AbortCause& cause = job.last_abort;
  cause.missing.clear();
  cause.has_error = true;
  cause.error = {for_error(e.description, e.first_child), for_error(got.description, got.child)};
  cause.chunk.op = e.description.op;
  cause.chunk.chunk = e.description.chunk;
  cause.chunk.seq = e.seq;
  cause.chunk.shard = got.shard;
  job.counters.aborts_mismatch.add();
  abort_epoch(job, wire::Reason::op_mismatch, out);
}

}  // namespace tributary::aggregator
