// The short way of what most packets are: further plain data of a worker for a chunk that is open,
// and that asks for what the chunk's first data asked for.
//
// It decides nothing of its own: whatever it takes, on_packet() would have taken with the same
// effects in the same order (shard.cc, shard_data.cc); and where it has a doubt it changes nothing
// and leaves the packet to that. What it saves is everything that such a packet cannot be: two
// thirds of the instructions. Tests send the same packets both ways: those with an extension, if
// only of padding, go the long one.
#include "aggregator/shard.h"

namespace tributary::aggregator {
namespace {

// Neither resent nor marked, escalated, excluded or a sum.
bool is_plain(const wire::Packet& p) {
  const wire::Header& h = p.header;
  return h.type == wire::PacketType::contribution && (h.flags & ~wire::kFlagLast) == 0 &&
         h.encoding == wire::Encoding::plain && h.attempt == 0 && h.stream == 0 &&
         p.extensions.empty() && !p.congestion_experienced;
}

// From a worker that is a member of the running epoch, about a part of the job that this shard has.
bool is_for(const ShardJob& job, const wire::Header& h) {
  if (!job.running || h.epoch != job.epoch || h.fan_in != job.fan_in || h.plane != job.plane ||
      h.child >= job.fan_in)
    return false;
  const ChildMap::Child& child = job.child_map[h.child];
  return !child.is_switch && child.id == h.origin;
}

// It adds to the sum of an open chunk.
bool only_adds(const ShardJob& job, const Tombstone& e, const wire::Packet& p) {
  const wire::Header& h = p.header;
  if (e.state != ChunkState::open || e.seq != h.seq || !e.described || e.buffer == kNone ||
      job.table.has_contributed(e, h.child))
    return false;
  ChunkDescription d;
  describe(p, d);
  return e.description == d && !is_passed_on(h.collective);
}

}  // namespace

bool Shard::take_further(const wire::Packet& packet, const Peer& from, Instant now, Outbox& out,
                         Decision& decision) {
  const wire::Header& h = packet.header;
  if (!is_plain(packet)) return false;
  ShardJob* const found = by_id_.find(h.job);
  if (found == nullptr || !is_for(*found, h)) return false;
  ShardJob& job = *found;
  if (job.waits_for_order || job.has_exclusions) return false;
  Child& child = job.children[h.child];
  if (!child.present || child.peer != from) return false;
  Tombstone* e = nullptr;
  if (job.table.find(h.seq, e) != ChunkTable::Place::seen || !only_adds(job, *e, packet))
    return false;
  const Kernels* const kernels = job.kernels.find(h.dtype, h.reduce_op);
  if (kernels == nullptr) return false;  // a barrier adds nothing

  child.last_heard = now;
  child.heard = true;
  settle_buffers();
  job.counters.bytes_in.add(packet.payload.size());
  job.table.note_sent(h.child, h.seq);
  if (job.table.has_acknowledged()) release_acknowledged(job);
  job.note_further(*e, h.child, now);
  job.counters.contributions.add();
  job.counters.contribution_bytes.add(packet.payload.size());
  folds_.add({e, job.buffers.at(e->buffer), packet.payload.data(), kernels, h.element_count,
              Fold::How::fold});
  if (job.dynamic()) pool_.touch(pool_slot(job, e->seq), now);
  decision = {Verdict::folded};
  if (job.table.add(*e, h.child)) decision = on_complete(job, *e, kernels, now, out);
  return true;
}

}  // namespace tributary::aggregator
