// Probes, acknowledgements and results (rules 4 and 6).
#include "aggregator/shard.h"

namespace tributary::aggregator {

Decision Shard::on_probe(ShardJob& job, const wire::Packet& packet, const Peer& from, Outbox& out) {
  const wire::Header& h = packet.header;
  Tombstone* e = nullptr;
  const ChunkTable::Place place = job.table.find(h.seq, e);
  job.counters.probes.add();
  if (place == ChunkTable::Place::beyond_window)
    return {Verdict::dropped, DropReason::beyond_window};
  const bool seen = place == ChunkTable::Place::seen;
  if (place == ChunkTable::Place::stale || (seen && e->state == ChunkState::released))
    return {Verdict::dropped, DropReason::stale_seq};
  if (seen && e->state == ChunkState::complete) {
    if (e->description.op != h.op || e->description.chunk != h.chunk)
      return {Verdict::dropped, DropReason::op_mismatch};
    send_result(job, *e, &from, out);
    return {Verdict::answered};
  }

  Outgoing* o = out.add();
  if (o == nullptr) return {Verdict::dropped, DropReason::no_mbuf};
  const bool waiting = seen && job.table.has_contributed(*e, h.child);
  o->peer = from;
  o->header = job.header(waiting ? wire::PacketType::pending : wire::PacketType::unknown);
  o->header.op = h.op;
  o->header.chunk = h.chunk;
  o->header.seq = h.seq;
  o->header.shard = h.shard;
  if (waiting) {
    const std::size_t n = job.table.missing(*e, scratch_ids_);
    wire::ExtensionWriter ext(o->extensions);
    ext.add_missing_ids(std::span(scratch_ids_).first(n));
    o->extension_bytes = ext.bytes().size();
    job.counters.pending_replies.add();
  } else {
    job.counters.unknown_replies.add();
  }
  return {Verdict::answered};
}

Decision Shard::on_ack(ShardJob& job, const wire::Packet& packet) {
  const wire::Header& h = packet.header;
  if (!job.table.acknowledge(h.child, h.seq)) return {Verdict::dropped, DropReason::beyond_window};
  release_acknowledged(job);
  return {Verdict::noted};
}

void Shard::send_result(ShardJob& job, const Tombstone& e, const Peer* to, Outbox& out) {
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
  o->header.slot = job.first_slot + job.table.slot_of(e);
  o->header.covered = job.config.workers;
  o->header.dtype = d.dtype;
  o->header.reduce_op = d.reduce_op;
  o->header.element_count = d.element_count;
  o->header.collective = d.collective;
  o->header.shard = index_;
  o->payload = job.payload(e);
}

}  // namespace tributary::aggregator
