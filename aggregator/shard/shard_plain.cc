// The short way for most packets: plain data of a worker, for an open chunk whose first data had
// the same description; or the first data of a chunk, if no dynamic slot has to be found for it.
// All other packets go the long way.
//
// It makes no decisions of its own: on_packet() would have taken the same packets with the same
// effects in the same order (shard.cc, shard_data.cc). In doubt it changes nothing and leaves the
// packet to on_packet(). It saves all checks that cannot matter to such a packet: two thirds of the
// instructions. Tests send the same packets both ways: those with an extension, if only padding, go
// the long way.
#include <algorithm>

#include "aggregator/shard/shard.h"

namespace tributary::aggregator {
namespace {

constexpr Decision kNotThisWay = {Verdict::refused};

// True if data is not resent, marked, escalated, excluded or a second attempt.
bool is_plain(const wire::Packet& p) {
  return (p.header.flags & ~wire::kFlagLast) == 0 && p.header.attempt == 0 &&
         p.extensions.empty() && !p.congestion_experienced;
}

// True if the sender is a worker of the job. If no epoch runs, no child is present.
bool is_for(const ShardJob& job, const wire::Header& h) {
  return h.epoch == job.epoch && h.fan_in == job.fan_in && h.child < job.fan_in &&
         job.children[h.child].is_worker(h.origin);
}

// True for a worker's data that is summed in this part of the job. It has no extensions.
bool is_summed(const ShardJob& job, const wire::Header& h) {
  return h.type == wire::PacketType::contribution && h.encoding == wire::Encoding::plain &&
         h.plane == job.plane && h.stream == 0 && !wire::moves_data(h.collective);
}

// The last-chunk bit in a description's third word.
constexpr std::uint64_t kLastBit = std::uint64_t{1} << 63;

// The description of data of that kind; without extensions no total is stated.
void describe(const PlainKind& plain, const wire::Header& h, ChunkDescription& d) {
  d.set_word(0, h.op | std::uint64_t{h.chunk} << 32);
  d.set_word(1, 0);
  d.set_word(2, plain.description | (h.flags != 0 ? kLastBit : 0));
}

}  // namespace

void Shard::learn_kind(ShardJob& job, const wire::Packet& packet) {
  const wire::Header& h = packet.header;
  PlainKind& plain = job.plain;
  plain.kind = h.kind();
  plain.scope = h.scope();
  // A barrier adds no data, and has no kernels.
  plain.kernels = is_summed(job, h) ? job.kernels.find(h.dtype, h.reduce_op) : nullptr;
  const Contribution c = contribution_of(packet);
  plain.description = c.description.word(2) & ~kLastBit;
  const Kernels* same = nullptr;
  plain.opens = plain.kernels != nullptr && !job.dynamic &&
                check_data(job, c, false, same) == DropReason::none;
}

inline void Shard::note_plain(ShardJob& job, const wire::Packet& packet, Instant now) {
  const wire::Header& h = packet.header;
  Child& child = job.children[h.child];
  child.last_heard = now;
  child.heard = true;
  sums_.reclaim();
  job.counters.bytes_in.add(packet.payload.size());
  job.table.note_sent(h.child, h.seq);
  if (job.table.has_acknowledged()) release_acknowledged(job);
  job.counters.contributions.add();
  job.counters.contribution_bytes.add(packet.payload.size());
}

[[gnu::always_inline]] inline Decision Shard::take_further(ShardJob& job, ChunkEntry& e,
                                                           const ChunkDescription& d,
                                                           const wire::Packet& packet, Instant now,
                                                           Outbox& out) {
  const ChunkTable::Bit bit = job.table.bit_of(e, packet.header.child);
  if (!e.described || e.buffer == kNone || bit.is_set() || !(e.description == d))
    return kNotThisWay;
  note_plain(job, packet, now);
  job.note_further(e, packet.header.child, now);
  sums_.add({&e, job.buffers.at(e.buffer), packet.payload.data(), job.plain.kernels,
             d.element_count, Fold::How::fold});
  if (job.dynamic) pool_.touch(pool_slot(job, e.seq), now);
  if (!job.table.add(e, bit)) return {Verdict::folded};
  return on_complete(job, e, job.plain.kernels, now, out);
}

Decision Shard::take_first(ShardJob& job, const ChunkDescription& d, const wire::Packet& packet,
                           Instant now, Outbox& out) {
  const wire::Header& h = packet.header;
  ChunkEntry* e = nullptr;
  if (!job.plain.opens || job.marked || d.op == kNoOp || job.table.present() != job.fan_in ||
      job.table.find(h.seq, e) != ChunkTable::Place::unseen)
    return kNotThisWay;
  note_plain(job, packet, now);
  if (!job.table.open(*e, {d, h.seq, h.child, job.note_first(d, h.child, now)}, now))
    return break_off(job);
  e->holds_slot = true;
  job.next_op = std::max(job.next_op, d.op + 1);
  job.deadlines.arm(*e);
  job.refresh_gauges();
  e->buffer = job.buffers.take();
  if (e->buffer == kNone) return break_off(job);
  ++e->combined;
  sums_.add({e, job.buffers.at(e->buffer), packet.payload.data(), job.plain.kernels,
             d.element_count, Fold::How::open});
  if (e->arrived == job.fan_in) return on_complete(job, *e, job.plain.kernels, now, out);
  return {Verdict::opened};
}

Decision Shard::take_plain(const wire::Packet& packet, const Endpoint& from, Instant now,
                           Outbox& out) {
  const wire::Header& h = packet.header;
  if (!is_plain(packet)) return kNotThisWay;
  ShardJob* const found = by_id_.find(h.job);
  if (found == nullptr || !is_for(*found, h)) return kNotThisWay;
  ShardJob& job = *found;
  if (job.waits_for_order || job.has_exclusions) return kNotThisWay;
  const Child& child = job.children[h.child];
  if (!child.present || child.peer != from) return kNotThisWay;
  if (!job.plain.is_of(h)) learn_kind(job, packet);
  if (job.plain.kernels == nullptr) return kNotThisWay;
  ChunkDescription d;
  describe(job.plain, h, d);
  ChunkEntry& e = job.table.entry_for(h.seq);
  // An open chunk is always in the window.
  if (e.state == ChunkState::open && e.seq == h.seq)
    return take_further(job, e, d, packet, now, out);
  return take_first(job, d, packet, now, out);
}

}  // namespace tributary::aggregator
