// Probes, acknowledgements and results (rules 4 and 6, C4).
#include "aggregator/shard/shard.h"
#include "core/seq.h"

namespace tributary::aggregator {
namespace {

// A reduce's result goes to one rank: the others get its header, which says that it is done.
void fill_result(Outgoing& o, const ShardJob& job, const ChunkDescription& d, std::uint32_t flags,
                 std::span<const std::byte> payload, bool whole) {
  wire::Header& h = o.header;
  h = job.header(wire::PacketType::result);
  h.flags = flags;
  h.op = d.op;
  h.chunk = d.chunk;
  if ((flags & wire::kFlagFloatRetry) != 0) h.attempt = wire::kFloatRetry;
  h.covered = is_passed_on(d) ? 1 : job.workers();
  h.dtype = d.dtype;
  h.reduce_op = d.reduce_op;
  h.collective = d.collective;
  h.encoding = d.encoding;
  h.scale_exponent = d.scale_exponent;
  if (has_target(d.collective) || (is_agreement(d) && d.target != ChunkDescription::kNoTarget)) {
    wire::ExtensionWriter ext(o.extensions);
    ext.add_target_rank(d.target);
    o.extension_bytes = ext.bytes().size();
  }
  if (!whole) return;
  h.element_count = d.element_count;
  o.payload = payload;
}

// A reply to the sender; if a switch asked for a rank behind it, to that rank.
void fill_reply(Outgoing& o, const ShardJob& job, wire::PacketType type,
                const wire::Header& asked) {
  o.header = job.header(type);
  o.header.op = asked.op;
  o.header.chunk = asked.chunk;
  o.header.seq = asked.seq;
  o.header.shard = asked.shard;
  if (!job.child_map.relays(asked)) return;
  o.header.origin = asked.origin;
  o.header.flags = wire::kFlagBypass;
}

// True for a chunk that is known here only by an announcement, and whose result may not describe
// it: a header without the payload for a rank elsewhere, or parameters without their array.
bool needs_data(const ShardJob& job, const ChunkEntry& e, const wire::Header& h) {
  return job.config.parent && !e.described && !e.retried &&
         (has_target(h.collective) || wire::concerns_model(h.collective));
}

void ask_for_data(ShardJob& job, const wire::Header& asked, const Endpoint& from, Outbox& out) {
  Outgoing* const o = out.add();
  if (o == nullptr) return;
  o->peer = from;
  fill_reply(*o, job, wire::PacketType::unknown, asked);
  job.counters.unknown_replies.add();
}

}  // namespace

Decision Shard::on_probe(ShardJob& job, const wire::Packet& packet, const Endpoint& from,
                         Instant now, Outbox& out) {
  const wire::Header& h = packet.header;
  ChunkEntry* e = nullptr;
  ChunkTable::Place place = job.table.find(h.seq, e);
  // If one rank passes its data on, the others only wait for it.
  const bool only_waits = wire::moves_data(h.collective) && h.covered == 0;
  job.counters.probes.add();
  // A sender of this chunk holds the result in its way, though its data may have been lost.
  if (place == ChunkTable::Place::beyond_window && !only_waits)
    place = locate(job, h.child, h.seq, !job.child_map.relays(h), e);
  const bool seen = place == ChunkTable::Place::seen;
  if (place == ChunkTable::Place::stale || (seen && e->state == ChunkState::released))
    return answer_from_cache(job, packet, from, out);
  if (seen && e->state == ChunkState::complete) {
    if (e->description.op != h.op || e->description.chunk != h.chunk)
      return {Verdict::dropped, DropReason::op_mismatch};
    send_result(job, *e, from, out);
    return {Verdict::answered};
  }
  if (place == ChunkTable::Place::beyond_window && e == nullptr && !wire::moves_data(h.collective))
    return recall(job, h, now, out);
  const bool relayed = job.child_map.relays(h);
  // There is no room for its data yet: sent now, it would only be dropped (rule 6).
  const bool held_up = place == ChunkTable::Place::beyond_window && !only_waits;
  const bool waiting = only_waits || held_up || (seen && job.table.has_contributed(*e, h.child));
  const bool verifying = seen && waiting && e->state == ChunkState::sent && !job.config.parent;
  const bool elsewhere =
      job.host_term != 0;  // the host may still work on it, or its result is under way
  if (verifying && !elsewhere) chase(job, *e, out);
  // An excluded child's data goes to the host while the others' is summed here.
  const bool excluded = seen && e->bypassed && job.excludes(h.child, e->description.op);
  const bool aside = excluded && e->state == ChunkState::open;
  if (seen && (e->state == ChunkState::escalated || aside || (verifying && elsewhere))) {
    // A switch that asks for itself does not know yet that the chunk is escalated.
    const bool for_itself = job.child_map[h.child].is_switch && !relayed;
    if (for_itself && (waiting || excluded || e->retried)) {
      tell_escalated(job, *e, from, out);
      return {Verdict::answered};
    }
    // Otherwise its data, or its sum, has not come, and is asked for.
    if (!for_itself && (waiting || relayed || excluded)) {
      if (job.config.parent && job.degraded.allowed()) repeat_held(job, now, out);
      if (relayed && needs_data(job, *e, h)) ask_for_data(job, h, from, out);
      forward(job, packet, 0, out);
      return {Verdict::forwarded};
    }
  }

  // The parent's answer tells more than PENDING would: this switch only repeats the parent's last
  // answer.
  const bool above =
      waiting && !held_up && job.config.parent && (!seen || e->state == ChunkState::sent);
  if (above && !ask_parent(job, h, seen ? e : nullptr, now, out)) return {Verdict::noted};
  if (!waiting) {
    ask_for_data(job, h, from, out);
    return {Verdict::answered};
  }
  std::span<const std::uint32_t> missing = job.awaited_above;
  if (!above && seen) missing = missing_ranks(job, *e, scratch_ids_);
  if (held_up) missing = ranks_behind(job, e, scratch_ids_);
  return say_pending(job, h, from, missing, held_up, out);
}

// `held_up`: there is no room for the data yet.
Decision Shard::say_pending(ShardJob& job, const wire::Header& asked, const Endpoint& from,
                            std::span<const std::uint32_t> missing, bool held_up, Outbox& out) {
  Outgoing* const o = out.add();
  if (o == nullptr) return {Verdict::dropped, DropReason::no_mbuf};
  o->peer = from;
  fill_reply(*o, job, wire::PacketType::pending, asked);
  if (held_up) o->header.reason = wire::Reason::no_slot;
  wire::ExtensionWriter ext(o->extensions);
  ext.add_missing_ids(missing);
  o->extension_bytes = ext.bytes().size();
  job.counters.pending_replies.add();
  return {Verdict::answered};
}

// The ranks that the window waits for: those that have not acknowledged the result in the way, or,
// if there is none, those whose data the lowest incomplete chunk lacks.
std::span<const std::uint32_t> Shard::ranks_behind(const ShardJob& job,
                                                   const ChunkEntry* in_the_way,
                                                   std::span<std::uint32_t> room) {
  const ChunkEntry& lowest = job.table.entry_for(job.table.low());
  const bool known = lowest.state == ChunkState::open && lowest.seq == job.table.low();
  if (in_the_way == nullptr) return known ? missing_ranks(job, lowest, room) : room.first(0);
  RankList ranks(job.child_map, room);
  for (std::uint32_t child = 0; child < job.fan_in && !ranks.full(); ++child) {
    const auto held = job.table.held_before(static_cast<std::uint16_t>(child));
    const bool lacks = !seq_before(in_the_way->seq, held);
    if (job.children[child].present && lacks) ranks.add(child);
  }
  return ranks.ranks();
}

Decision Shard::answer_from_cache(ShardJob& job, const wire::Packet& packet, const Endpoint& from,
                                  Outbox& out) {
  const wire::Header& h = packet.header;
  const ResultCache::Entry* const hit = job.cache.find(job.place, h.op, h.chunk);
  if (hit == nullptr) {
    job.counters.cache_misses.add();
    job.counters.stale.add();
    return {Verdict::dropped, DropReason::stale_seq};
  }
  Outgoing* const o = out.add();
  if (o == nullptr) return {Verdict::dropped, DropReason::no_mbuf};
  const ChunkDescription& d = hit->description;
  job.counters.cache_hits.add();
  o->peer = from;
  fill_result(*o, job, d, hit->flags, {job.buffers.at(hit->buffer), d.payload_bytes()},
              !has_target(d.collective) || job.child_map.child_of(d.target) == h.child);
  o->header.seq = hit->seq;
  o->header.shard = index_;
  job.counters.bytes_out.add(o->payload.size());
  return {Verdict::answered};
}

Decision Shard::on_ack(ShardJob& job, const wire::Packet& packet, Instant now, Outbox& out) {
  const wire::Header& h = packet.header;
  if ((h.flags & wire::kFlagCe) != 0) job.marked = true;
  const bool ahead = !job.table.acknowledge(h.child, h.seq);
  if (ahead && !may_be_ahead(job, h.seq)) return recall(job, h, now, out);
  if (ahead) job.table.note_held(h.child, h.seq);
  release_acknowledged(job);
  if (ahead) catch_up(job);
  if (seq_before(job.table.low(), h.seq)) return recall(job, h, now, out);
  if (job.config.parent) acknowledge_up(job, 1, out);
  return {Verdict::noted};
}

std::uint32_t Shard::result_flags(const ChunkEntry& e) {
  return (e.description.last ? std::uint32_t{wire::kFlagLast} : 0u) |
         (e.overflow ? std::uint32_t{wire::kFlagOverflow} : 0u) |
         (e.verified ? std::uint32_t{wire::kFlagVerified} : 0u) |
         (e.retried ? std::uint32_t{wire::kFlagFloatRetry} : 0u) |
         (e.congested ? std::uint32_t{wire::kFlagCe} : 0u) |
         (wire::concerns_model(e.description.collective) ? std::uint32_t{wire::kFlagParams} : 0u);
}

// Sends it to the group; or, if one rank needs it, its payload to that rank, the header to all.
void Shard::multicast_result(ShardJob& job, const ChunkEntry& e, Outbox& out) {
  if (job.broken) return;
  if (e.overflow) job.counters.saturated.add();
  if (e.congested) job.counters.marked_results.add();
  const bool all = !has_target(e.description.collective);
  job.counters.result_bytes.add(job.payload(e).size());
  const auto target = all ? std::nullopt : job.child_map.child_of(e.description.target);
  if (target && job.children[*target].present) {
    if (Outgoing* const to_target = out.add()) {
      to_target->peer = job.children[*target].peer;
      finish_result(job, e, *to_target, true);
    }
  }
  Outgoing* const o = out.add();
  if (o == nullptr) return;  // retained: a probe of the rank that misses it brings it
  o->to = Outgoing::To::job_group;
  finish_result(job, e, *o, all);
}

void Shard::send_result(ShardJob& job, const ChunkEntry& e, const Endpoint& to, Outbox& out) {
  Outgoing* const o = job.broken ? nullptr : out.add();
  if (o == nullptr) return;
  o->peer = to;
  job.counters.results_resent.add();
  const auto target = job.child_map.child_of(e.description.target);
  const bool whole =
      !has_target(e.description.collective) || (target && job.children[*target].peer == to);
  finish_result(job, e, *o, whole);
}

void Shard::finish_result(ShardJob& job, const ChunkEntry& e, Outgoing& o, bool whole) {
  fill_result(o, job, e.description, result_flags(e), job.payload(e), whole);
  o.header.seq = e.seq;
  o.header.shard = index_;
  o.header.slot = slot_of(job, e);
  o.header.seed_generation = job.next_seed;
  if (job.degraded.counted(e.seq) != 0) add_left_out(job, e.seq, o);
  if (job.seed != job.next_seed) {
    wire::ExtensionWriter ext(std::span(o.extensions).subspan(o.extension_bytes));
    ext.add(wire::ResultInfo{job.config.window, job.seed_from, 0, job.next_seed});
    o.extension_bytes += ext.bytes().size();
  }
  job.counters.bytes_out.add(o.payload.size());
}

}  // namespace tributary::aggregator
