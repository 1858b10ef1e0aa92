// Traffic to the completion host, and its answers (rules 5, 7, 8 and 10).
#include <algorithm>
#include <bit>
#include <cstring>

#include "aggregator/shard/shard.h"
#include "core/seq.h"
#include "core/wire/pass_on.h"
#include "core/wire/rank_bitmap.h"

namespace tributary::aggregator {
namespace {

bool no_child_arrived(std::span<const std::uint64_t> children) {
  return std::all_of(children.begin(), children.end(), [](std::uint64_t w) { return w == 0; });
}

constexpr std::uint32_t flag_for(wire::Reason reason) {
  switch (reason) {
    case wire::Reason::resend: return wire::kFlagAtPs;
    case wire::Reason::excluded: return wire::kFlagExcluded;
    default: return wire::kFlagCollision;
  }
}

}  // namespace

// A chunk that never had a slot: the host gets its data one by one, as it comes.
Decision Shard::escalate_first(ShardJob& job, ChunkEntry& e, const Contribution& c,
                               wire::Reason reason, const wire::Packet& packet, Instant now,
                               Outbox& out) {
  if (!job.table.open(e, c, now)) return break_off(job);
  const bool no_slot = reason == wire::Reason::no_slot || reason == wire::Reason::collision;
  if (no_slot && pool_.crowded_by(job.place)) mark_for_slots(job, e);
  job.table.escalate(e);
  job.next_op = std::max(job.next_op, c.description.op + 1);
  job.note_escalation(e, reason, now);
  announce(job, e, reason, out);
  // The announcement may be lost for good; the host asks for the data again.
  const std::uint32_t mark = e.congested ? std::uint32_t{wire::kFlagCe} : 0u;
  forward(job, packet, flag_for(reason) | mark, out);
  return {Verdict::forwarded};
}

// Gives up a chunk: the data that has arrived goes to the host, with its coverage.
void Shard::flush(ShardJob& job, ChunkEntry& e, wire::Reason reason, Instant now, Outbox& out) {
  sums_.settle();
  job.note_escalation(e, reason, now);
  send_sum(job, e, reason, out);
  if (job.waits_for_order) send_held(job, e, reason, out);
  free_slot(job, e, now);
  job.deadlines.cancel(e);
  job.table.escalate(e);
  sums_.release(job, e);
  job.refresh_gauges();
}

// To the completion engine: directly if this is the job's root, otherwise via the switch above.
void Shard::address_host(const ShardJob& job, Outgoing& o) {
  o.to = Outgoing::To::completion_host;
  if (job.config.parent) address_parent(job, o);
}

Outgoing* Shard::begin_escalation(ShardJob& job, const ChunkEntry& e, wire::Reason reason,
                                  Outbox& out) {
  Outgoing* const o = begin_aggregate(job, e, out);
  if (o == nullptr) return nullptr;
  address_host(job, *o);
  o->header.type = wire::PacketType::escalation;
  o->header.reason = reason;
  return o;
}

// The message "this chunk is escalated": covers no ranks.
void Shard::make_announcement(Outgoing& o) {
  o.header.dtype = wire::DType::none;
  o.header.element_count = 0;
  o.header.covered = 0;
  o.payload = {};
}

void Shard::announce(ShardJob& job, const ChunkEntry& e, wire::Reason reason, Outbox& out) {
  if (Outgoing* const o = begin_escalation(job, e, reason, out)) make_announcement(*o);
}

// Writes whose data it is. A set that does not fit is not cut short: then the message only says
// that the chunk is escalated, and the host asks the ranks.
void Shard::set_coverage(ShardJob& job, Outgoing& o) {
  std::uint32_t covered = 0;
  for (const std::uint64_t word : coverage_)
    covered += static_cast<std::uint32_t>(std::popcount(word));
  wire::ExtensionWriter ext(std::span(o.extensions).subspan(o.extension_bytes));
  const auto ranks = std::span(coverage_).first(wire::rank_words(job.workers()));
  if (!wire::add_rank_bitmaps(ext, ranks)) return make_announcement(o);
  o.extension_bytes += ext.bytes().size();
  o.header.covered = covered;
}

void Shard::cover_child(ShardJob& job, std::uint16_t child, Outgoing& o) {
  std::fill(coverage_.begin(), coverage_.end(), 0);
  job.child_map.add_ranks(child, coverage_);
  set_coverage(job, o);
}

// Data goes on unchanged; a sum states whose data is in it.
void Shard::forward(ShardJob& job, const wire::Packet& packet, std::uint32_t flags, Outbox& out) {
  Outgoing* const o = out.add();
  if (o == nullptr) return;  // lost like any packet: its rank probes
  const wire::PacketType type = packet.header.type;
  const std::uint16_t child = packet.header.child;
  o->header = packet.header;
  o->header.flags = carried_flags(job, packet) | flags;
  o->payload = packet.payload;
  wire::ExtensionWriter ext(o->extensions);
  wire::add_passed_on(ext, packet.extensions);
  o->extension_bytes = ext.bytes().size();
  address_host(job, *o);
  if (type == wire::PacketType::aggregate) {
    o->header.type = wire::PacketType::escalation;
    cover_child(job, child, *o);
  }
  if (o->header.type == wire::PacketType::escalation)
    o->header.origin = switch_id_;
  else if (job.config.parent)
    o->header.flags |= wire::kFlagBypass;
  if (type != wire::PacketType::probe) job.counters.forwarded.add();
  job.counters.bytes_out.add(o->payload.size());
}

// Writes the header fields that all messages about a chunk share, and its describing extensions.
Outgoing* Shard::begin_aggregate(ShardJob& job, const ChunkEntry& e, Outbox& out) {
  Outgoing* const o = out.add();
  if (o == nullptr) return nullptr;
  const ChunkDescription& d = e.description;
  wire::Header& h = o->header;
  h = job.header(wire::PacketType::aggregate);
  h.flags =
      (d.last ? std::uint32_t{wire::kFlagLast} : 0u) |
      (e.overflow ? std::uint32_t{wire::kFlagOverflow} : 0u) |
      (e.congested ? std::uint32_t{wire::kFlagCe} : 0u) |
      (job.config.arithmetic == wire::Arithmetic::modular ? std::uint32_t{wire::kFlagModular} : 0u);
  h.op = d.op;
  h.chunk = d.chunk;
  h.seq = e.seq;
  h.shard = index_;
  h.slot = slot_of(job, e);
  h.origin = switch_id_;
  h.dtype = d.dtype;
  h.reduce_op = d.reduce_op;
  h.element_count = d.element_count;
  h.collective = d.collective;
  h.encoding = d.encoding;
  h.scale_exponent = d.scale_exponent;
  wire::ExtensionWriter ext(o->extensions);
  if (d.total_elements != 0) ext.add(wire::TaskInformation{d.total_elements, job.workers(), 0});
  if (d.target != ChunkDescription::kNoTarget) ext.add_target_rank(d.target);
  o->extension_bytes = ext.bytes().size();
  return o;
}

// Bytes of a sum as it leaves the switch: in the accumulator's type, or in the element's own type
// where partials are narrow.
std::size_t Shard::partial_bytes(const ShardJob& job, const ChunkDescription& d) {
  const Kernels* const kernels = job.kernels_of(d);
  if (kernels == nullptr || job.config.partials == wire::Partials::narrow) return d.payload_bytes();
  return std::size_t{d.element_count} * kernels->acc_bytes;
}

// The sum in that form. A narrow one is rounded here, once: when it is sent again, it is not
// rounded again.
std::span<const std::byte> Shard::partial_sum(ShardJob& job, ChunkEntry& e) {
  const ChunkDescription& d = e.description;
  if (e.buffer == kNone) return {};
  std::byte* const sum = job.buffers.at(e.buffer);
  if (job.config.partials == wire::Partials::narrow && !e.narrowed) {
    const Kernels* const kernels = job.kernels_of(d);
    e.narrowed = true;
    if (kernels != nullptr && !kernels->finish_is_identity &&
        kernels->finish(sum, sum, d.element_count, 1))
      e.overflow = true;
  }
  return {sum, partial_bytes(job, d)};
}

// Sends the sum so far. If it is empty, or rounding would change a declared order's bits (T15),
// sends an announcement instead, and the host asks for the data that it needs.
void Shard::send_sum(ShardJob& job, ChunkEntry& e, wire::Reason reason, Outbox& out) {
  // The chunk was opened by data that is for no sum here.
  if (e.bypassed && no_child_arrived(job.table.arrived(e))) return announce(job, e, reason, out);
  const ChunkDescription& d = e.description;
  const bool in_order = job.waits_for_order && has_elements(d);
  const Kernels* const kernels = job.kernels_of(d);
  const bool rounds = job.config.partials == wire::Partials::narrow && kernels != nullptr &&
                      kernels->acc_bytes != kernels->wire_bytes;
  if (in_order && (e.combined == 0 || (rounds && e.combined < job.fan_in)))
    return announce(job, e, reason, out);
  const std::span<const std::byte> sum = partial_sum(job, e);
  Outgoing* const o = begin_escalation(job, e, reason, out);
  if (o == nullptr) return;
  o->payload = sum;
  std::fill(coverage_.begin(), coverage_.end(), 0);
  for (std::uint16_t p = 0; in_order && p < e.combined; ++p)
    job.child_map.add_ranks(job.order.child_at(p), coverage_);
  for (std::uint16_t child = 0; !in_order && child < job.fan_in; ++child)
    if (job.table.has_contributed(e, child)) job.child_map.add_ranks(child, coverage_);
  set_coverage(job, *o);
  job.counters.bytes_out.add(o->payload.size());
}

// Sends data that no sum may contain yet, one by one (T15, rule 11): contributions, and subtrees.
void Shard::send_held(ShardJob& job, ChunkEntry& e, wire::Reason reason, Outbox& out) {
  for (std::uint16_t position = e.combined; position < job.fan_in; ++position) {
    const std::uint32_t buffer = job.held_at(e, position);
    if (buffer == kNone) continue;
    const std::uint16_t child = job.order.child_at(position);
    Outgoing* const o = begin_escalation(job, e, reason, out);
    if (o == nullptr) return;
    const std::byte* const held = job.hold_buffers->at(buffer);
    if (job.child_map[child].is_switch) {
      o->payload = {held, partial_bytes(job, e.description)};
      cover_child(job, child, *o);
    } else {
      o->header.type = wire::PacketType::contribution;
      o->header.reason = wire::Reason::none;
      // It is not known any more whose mark of overflow it was (rule 12).
      o->header.flags =
          (o->header.flags & (wire::kFlagLast | wire::kFlagOverflow | wire::kFlagCe)) |
          wire::kFlagBypass | wire::kFlagRaw;
      o->header.covered = 1;
      o->header.origin = job.child_map[child].id;
      if (!job.config.parent) o->header.child = child;
      o->payload = {held, e.description.payload_bytes()};
    }
    job.counters.forwarded.add();
    job.counters.bytes_out.add(o->payload.size());
  }
}

// All data is here, and the node that verifies it makes the result.
void Shard::send_to_verify(ShardJob& job, ChunkEntry& e, Instant now, Outbox& out) {
  job.counters.sent_up.add();
  job.note(e, OpEventKind::sent_up, now);
  send_sum(job, e, wire::Reason::verify, out);
  leave_sent(job, e, now);
}

// The sum was sent; its slot is free at once, or when the result is here (O9). Data that is only
// passed on has no slot, and is kept.
void Shard::leave_sent(ShardJob& job, ChunkEntry& e, Instant now) {
  const bool summed = !is_passed_on(e.description);
  if (summed && job.config.release == config::Release::sent) {
    free_slot(job, e, now);
    job.table.send(e);
    sums_.release(job, e);
  } else {
    job.table.send(e);
    if (e.holds_slot) ++job.sent_held;
  }
  job.refresh_gauges();
}

void Shard::set_host_term(std::uint32_t place, std::uint32_t term) {
  if (jobs_[place] != nullptr) jobs_[place]->host_term = term;
}

bool Shard::is_with_host(std::uint32_t place, std::uint32_t seq) const {
  if (jobs_[place] == nullptr) return false;
  const ChunkEntry& e = jobs_[place]->table.entry_for(seq);
  if (e.seq != seq) return false;
  return e.state == ChunkState::escalated || e.state == ChunkState::sent ||
         (e.state == ChunkState::open && e.bypassed);  // excluded children's data is there already
}

// Announces each unfinished chunk: that it is escalated, or the sum that was to be verified. By
// their probes the ranks find out that the new host lacks their data.
std::uint32_t Shard::announce_again(std::uint32_t place, std::uint32_t seq, Outbox& out) {
  sums_.reclaim_heard();
  ShardJob& job = *jobs_[place];
  const std::uint32_t end = job.table.low() + job.config.window;
  for (; seq_before(seq, end) && out.room() > 1; ++seq) {
    ChunkEntry* e = nullptr;
    if (job.table.find(seq, e) != ChunkTable::Place::seen) continue;
    if (e->state == ChunkState::escalated) announce(job, *e, wire::Reason::none, out);
    if (e->state == ChunkState::sent && !job.config.parent) chase(job, *e, out);
  }
  return seq;
}

// The host here answers at once: if a sum that went to be verified has brought no result, the host
// had no room for it. A sum that is still here goes again; otherwise all ranks are asked (rule 7).
void Shard::chase(ShardJob& job, ChunkEntry& e, Outbox& out) {
  if (e.holds_slot) return send_sum(job, e, wire::Reason::verify, out);
  job.table.escalate(e);
  job.count_escalation(wire::Reason::resend);
  announce(job, e, wire::Reason::resend, out);
}

bool Shard::on_result(const wire::Packet& packet, Instant now, Outbox& out) {
  sums_.reclaim_heard();
  const wire::Header& h = packet.header;
  ShardJob* const job = by_id_.find(h.job);
  if (job == nullptr || !job->running || h.epoch != job->epoch) return false;
  if (const auto info = wire::find_result_info(packet.extensions))
    if (info->host_term != job->host_term) return false;
  ChunkEntry* e = nullptr;
  if (job->table.find(h.seq, e) != ChunkTable::Place::seen) return false;
  // A complete or released chunk is decided; an open one is decided here alone.
  if (e->state != ChunkState::escalated && e->state != ChunkState::sent) return false;
  if (!e->described) return false;
  ChunkDescription& d = e->description;
  const auto attempt = static_cast<std::uint8_t>(e->retried ? wire::kFloatRetry : 0);
  const wire::DType dtype = e->retried ? wire::DType::float32 : d.dtype;
  if (d.op != h.op || d.chunk != h.chunk || dtype != h.dtype || attempt != h.attempt ||
      d.element_count != h.element_count || packet.payload.size() != d.payload_bytes() ||
      !is_result_of(d.collective, h) || !takes_count(*job, d, packet))
    return false;
  if (e->retried) d = as_float(d);
  free_slot(*job, *e, now);
  sums_.release(*job, *e);
  if (!packet.payload.empty()) {
    e->buffer = job->buffers.take();
    if (e->buffer == kNone) {
      break_off(*job);
      return false;
    }
    std::memcpy(job->buffers.at(e->buffer), packet.payload.data(), packet.payload.size());
  }
  e->overflow = (h.flags & wire::kFlagOverflow) != 0;
  e->verified = (h.flags & wire::kFlagVerified) != 0;
  take_mark(*job, *e, packet);
  note_left_out(*job, *e, packet, now);
  job->table.complete(*e);
  job->note(*e, OpEventKind::made_by_completion, now);
  job->counters.host_results.add();
  job->refresh_gauges();
  multicast_result(*job, *e, out);
  return true;
}

}  // namespace tributary::aggregator
