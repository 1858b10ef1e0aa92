// What goes to the completion host, and what comes back (rules 5, 7, 8 and 10).
#include <algorithm>
#include <cstring>

#include "aggregator/shard.h"
#include "core/seq.h"
#include "core/wire/rank_bitmap.h"

namespace tributary::aggregator {
namespace {

constexpr std::size_t reason_index(wire::Reason reason) {
  return static_cast<std::size_t>(reason);
}

}  // namespace

// A chunk that never had a slot: the host gets what comes, as it comes.
Decision Shard::escalate_first(ShardJob& job, Tombstone& e, const Contribution& c,
                               wire::Reason reason, const wire::Packet& packet, Instant now,
                               Outbox& out) {
  job.table.open(e, c, now);
  job.table.escalate(e);
  job.counters.escalations[reason_index(reason)].add();
  job.history.escalated(e.description, reason, now);
  announce(job, e, reason, out);
  forward(job, packet, reason == wire::Reason::resend ? wire::kFlagAtPs : wire::kFlagCollision,
          out);
  return {Verdict::forwarded};
}

// Gives up an open chunk: what has arrived goes to the host, with what it covers.
void Shard::flush(ShardJob& job, Tombstone& e, wire::Reason reason, Instant now, Outbox& out) {
  job.counters.escalations[reason_index(reason)].add();
  job.history.escalated(e.description, reason, now);
  send_sum(job, e, reason, out);
  if (job.waits_for_order) send_held(job, e, out);
  free_slot(job, e, now);
  job.deadlines.cancel(e);
  job.table.escalate(e);
  let_go_of_data(job, e);
  job.refresh_gauges();
}

// "This chunk is escalated": covers nothing.
void Shard::announce(ShardJob& job, const Tombstone& e, wire::Reason reason, Outbox& out) {
  Outgoing* const o = begin_aggregate(job, e, out);
  if (o == nullptr) return;
  o->to = Outgoing::To::completion_host;
  o->header.type = wire::PacketType::escalation;
  o->header.reason = reason;
  o->header.dtype = wire::DType::none;
  o->header.element_count = 0;
}

void Shard::forward(ShardJob& job, const wire::Packet& packet, std::uint32_t flags, Outbox& out) {
  Outgoing* const o = out.add();
  if (o == nullptr) return;  // lost like any packet: its rank probes
  o->to = Outgoing::To::completion_host;
  o->header = packet.header;
  o->header.flags |= flags;
  std::copy(packet.extensions.begin(), packet.extensions.end(), o->extensions.begin());
  o->extension_bytes = packet.extensions.size();
  o->payload = packet.payload;
  if (packet.header.type == wire::PacketType::contribution) job.counters.forwarded.add();
  job.counters.bytes_out.add(packet.payload.size());
}

// Header fields that every message about a chunk shares, and extensions that describe it.
Outgoing* Shard::begin_aggregate(ShardJob& job, const Tombstone& e, Outbox& out) {
  Outgoing* const o = out.add();
  if (o == nullptr) return nullptr;
  const ChunkDescription& d = e.description;
  wire::Header& h = o->header;
  h = job.header(wire::PacketType::aggregate);
  h.flags =
      (d.last ? std::uint32_t{wire::kFlagLast} : 0u) |
      (e.overflow ? std::uint32_t{wire::kFlagOverflow} : 0u) |
      (job.config.arithmetic == wire::Arithmetic::modular ? std::uint32_t{wire::kFlagModular} : 0u);
  h.op = d.op;
  h.chunk = d.chunk;
  h.seq = e.seq;
  h.shard = index_;
  h.slot = job.dynamic() ? pool_slot(job, e.seq) : job.first_slot + job.table.slot_of(e);
  h.origin = switch_id_;
  h.dtype = d.dtype;
  h.reduce_op = d.reduce_op;
  h.element_count = d.element_count;
  h.collective = d.collective;
  h.encoding = d.encoding;
  h.scale_exponent = d.scale_exponent;
  wire::ExtensionWriter ext(o->extensions);
  if (d.total_elements != 0)
    ext.add(wire::TaskInformation{d.total_elements, job.config.workers, 0});
  if (d.target != ChunkDescription::kNoTarget) ext.add_target_rank(d.target);
  o->extension_bytes = ext.bytes().size();
  return o;
}

// The sum so far, in what it is accumulated in; in the element's own type where partials are
// narrow. Nothing is in it yet, or rounding it would show in a declared order's bits (T15): an
// announcement, and the host asks for what it needs.
void Shard::send_sum(ShardJob& job, Tombstone& e, wire::Reason reason, Outbox& out) {
  const ChunkDescription& d = e.description;
  const bool in_order = job.waits_for_order && d.dtype != wire::DType::none;
  std::size_t bytes = d.payload_bytes();
  const Kernels* const kernels =
      is_passed_on(d.collective) ? nullptr : job.kernels.find(d.dtype, d.reduce_op);
  const bool rounds = job.config.partials == wire::Partials::narrow && kernels != nullptr &&
                      kernels->acc_bytes != kernels->wire_bytes;
  if (in_order && (e.combined == 0 || (rounds && e.combined < job.fan_in)))
    return announce(job, e, reason, out);
  if (kernels != nullptr && job.config.partials == wire::Partials::wide)
    bytes = std::size_t{d.element_count} * kernels->acc_bytes;
  else if (kernels != nullptr && !kernels->finish_is_identity)
    narrow(job, e, *kernels);
  Outgoing* const o = begin_aggregate(job, e, out);
  if (o == nullptr) return;
  o->to = Outgoing::To::completion_host;
  o->header.type = wire::PacketType::escalation;
  o->header.reason = reason;
  o->header.covered = in_order ? e.combined : e.arrived;
  std::array<std::uint64_t, wire::rank_words(config::kMaxWorkers)> ranks{};
  const auto arrived = job.table.arrived(e);
  if (!in_order) std::copy(arrived.begin(), arrived.end(), ranks.begin());
  for (std::uint16_t p = 0; in_order && p < e.combined; ++p) {
    const std::uint16_t rank = job.order.child_at(p);
    ranks[rank / 64] |= 1ULL << (rank % 64);
  }
  wire::ExtensionWriter ext(std::span(o->extensions).subspan(o->extension_bytes));
  wire::add_rank_bitmaps(ext, std::span(ranks).first(wire::rank_words(job.config.workers)));
  o->extension_bytes += ext.bytes().size();
  if (e.buffer != kNone) o->payload = {job.buffers.at(e.buffer), bytes};
  job.counters.bytes_out.add(o->payload.size());
}

// Rounded here, once: a sum that is sent again is not rounded again.
void Shard::narrow(ShardJob& job, Tombstone& e, const Kernels& kernels) {
  if (e.narrowed || e.buffer == kNone) return;
  e.narrowed = true;
  std::byte* const sum = job.buffers.at(e.buffer);
  if (kernels.finish(sum, sum, e.description.element_count, 1)) e.overflow = true;
}

// Contributions that no sum may contain yet, one by one (T15, rule 11).
void Shard::send_held(ShardJob& job, Tombstone& e, Outbox& out) {
  for (std::uint16_t position = e.combined; position < job.fan_in; ++position) {
    const std::uint32_t buffer = job.held_at(e, position);
    if (buffer == kNone) continue;
    Outgoing* const o = begin_aggregate(job, e, out);
    if (o == nullptr) return;
    o->to = Outgoing::To::completion_host;
    o->header.type = wire::PacketType::contribution;
    // Whose mark of overflow it was is not known any more (rule 12).
    o->header.flags = (o->header.flags & (wire::kFlagLast | wire::kFlagOverflow)) |
                      wire::kFlagBypass | wire::kFlagRaw;
    o->header.covered = 1;
    o->header.origin = o->header.child = job.order.child_at(position);
    o->payload = {job.hold_buffers->at(buffer), e.description.payload_bytes()};
    job.counters.forwarded.add();
    job.counters.bytes_out.add(o->payload.size());
  }
}

// Everything is here, and who verifies it makes the result.
void Shard::send_to_verify(ShardJob& job, Tombstone& e, Instant now, Outbox& out) {
  job.counters.sent_up.add();
  job.history.sent_up(e.description, now);
  resend_to_verify(job, e, out);
  if (job.config.release == config::Release::sent) {
    free_slot(job, e, now);
    job.table.send(e);
    let_go_of_data(job, e);
  } else {
    job.table.send(e);
    ++job.sent_held;
  }
  job.refresh_gauges();
}

void Shard::resend_to_verify(ShardJob& job, Tombstone& e, Outbox& out) {
  send_sum(job, e, wire::Reason::verify, out);
}

void Shard::set_host_term(std::uint32_t place, std::uint32_t term) {
  if (jobs_[place] != nullptr) jobs_[place]->host_term = term;
}

bool Shard::is_with_host(std::uint32_t place, std::uint32_t seq) const {
  if (jobs_[place] == nullptr) return false;
  const ChunkState state = jobs_[place]->table.state_of(seq);
  return state == ChunkState::escalated || state == ChunkState::sent;
}

// Of each chunk that is not finished: that it is escalated, or the sum that was to be verified. Its
// ranks find out by their probes that the new host lacks their data.
std::uint32_t Shard::announce_again(std::uint32_t place, std::uint32_t seq, Outbox& out) {
  settle_buffers();
  ShardJob& job = *jobs_[place];
  const std::uint32_t end = job.table.low() + job.config.window;
  for (; seq_before(seq, end) && out.room() > 1; ++seq) {
    Tombstone* e = nullptr;
    if (job.table.find(seq, e) != ChunkTable::Place::seen) continue;
    if (e->state == ChunkState::escalated) announce(job, *e, wire::Reason::none, out);
    if (e->state == ChunkState::sent && !job.config.parent) chase(job, *e, out);
  }
  return seq;
}

// The host here answers at once: where a sum that went to be verified has brought no result, the
// host had no room for it. What is still here goes again; otherwise all ranks are asked (rule 7).
void Shard::chase(ShardJob& job, Tombstone& e, Outbox& out) {
  if (e.holds_slot) return resend_to_verify(job, e, out);
  job.table.escalate(e);
  job.counters.escalations[reason_index(wire::Reason::resend)].add();
  announce(job, e, wire::Reason::resend, out);
}

bool Shard::on_result(const wire::Packet& packet, Instant now, Outbox& out) {
  settle_buffers();
  const wire::Header& h = packet.header;
  ShardJob* const job = by_id_.find(h.job);
  if (job == nullptr || !job->running || h.epoch != job->epoch) return false;
  if (const auto info = wire::find_result_info(packet.extensions))
    if (info->host_term != job->host_term) return false;
  Tombstone* e = nullptr;
  if (job->table.find(h.seq, e) != ChunkTable::Place::seen) return false;
  // What is complete or released has been decided; what is open here is nobody else's to decide.
  if (e->state != ChunkState::escalated && e->state != ChunkState::sent) return false;
  ChunkDescription& d = e->description;
  const auto attempt = static_cast<std::uint8_t>(e->retried ? wire::kFloatRetry : 0);
  const wire::DType dtype = e->retried ? wire::DType::float32 : d.dtype;
  if (d.op != h.op || d.chunk != h.chunk || dtype != h.dtype || attempt != h.attempt ||
      d.element_count != h.element_count || packet.payload.size() != d.payload_bytes())
    return false;
  if (e->retried) d = as_float(d);
  free_slot(*job, *e, now);
  let_go_of_data(*job, *e);
  if (!packet.payload.empty()) {
    e->buffer = job->buffers.take();
    std::memcpy(job->buffers.at(e->buffer), packet.payload.data(), packet.payload.size());
  }
  e->overflow = (h.flags & wire::kFlagOverflow) != 0;
  e->verified = (h.flags & wire::kFlagVerified) != 0;
  job->table.complete(*e);
  job->history.made(d, MadeBy::completion_engine, now);
  job->counters.host_results.add();
  job->refresh_gauges();
  multicast_result(*job, *e, out);
  return true;
}

}  // namespace tributary::aggregator
