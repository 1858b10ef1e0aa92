// Control packets of the engine: JOIN, LEAVE and the answers to them (protocol rule 1).
#include "aggregator/engine_impl.h"

namespace tributary::aggregator {

Decision Engine::Impl::on_join(Job& job, const wire::Packet& packet, const Peer& from, Instant now,
                               Outbox& out) {
  const wire::Header& h = packet.header;
  const auto nonce = wire::find_nonce(packet.extensions);
  if (!nonce) return {Verdict::dropped, DropReason::bad_extension};
  if (h.origin >= job.config.workers)
    return refuse(packet, from, wire::Reason::bad_rank, DropReason::bad_child, &job, out);
  if (h.fan_in != job.config.workers)
    return refuse(packet, from, wire::Reason::job_size_mismatch, DropReason::bad_child, &job, out);

  collect_last_heard(job, h.origin);
  Membership::Join outcome = job.membership.join(h.origin, *nonce, from, now);
  bool restarted = false;
  if (outcome == Membership::Join::restarted) {
    restarted = true;
    job.last_abort.has_error = false;
    job.last_abort.chunk = {};
    job.last_abort.missing.assign(1, h.origin);
    job.counters.aborts_restart.add();
    abort_epoch(job, wire::Reason::rank_restarted, out);
    outcome = job.membership.join(h.origin, *nonce, from, now);
  }
  const Verdict said = restarted ? Verdict::epoch_aborted : Verdict::answered;
  switch (outcome) {
    case Membership::Join::complete:
      start_epoch(job, now);
      for (std::uint32_t rank = 0; rank < job.config.workers; ++rank) send_start(job, rank, out);
      break;
    case Membership::Join::repeated:
      for (const auto& shard : shards) shard->bind(job.place, h.origin, from);
      send_start(job, h.origin, out);
      break;
    case Membership::Join::waiting:
    case Membership::Join::closing: send_join_pending(job, *nonce, from, out); break;
    case Membership::Join::stale: return {Verdict::dropped, DropReason::duplicate};
    case Membership::Join::occupied:
    case Membership::Join::wrong_port:
    case Membership::Join::restarted:
      return refuse(packet, from, wire::Reason::sender_mismatch, DropReason::sender_mismatch, &job,
                    out);
  }
  job.counters.joins.add();
  return {said};
}

void Engine::Impl::start_epoch(Job& job, Instant now) {
  job.start_epoch(next_epoch, now);
  if (++next_epoch == 0) next_epoch = 1;
  std::vector<Peer>& peers = scratch_peers;
  peers.resize(job.config.workers);
  for (std::uint32_t rank = 0; rank < job.config.workers; ++rank)
    peers[rank] = job.membership.member(rank).peer;
  for (const auto& shard : shards)
    shard->start_epoch(job.place, job.membership.epoch(), first_seq, peers, now);
  job.counters.members.set(job.membership.present());
}

Decision Engine::Impl::on_leave(Job& job, const wire::Packet& packet, const Peer& from, Instant now,
                                Outbox& out) {
  const wire::Header& h = packet.header;
  if (h.origin >= job.config.workers)
    return refuse(packet, from, wire::Reason::bad_rank, DropReason::bad_child, &job, out);
  Membership& membership = job.membership;
  const Member& m = membership.member(h.origin);
  if (m.peer != from || (h.epoch != membership.epoch() && !m.joined))
    return {Verdict::dropped, DropReason::not_joined};

  Verdict said = Verdict::answered;
  if (m.present && h.epoch == membership.epoch()) {
    bool needed = false;
    membership.is_present(h.origin, from, now);
    membership.leave(h.origin);
    for (const auto& shard : shards)
      needed = shard->forget_child(job.place, static_cast<std::uint16_t>(h.origin)) || needed;
    if (needed && membership.present() > 0) {
      abort_missing_departed(job, wire::Reason::rank_left, out);
      said = Verdict::epoch_aborted;
    } else if (membership.present() == 0) {
      clear_shards(job);
    }
    job.counters.members.set(membership.present());
  } else if (m.joined) {
    membership.leave(h.origin);
  }
  if (Outgoing* o = out.add()) {
    o->peer = from;
    o->header = job.header(wire::PacketType::ack);
    o->header.epoch = h.epoch;
  }
  return {said};
}

// A rank that left can contribute to nothing any more.
void Engine::Impl::abort_missing_departed(Job& job, wire::Reason reason, Outbox& out) {
  const std::size_t n = job.membership.departed(scratch_ids);
  job.last_abort.has_error = false;
  job.last_abort.chunk = {};
  job.last_abort.missing.assign(scratch_ids.begin(), scratch_ids.begin() + static_cast<long>(n));
  job.counters.aborts_left.add();
  abort_epoch(job, reason, out);
}

void Engine::Impl::send_start(Job& job, std::uint32_t rank, Outbox& out) {
  Outgoing* o = out.add();
  if (o == nullptr) return;
  const Member& m = job.membership.member(rank);
  o->peer = m.peer;
  o->header = job.header(wire::PacketType::start);
  o->header.seq = first_seq;
  o->header.origin = rank;
  o->header.child = static_cast<std::uint16_t>(rank);
  wire::ExtensionWriter ext(o->extensions);
  ext.add_nonce(m.nonce);
  wire::StartInfo info;
  info.window = job.config.window;
  info.chunk_bytes = job.config.chunk_bytes;
  info.workers = job.config.workers;
  info.lease_ms = static_cast<std::uint32_t>(job.config.lease.to_ns() / 1'000'000);
  info.group_ipv4 = config::job_group_ipv4(job.config.id);
  info.shards = job.config.shards;
  info.integrity = static_cast<std::uint8_t>(job.config.integrity);
  info.udp_base_port = udp_base_port;
  info.partials = static_cast<std::uint8_t>(job.config.partials);
  info.order = static_cast<std::uint8_t>(job.config.order);
  info.arithmetic = static_cast<std::uint8_t>(job.config.arithmetic);
  ext.add(info);
  o->extension_bytes = ext.bytes().size();
}

void Engine::Impl::send_join_pending(Job& job, std::uint64_t nonce, const Peer& to, Outbox& out) {
  Outgoing* o = out.add();
  if (o == nullptr) return;
  o->peer = to;
  o->header = job.header(wire::PacketType::pending);
  o->header.epoch = 0;
  wire::ExtensionWriter ext(o->extensions);
  ext.add_nonce(nonce);
  const std::size_t n = job.membership.awaited(scratch_ids);
  ext.add_missing_ids(std::span(scratch_ids).first(n));
  o->extension_bytes = ext.bytes().size();
  job.counters.pending_replies.add();
}

}  // namespace tributary::aggregator
