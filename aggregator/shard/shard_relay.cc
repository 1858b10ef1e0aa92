// Data that other switches could not finish (protocol, "Escalation" and "Trees"; T5, T6).
//
//   from below   announcements, sums with the ranks inside, and data of one rank (flag bypass):
//                goes on to the completion host, and so does the data here for the same chunk
//                (rule 5). None of it is added to anything on the way.
//   from above   a sum that went up was given up there; or the host's message for a rank below
#include <algorithm>
#include <bit>

#include "aggregator/shard/shard.h"
#include "core/wire/rank_bitmap.h"

namespace tributary::aggregator {
namespace {

bool is_announcement(const wire::Header& h) {
  return h.type == wire::PacketType::escalation && h.covered == 0;
}

}  // namespace

// True if all of the sum that went up is still here, or it has no bytes.
bool Shard::holds_sum(const ChunkEntry& e) {
  return e.buffer != kNone || e.description.payload_bytes() == 0;
}

// Rule 10: a switch may send for the ranks behind it, and for no others.
DropReason Shard::check_relayed(const ShardJob& job, const wire::Packet& packet,
                                const Contribution& c) {
  const wire::Header& h = packet.header;
  if (h.fan_in != job.fan_in) return DropReason::bad_fan_in;
  if (!job.child_map[h.child].is_switch) return DropReason::bad_type;
  if (is_announcement(h))
    return packet.payload.empty() ? DropReason::none : DropReason::bad_payload_length;
  if (is_passed_on(h)) return DropReason::bad_collective;
  const Kernels* kernels = nullptr;
  const bool is_sum = h.type == wire::PacketType::escalation;
  if (const DropReason bad = check_data(job, c, is_sum, kernels); bad != DropReason::none)
    return bad;
  if (!is_sum) return h.covered == 1 ? DropReason::none : DropReason::bad_coverage;
  const auto ranks = std::span(coverage_).first(wire::rank_words(job.workers()));
  std::fill(ranks.begin(), ranks.end(), 0);
  if (!wire::read_rank_bitmaps(packet.extensions, job.workers(), ranks))
    return DropReason::bad_extension;
  std::uint32_t below = 0;
  std::uint32_t named = 0;
  for (const std::uint64_t word : ranks) named += static_cast<std::uint32_t>(std::popcount(word));
  for (const std::uint32_t rank : job.child_map.ranks_of(h.child))
    below += static_cast<std::uint32_t>(ranks[rank / 64] >> (rank % 64) & 1);
  return named == h.covered && below == h.covered ? DropReason::none : DropReason::bad_coverage;
}

// check_relayed() was the last call before, and has left a sum's ranks in coverage_.
void Shard::note_part(ShardJob& job, const wire::Header& h, const ChunkDescription& d) {
  const KeptAs as = OpHistory::kept_as(d, job.shards);
  if (as == KeptAs::nothing) return;
  const auto ranks = std::span(coverage_).first(wire::rank_words(job.workers()));
  if (h.type == wire::PacketType::contribution) {
    std::fill(ranks.begin(), ranks.end(), 0);
    ranks[h.origin / 64] |= 1ULL << (h.origin % 64);
  }
  job.history.came_in_part(d, as, ranks);
}

Decision Shard::on_relayed(ShardJob& job, const wire::Packet& packet, const Endpoint& from,
                           Instant now, Outbox& out) {
  const wire::Header& h = packet.header;
  if (h.attempt != 0) return on_retry(job, packet, from, out);
  const Contribution c = contribution_of(packet);
  if (const DropReason bad = check_relayed(job, packet, c); bad != DropReason::none)
    return {Verdict::dropped, bad};
  job.counters.bytes_in.add(c.payload.size());
  if (c.resend) job.counters.resends.add();
  if (c.congested) job.counters.marked_data.add();
  ChunkEntry* e = nullptr;
  const ChunkTable::Place place = locate(job, c.child, c.seq, false, e);
  if (place == ChunkTable::Place::beyond_window) return recall(job, h, now, out);
  const bool over = place == ChunkTable::Place::stale ||
                    (place == ChunkTable::Place::seen && e->state == ChunkState::released);
  if (over && c.resend) return answer_from_cache(job, packet, from, out);
  if (place == ChunkTable::Place::stale) {
    job.counters.stale.add();
    return {Verdict::dropped, DropReason::stale_seq};
  }
  if (place == ChunkTable::Place::seen && comes_late(job, *e, c))
    return answer_late(job, *e, from, out);
  // Data left from a first attempt is of no use any more (rule 12).
  if (place == ChunkTable::Place::seen && e->retried) {
    job.counters.duplicates.add();
    return {Verdict::dropped, DropReason::duplicate};
  }
  const bool says_more = !is_announcement(h);
  if (says_more) {
    if (place == ChunkTable::Place::seen)
      job.note_again(*e, c.description, c.child, now);
    else
      job.note_first(c.description, c.child, now);
    note_part(job, h, c.description);
  }
  if (place == ChunkTable::Place::unseen) {
    adopt_seed(job);
    if (job.table.present() < job.fan_in && h.op >= job.left_at_op) {
      begin_abort(job, wire::Reason::rank_left);
      return {Verdict::epoch_aborted};
    }
    if (!job.table.open(*e, c, now)) return break_off(job);
    job.table.forget_arrivals(*e);
    e->described = says_more;
    job.table.escalate(*e);
    job.note_escalation(*e, escalation_reason(h), now);
    job.refresh_gauges();
  }
  const bool same = says_more ? e->agrees_with(c.description)
                              : e->description.op == h.op && e->description.chunk == h.chunk;
  if (!same) return request_mismatch_abort(job, *e, c);
  if (says_more && !e->described) e->describe(c);
  // If all of its subtree is here, no data from below can add to it.
  const bool excluded = e->bypassed && job.excludes(c.child, e->description.op);
  if (e->state == ChunkState::open && !excluded && !job.table.has_contributed(*e, c.child))
    flush(job, *e, escalation_reason(h), now, out);
  if (e->state == ChunkState::escalated || (e->state == ChunkState::open && excluded)) {
    if (e->state == ChunkState::escalated && says_more) job.note_late(*e, c.child, now);
    forward(job, packet, 0, out);
    return {Verdict::forwarded};
  }
  return on_repeated(job, *e, c, from, packet, now, out);
}

// The switch above has given the chunk up: the sum from here is with the host, or lost. Data that
// is still here follows it, and ranks below deal with the host from now on.
Decision Shard::on_escalated_above(ShardJob& job, ChunkEntry& e, const wire::Header& h, Instant now,
                                   Outbox& out) {
  if (e.state != ChunkState::open && e.state != ChunkState::sent) return {Verdict::noted};
  const wire::Reason reason = escalation_reason(h);
  if (e.state == ChunkState::open || holds_sum(e)) {
    flush(job, e, reason, now, out);
  } else {
    job.note_escalation(e, reason, now);
    job.table.escalate(e);
  }
  return {Verdict::noted};
}

// The engine here took the sum: the switch above never gets it, and would report it as lost.
void Shard::on_sum_taken(const wire::Header& sum, Instant now) {
  ShardJob* const job = by_id_.find(sum.job);
  ChunkEntry* e = nullptr;
  if (job == nullptr || job->table.find(sum.seq, e) != ChunkTable::Place::seen) return;
  if (e->state != ChunkState::sent || holds_sum(*e)) return;
  job->note_escalation(*e, wire::Reason::deadline, now);
  job->table.escalate(*e);
}

// A sum that went up did not arrive, and none of it is left here: children are asked for their
// data, which goes to the host (rule 7).
void Shard::lose_sum(ShardJob& job, ChunkEntry& e, Instant now, Outbox& out) {
  job.note_escalation(e, wire::Reason::resend, now);
  job.table.escalate(e);
  announce(job, e, wire::Reason::resend, out);
  for (std::uint16_t child = 0; child < job.fan_in; ++child) {
    if (!job.children[child].present) continue;
    // A child that is a switch sends its sum again, or asks those below it in turn.
    if (Outgoing* const o = begin_reply(job, wire::PacketType::unknown, e, out)) {
      o->peer = job.children[child].peer;
      o->header.reason = wire::Reason::resend;
      job.counters.unknown_replies.add();
    }
  }
}

// Tells a switch that waits for the result of its sum.
void Shard::tell_escalated(ShardJob& job, const ChunkEntry& e, const Endpoint& to, Outbox& out) {
  Outgoing* const o = begin_reply(job, wire::PacketType::escalation, e, out);
  if (o == nullptr) return;
  o->peer = to;
  o->header.reason = wire::Reason::resend;
}

Outgoing* Shard::begin_reply(ShardJob& job, wire::PacketType type, const ChunkEntry& e,
                             Outbox& out) {
  Outgoing* const o = job.broken ? nullptr : out.add();
  if (o == nullptr) return nullptr;
  o->header = job.header(type);
  o->header.op = e.description.op;
  o->header.chunk = e.description.chunk;
  o->header.seq = e.seq;
  o->header.shard = index_;
  return o;
}

}  // namespace tributary::aggregator
