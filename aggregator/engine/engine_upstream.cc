// The engine's side towards the switch above: handles its packets, and sends to it (protocol,
// "Trees"). Upstream holds the membership; the shard handles chunks.
#include <algorithm>

#include "aggregator/engine/engine_impl.h"

namespace tributary::aggregator {
namespace {

// The reasons for which a switch below may end an epoch.
bool may_abort_for(wire::Reason reason) {
  switch (reason) {
    case wire::Reason::deadline:
    case wire::Reason::lease_expired:
    case wire::Reason::rank_left:
    case wire::Reason::rank_restarted:
    case wire::Reason::op_mismatch:
    case wire::Reason::settings_mismatch:
    case wire::Reason::shutdown:
    case wire::Reason::parent_lost:
    case wire::Reason::host_lost:
    case wire::Reason::model_lost:
    case wire::Reason::model_mismatch:
    case wire::Reason::configuration_changed:
    case wire::Reason::broken_invariant: return true;
    default: return false;
  }
}

// After a drain the ranks below go on in the next epoch; otherwise they have left for good.
void write_leave(const Job& job, Outgoing& message) {
  message.header.op = job.left_at_op;
  const Drain& drain = job.drain;
  if (drain.phase != Drain::Phase::ending || drain.quit) return;
  wire::ExtensionWriter extensions(message.extensions);
  wire::add_drain(extensions, {wire::DrainStep::resume, drain.id, drain.op});
  message.extension_bytes = extensions.bytes().size();
}

}  // namespace

// RESULT, PENDING, UNKNOWN, START, NACK, ABORT: only the switch above may send them, except ABORT
// of a switch below, and PENDING of one whose ranks have not all joined. ACK from above is an
// answer to LEASE or LEAVE.
Decision Engine::Impl::on_downward(const wire::Packet& packet, const Endpoint& from, Instant now,
                                   Outbox& out) {
  using wire::PacketType;
  const wire::Header& h = packet.header;
  Job* const job = job_index.find(h.job);
  // No NACK: two switches would answer each other's NACKs for ever.
  if (job == nullptr) return {Verdict::dropped, DropReason::unknown_job};
  if (!job->upstream || !job->upstream->is_from(from)) {
    if (h.type == PacketType::abort) return on_child_abort(*job, packet, from, now, out);
    if (h.type == PacketType::pending && h.epoch == 0 && !job->config.children.empty())
      return on_child_forming(*job, packet, from, now, out);
    return {Verdict::dropped, job->upstream ? DropReason::sender_mismatch : DropReason::bad_type};
  }
  switch (h.type) {
    case PacketType::start: return on_parent_start(*job, packet, now, out);
    case PacketType::nack: return on_parent_nack(*job, packet, now, out);
    case PacketType::abort: return on_parent_abort(*job, packet, out);
    case PacketType::pending:
      if (h.epoch == 0) return on_parent_pending(*job, packet);
      break;
    default: break;
  }
  Upstream& up = *job->upstream;
  if (up.state() == Upstream::State::leaving && h.epoch == up.epoch() &&
      h.type == PacketType::ack) {
    up.end();
    return {Verdict::noted};
  }
  if (up.state() != Upstream::State::running || h.epoch != up.epoch())
    return {Verdict::dropped, DropReason::stale_epoch};
  up.heard(now);
  if (h.type == PacketType::ack) return {Verdict::noted};
  Shard* const shard = h.shard < job->config.shards ? shard_at(h.shard) : nullptr;
  if (shard == nullptr) return {Verdict::dropped, DropReason::bad_shard};
  const Decision decision = shard->on_parent(packet, now, out);
  if (decision.verdict == Verdict::epoch_aborted) abort_for(*shard, out);
  const bool for_a_rank = (h.flags & wire::kFlagBypass) != 0 &&
                          (h.type == PacketType::pending || h.type == PacketType::unknown);
  if (for_a_rank && decision.verdict == Verdict::noted)
    return {relay(*job, packet, out) ? Verdict::answered : Verdict::noted};
  return decision;
}

Decision Engine::Impl::on_parent_start(Job& job, const wire::Packet& packet, Instant now,
                                       Outbox& out) {
  const wire::Header& h = packet.header;
  Upstream& up = *job.upstream;
  const auto info = wire::find_start_info(packet.extensions);
  if (!info || h.epoch == 0) return {Verdict::dropped, DropReason::bad_extension};
  if (wire::find_nonce(packet.extensions) != up.nonce())
    return {Verdict::dropped, DropReason::stale_epoch};
  if (up.state() == Upstream::State::running && h.epoch == up.epoch()) {
    // The switch above asks whether this one lives.
    send_up(job, wire::PacketType::lease, up.epoch(), out);
    return {Verdict::answered};
  }
  if (up.state() != Upstream::State::joining) return {Verdict::dropped, DropReason::stale_epoch};
  // START comes again after the next JOIN.
  if (!all_here(job)) return {Verdict::dropped, DropReason::bad_shard};
  up.start(h.epoch, now);
  job.completion_host = info->completion_host;  // the root's choice
  job.host_term = info->host_term;
  job.host_udp_port = static_cast<std::uint16_t>(h.slot);
  const wire::StartInfo own = start_info(job);
  const bool degrades = (h.flags & wire::kFlagDegraded) != 0;
  if (*info != own || degrades != config::degrades(job.config)) {
    up.refused({.why = wire::Reason::settings_mismatch}, now);
    set_cause(job, switch_id);
    give_back(job, wire::Reason::settings_mismatch, out);
    return {Verdict::answered};
  }
  if (!job.membership.all_joined(now)) {
    // A child has left since then, or stands still.
    const std::size_t awaited = job.membership.awaited(scratch_ids, now);
    const bool left = std::any_of(scratch_ids.begin(), scratch_ids.begin() + awaited,
                                  [&](auto child) { return job.membership.member(child).left; });
    set_cause(job, 0);
    list_ranks(job, awaited);
    give_back(job, left ? wire::Reason::rank_left : wire::Reason::lease_expired, out);
    return {Verdict::answered};
  }
  begin_epoch(job, h.epoch, h.seq, now, out);
  return {Verdict::answered};
}

// An epoch cannot begin here: tells the parent, which need not wait. job.last_abort says why.
void Engine::Impl::give_back(Job& job, wire::Reason why, Outbox& out) {
  job.last_abort.reason = why;
  job.last_abort.epoch = job.upstream->epoch();
  send_farewell(job, out);
}

Decision Engine::Impl::on_parent_pending(Job& job, const wire::Packet& packet) {
  if (job.upstream->state() != Upstream::State::joining ||
      wire::find_nonce(packet.extensions) != job.upstream->nonce())
    return {Verdict::dropped, DropReason::stale_epoch};
  const std::size_t n = wire::find_missing_ids(packet.extensions, scratch_ids);
  job.upstream->pending(std::span(scratch_ids).first(std::min(n, scratch_ids.size())));
  return {Verdict::noted};
}

// A switch below names the ranks that it waits for.
Decision Engine::Impl::on_child_forming(Job& job, const wire::Packet& packet, const Endpoint& from,
                                        Instant now, Outbox& out) {
  if (packet.header.plane != job.config.plane) return {Verdict::dropped, DropReason::bad_shard};
  const auto child = job.child_map.joining(packet.header);
  if (!child || !job.child_map[*child].is_switch) return {Verdict::dropped, DropReason::bad_type};
  if (from.node() != node_of_ipv4(job.child_map[*child].ipv4) ||
      !job.membership.may_be_at(*child, from.port()))
    return {Verdict::dropped, DropReason::sender_mismatch};
  if (job.membership.state() == JobState::running)
    return {Verdict::dropped, DropReason::stale_epoch};
  const std::size_t n = wire::find_missing_ids(packet.extensions, scratch_ids);
  if (!job.forming.told(*child, std::span(scratch_ids).first(std::min(n, scratch_ids.size())), now))
    return {Verdict::dropped, DropReason::bad_coverage};
  say_forming(job, awaited_below(job, now), now, out);
  return {Verdict::noted};
}

// For a JOIN: the parent refuses this switch. Otherwise the parent does not know the epoch that
// runs here: it was restarted, or has removed this switch.
Decision Engine::Impl::on_parent_nack(Job& job, const wire::Packet& packet, Instant now,
                                      Outbox& out) {
  const wire::Header& h = packet.header;
  Upstream& up = *job.upstream;
  if (h.epoch == 0 && up.state() == Upstream::State::joining &&
      wire::find_nonce(packet.extensions) == up.nonce()) {
    if (h.reason != wire::Reason::sender_mismatch) up.refused(read_refusal(h), now);
    return {Verdict::noted};
  }
  if (h.epoch == 0 || h.epoch != up.epoch() || up.state() == Upstream::State::down ||
      up.state() == Upstream::State::joining)
    return {Verdict::dropped, DropReason::stale_epoch};
  // Our packet's source was damaged on the way: no checksum covers all of it. If the parent really
  // has another switch in our place, it does not answer us, and that is noticed by its silence.
  if (h.reason == wire::Reason::sender_mismatch) return {Verdict::noted};
  const bool running = up.state() == Upstream::State::running;
  up.end();
  if (!running) return {Verdict::noted};
  abort_parent_lost(job, out);
  return {Verdict::epoch_aborted};
}

Decision Engine::Impl::on_parent_abort(Job& job, const wire::Packet& packet, Outbox& out) {
  const wire::Header& h = packet.header;
  Upstream& up = *job.upstream;
  if (h.epoch == 0 || h.epoch != up.epoch() || up.state() == Upstream::State::down ||
      up.state() == Upstream::State::joining)
    return {Verdict::dropped, DropReason::stale_epoch};
  const bool running = up.state() == Upstream::State::running;
  up.end();
  if (!running) return {Verdict::noted};
  adopt_cause(job, packet, packet.header.slot);
  job.counters.aborts_above.add();
  abort_epoch(job, h.reason, out);
  return {Verdict::epoch_aborted};
}

Decision Engine::Impl::on_child_abort(Job& job, const wire::Packet& packet, const Endpoint& from,
                                      Instant now, Outbox& out) {
  // An ABORT that goes down names no switch. Its sender is not above this switch any more; the two
  // would answer each other for ever.
  if (job.config.children.empty() || packet.header.origin == 0)
    return {Verdict::dropped, DropReason::bad_type};
  if (const Decision d = check_member(job, packet, from, now, out); d.verdict != Verdict::noted)
    return d;
  if (!job.child_map[packet.header.child].is_switch || !may_abort_for(packet.header.reason))
    return {Verdict::dropped, DropReason::bad_type};
  adopt_cause(job, packet, packet.header.slot);
  job.counters.aborts_below.add();
  abort_epoch(job, packet.header.reason, out);
  return {Verdict::epoch_aborted};
}

// Takes over another node's cause of an abort, as far as it can be true.
void Engine::Impl::adopt_cause(Job& job, const wire::Packet& packet, std::uint32_t lost_switch) {
  const wire::Header& h = packet.header;
  AbortCause& cause = job.last_abort;
  cause.lost_switch = lost_switch;
  cause.chunk = {};
  cause.chunk.op = h.op;
  cause.chunk.chunk = h.chunk;
  cause.chunk.seq = h.seq;
  cause.chunk.shard = h.shard;
  const auto error = wire::find_op_error(packet.extensions);
  cause.has_error = error.has_value();
  if (error) cause.error = *error;
  const std::size_t n = wire::find_missing_ids(packet.extensions, scratch_ids);
  cause.missing.clear();
  for (const std::uint32_t id : std::span(scratch_ids).first(std::min(n, scratch_ids.size())))
    if (id < job.config.workers) cause.missing.push_back(id);
}

bool Engine::Impl::is_from_parent(std::uint32_t id, const Endpoint& from) {
  const Job* const job = job_index.find(id);
  return job != nullptr && job->upstream && job->upstream->is_from(from);
}

void Engine::Impl::abort_parent_lost(Job& job, Outbox& out) {
  set_cause(job, job.upstream->parent_id());
  job.counters.aborts_parent.add();
  abort_epoch(job, wire::Reason::parent_lost, out);
}

void Engine::Impl::expire_upstream(Job& job, Instant now, Outbox& out) {
  Upstream& up = *job.upstream;
  for (const auto& shard : all_shards)
    if (const auto when = shard->parent_heard(job.place)) up.heard(*when);
  switch (up.due(now)) {
    case Upstream::Due::nothing: return;
    case Upstream::Due::lease: send_up(job, wire::PacketType::lease, up.epoch(), out); return;
    case Upstream::Due::leave: send_leave_up(job, out); return;
    case Upstream::Due::abort: send_abort_up(job, out); return;
    case Upstream::Due::parent_lost: return abort_parent_lost(job, out);
  }
}

void Engine::Impl::send_leave_up(const Job& job, Outbox& out) {
  if (Outgoing* o = send_up(job, wire::PacketType::leave, job.upstream->epoch(), out))
    write_leave(job, *o);
}

void Engine::Impl::join_parent(Job& job, Instant now, Outbox& out) {
  Upstream& up = *job.upstream;
  const wire::Resumption& r = job.drain.forming;
  if (!up.join(now, r)) return;
  Outgoing* o = send_up(job, wire::PacketType::join, 0, out);
  if (o == nullptr) return;
  const auto step = r.resumes() ? wire::DrainStep::resume : wire::DrainStep::able;
  write_join(job, *o, {step, r.id, r.op, r.resumes() ? settings_digest(job) : 0});
}

// The epoch ended here, for job.last_abort: tells the switch above, unless that sent ABORT.
void Engine::Impl::send_farewell(Job& job, Outbox& out) {
  if (!job.upstream || job.upstream->state() != Upstream::State::running) return;
  job.upstream->abort();
  send_abort_up(job, out);
}

void Engine::Impl::send_abort_up(Job& job, Outbox& out) {
  if (Outgoing* o = send_up(job, wire::PacketType::abort, job.upstream->epoch(), out))
    write_cause(job.last_abort, *o);
}

Outgoing* Engine::Impl::send_up(const Job& job, wire::PacketType type, std::uint16_t epoch,
                                Outbox& out) {
  Outgoing* o = out.add();
  if (o == nullptr) return nullptr;
  o->to = Outgoing::To::parent;
  o->header.type = type;
  o->header.job = job.config.id;
  o->header.epoch = epoch;
  o->header.origin = switch_id;
  o->header.child = job.upstream->child();
  o->header.fan_in = job.upstream->fan_in();
  o->header.plane = job.config.plane;
  return o;
}

}  // namespace tributary::aggregator
