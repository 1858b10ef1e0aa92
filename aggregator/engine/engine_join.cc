// Control packets of the engine: JOIN, LEAVE and the answers to them (protocol rule 1).
#include "aggregator/engine/engine_impl.h"

namespace tributary::aggregator {
namespace {

// True if the JOIN's figures for the job are those that this switch was given.
bool claims_right(const Job& job, const wire::Header& h, std::uint16_t child) {
  const ChildMap& map = job.child_map;
  if (config::resizes(job.config))
    return h.fan_in >= job.config.min_workers && h.fan_in <= job.config.workers && child < h.fan_in;
  if (!map[child].is_switch) return h.fan_in == map.workers();
  return h.fan_in == map.count() && h.child == child && h.covered == map[child].covered;
}

// Rule 16: the switch that sent this JOIN has another tree in its configuration.
bool has_other_tree(const Job& job, const wire::Header& h) {
  return (h.flags & wire::kFlagCompleteSubtree) != 0 && h.slot != job.config.tree_digest;
}

// A rank need not know the number of planes. A switch with another number would wait for others in
// planes that they do not have.
bool has_other_planes(const Job& job, const wire::Header& h) {
  return (h.flags & wire::kFlagCompleteSubtree) != 0 && h.op != job.config.planes - 1u;
}

// Why this JOIN cannot be of such a job, whatever switch it comes to.
wire::Reason contradiction(const wire::OpenJob& task, const wire::Header& h) {
  const bool from_switch = (h.flags & wire::kFlagCompleteSubtree) != 0;
  if (from_switch)
    return h.fan_in == task.nodes && h.child < task.nodes && h.covered == task.units
               ? wire::Reason::none
               : wire::Reason::settings_mismatch;
  if (h.fan_in != task.workers()) return wire::Reason::job_size_mismatch;
  return h.origin < task.workers() ? wire::Reason::none : wire::Reason::bad_rank;
}

OpenRequest request_of(const wire::OpenJob& task, const wire::Header& h, const Endpoint& from) {
  OpenRequest request{.job = h.job, .task = task};
  request.from_switch = (h.flags & wire::kFlagCompleteSubtree) != 0;
  if (!request.from_switch) {
    request.node = static_cast<std::uint16_t>(h.origin / task.units);
    return request;
  }
  request.node = h.child;
  request.switch_id = h.origin;
  request.switch_ipv4 = ipv4_of(from.node());
  return request;
}

bool is_possible(const wire::OpenJob& task) {
  return task.workers() <= config::kMaxWorkers && task.window <= config::kMaxWindow &&
         task.chunk_bytes <= config::kMaxChunkBytes;
}

}  // namespace

// A job that is not here: a JOIN that brings it is noted for a control thread, which adds it (A4).
Decision Engine::Impl::on_unknown_join(const wire::Packet& packet, const Endpoint& from,
                                       Outbox& out) {
  const wire::Header& h = packet.header;
  const auto unknown = [&](wire::Reason why) {
    return refuse(packet, from, why, DropReason::unknown_job, nullptr, out);
  };
  const auto brought = wire::find_extension(packet.extensions, wire::ExtensionType::open_job);
  if (!brought || open_desk == nullptr || !open_desk->opens(h.job) || h.plane != 0)
    return unknown(wire::Reason::unknown_job);
  const auto task = wire::read_open_job(*brought);
  if (!task || !is_possible(*task)) return {Verdict::dropped, DropReason::bad_extension};
  if (const wire::Reason why = contradiction(*task, h); why != wire::Reason::none)
    return unknown(why);
  const JoinRefusal said = open_desk->ask(request_of(*task, h, from));
  if (said.why == wire::Reason::none) return unknown(wire::Reason::unknown_job);
  return refuse_for(said, packet, from, nullptr, DropReason::unknown_job, out);
}

// Names the task information that the job has; the rank knows its own.
std::optional<Decision> Engine::Impl::refuse_other_task(Job& job, const wire::Packet& packet,
                                                        const Endpoint& from, Outbox& out) {
  if (!job.config.open) return std::nullopt;
  const auto brought = wire::find_extension(packet.extensions, wire::ExtensionType::open_job);
  if (!brought) return std::nullopt;
  const auto task = wire::read_open_job(*brought);
  if (!task) return Decision{Verdict::dropped, DropReason::bad_extension};
  if (*task == *job.config.open) return std::nullopt;
  return refuse_for(other_task(*job.config.open, switch_id), packet, from, &job,
                    DropReason::join_mismatch, out);
}

// One of the two reads its configuration before the other; the JOIN is repeated until then. If it
// comes from a member of the running epoch, that switch has left the epoch.
Decision Engine::Impl::refuse_other_tree(Job& job, const wire::Packet& packet, const Endpoint& from,
                                         std::optional<std::uint16_t> child, Outbox& out) {
  if (child && job.membership.state() == JobState::running) {
    const Member& m = job.membership.member(*child);
    if (m.present && m.peer == from && wire::find_nonce(packet.extensions) != m.nonce) {
      blame_child(job, *child);
      job.counters.aborts_change.add();
      abort_epoch(job, wire::Reason::configuration_changed, out);
    }
  }
  if (has_other_planes(job, packet.header)) return refuse_other_planes(job, packet, from, out);
  return refuse(packet, from, wire::Reason::configuration_changed, DropReason::join_mismatch, &job,
                out);
}

Decision Engine::Impl::refuse_other_planes(Job& job, const wire::Packet& packet,
                                           const Endpoint& from, Outbox& out) {
  const wire::Header& h = packet.header;
  const JoinRefusal why{wire::Reason::planes_mismatch, h.origin, switch_id, h.op,
                        job.config.planes - 1u};
  return refuse_for(why, packet, from, &job, DropReason::join_mismatch, out);
}

Decision Engine::Impl::refuse_for(const JoinRefusal& why, const wire::Packet& packet,
                                  const Endpoint& from, Job* job, DropReason counted, Outbox& out) {
  const Decision decision = refuse(packet, from, why.why, counted, job, out);
  if (decision.verdict == Verdict::refused) write_refusal(why, out.last().header);
  return decision;
}

// A plane that the job does not have, or has elsewhere. The rank was told of it a moment ago, by a
// configuration that this loop no longer has or does not have yet: JOIN is repeated until then.
Decision Engine::Impl::refuse_plane(Job& job, const wire::Packet& packet, const Endpoint& from,
                                    Outbox& out) {
  if (packet.header.type != wire::PacketType::join)
    return {Verdict::dropped, DropReason::bad_shard};
  if (has_other_planes(job, packet.header)) return refuse_other_planes(job, packet, from, out);
  return refuse(packet, from, wire::Reason::configuration_changed, DropReason::bad_shard, &job,
                out);
}

Decision Engine::Impl::on_join(Job& job, const wire::Packet& packet, const Endpoint& from,
                               Instant now, Outbox& out) {
  const wire::Header& h = packet.header;
  const auto nonce = wire::find_nonce(packet.extensions);
  if (!nonce) return {Verdict::dropped, DropReason::bad_extension};
  const auto child = job.child_map.joining(h);
  const auto drain = wire::find_drain(packet.extensions);
  if (drain && drain->step == wire::DrainStep::refuse)
    return on_resumption_given_up(job, child, *drain, from, now, out);
  const wire::Resumption resumption = wire::find_resumption(packet.extensions);
  if (const auto said = refuse_other_task(job, packet, from, out)) return *said;
  if (has_other_tree(job, h) || has_other_planes(job, h))
    return refuse_other_tree(job, packet, from, child, out);
  // One of the two has not read its configuration yet; who begins anew is told what differs.
  const bool from_switch = (h.flags & wire::kFlagCompleteSubtree) != 0;
  if (from_switch && resumption.resumes() && drain->by != settings_digest(job))
    return refuse(packet, from, wire::Reason::configuration_changed, DropReason::join_mismatch,
                  &job, out);
  if (!child) {
    if (resumption.resumes()) give_up_resumption(job, resumption.id, now, out);
    return refuse(packet, from, wire::Reason::bad_rank, DropReason::bad_child, &job, out);
  }
  if (!claims_right(job, h, *child))
    return refuse(packet, from, wire::Reason::job_size_mismatch, DropReason::join_mismatch, &job,
                  out);
  // Rule 18: several switches may share a port; the address identifies the switch.
  if (job.child_map[*child].is_switch && from.node() != node_of_ipv4(job.child_map[*child].ipv4))
    return refuse(packet, from, wire::Reason::sender_mismatch, DropReason::sender_mismatch, &job,
                  out);

  return on_rightful_join(job, packet, from, *child, now, out);
}

// The child is of the job, and sends from where it may.
Decision Engine::Impl::on_rightful_join(Job& job, const wire::Packet& packet, const Endpoint& from,
                                        std::uint16_t child, Instant now, Outbox& out) {
  const auto nonce = wire::find_nonce(packet.extensions);
  const auto drain = wire::find_drain(packet.extensions);
  const wire::Resumption resumption = wire::find_resumption(packet.extensions);
  const std::uint16_t size = config::resizes(job.config) ? packet.header.fan_in : 0;
  const Member& m = job.membership.member(child);
  if (job.membership.is_stale(child, *nonce) || is_outdated(job, m, *nonce, resumption, from, now))
    return {Verdict::dropped, DropReason::duplicate};
  if (const auto said = refuse_other_run(job, packet, from, child, now, out)) return *said;
  if (size != 0)
    if (const auto said = admit_size(job, packet, from, child, now, out)) return *said;
  collect_last_heard(job, child);
  if (cannot_resume(job, child, *nonce, resumption))
    return refuse_to_resume(job, packet, from, out);
  if (job.drain.ends_at(resumption) && m.present && m.peer == from && m.nonce != *nonce)
    depart(job, child, resumption.op, now, out);
  take_size(job, size);
  Membership::Join outcome = job.membership.join(child, *nonce, from, now, size);
  bool restarted = false;
  if (outcome == Membership::Join::restarted) {
    restarted = true;
    blame_child(job, child);
    job.counters.aborts_restart.add();
    abort_epoch(job, wire::Reason::rank_restarted, out);
    take_size(job, size);
    outcome = job.membership.join(child, *nonce, from, now, size);
  }
  if (job.membership.take_question(child)) ask_holder(job, child, out);
  if (outcome == Membership::Join::waiting || outcome == Membership::Join::complete) {
    job.membership.set_able(child, drain.has_value());
    job.membership.take_run(child, wire::find_run_id(packet.extensions));
    if (!agree_on_resumption(job, child, resumption, now)) outcome = Membership::Join::waiting;
  }
  const Verdict said = restarted ? Verdict::epoch_aborted : Verdict::answered;
  switch (outcome) {
    case Membership::Join::complete:
      if (!all_here(job) || job.drain.held_by != 0) {
        send_join_pending(job, *nonce, from, now, out);
        break;
      }
      if (job.upstream) {
        join_parent(job, now, out);
        if (const JoinRefusal why = job.upstream->refusal(now); why.why != wire::Reason::none)
          return refuse_for(why, packet, from, &job, DropReason::not_joined, out);
        send_join_pending(job, *nonce, from, now, out);
        break;
      }
      begin_epoch(job, next_epoch, first_seq, now, out);
      if (++next_epoch == 0) next_epoch = 1;
      break;
    case Membership::Join::repeated:
      for (const auto& shard : shards)
        if (shard != nullptr) shard->bind(job.place, child, from);
      send_start(job, child, out);
      break;
    case Membership::Join::asked:
    case Membership::Join::waiting:
    case Membership::Join::closing: send_join_pending(job, *nonce, from, now, out); break;
    case Membership::Join::stale: return {Verdict::dropped, DropReason::duplicate};
    case Membership::Join::taken: return refuse_taken(job, packet, from, child, out);
    case Membership::Join::occupied:
    case Membership::Join::wrong_port:
    case Membership::Join::restarted:
      return refuse(packet, from, wire::Reason::sender_mismatch, DropReason::sender_mismatch, &job,
                    out);
  }
  job.counters.joins.add();
  return {said};
}

// Ranks of two starts of a program would wait for each other, or sum what does not belong together.
// Names one that waits; a newcomer repeats its JOIN until that has gone.
std::optional<Decision> Engine::Impl::refuse_other_run(Job& job, const wire::Packet& packet,
                                                       const Endpoint& from, std::uint16_t child,
                                                       Instant now, Outbox& out) {
  const std::uint64_t run = wire::find_run_id(packet.extensions);
  const std::uint32_t other = job.membership.of_other_run(child, run, now);
  if (other == Membership::kNone) return std::nullopt;
  const Endpoint& there = job.membership.member(other).peer;
  const JoinRefusal why{wire::Reason::other_run, job.child_map.ranks_of(other).front(),
                        ipv4_of(there.node()), there.flow(), 0};
  return refuse_for(why, packet, from, &job, DropReason::join_mismatch, out);
}

// A member answers a START that it has had by LEASE. One that waits for START says JOIN anyway.
void Engine::Impl::ask_holder(Job& job, std::uint32_t child, Outbox& out) {
  if (job.membership.member(child).present) send_start(job, child, out);
}

// Names the process that has the rank and has answered. Without an address the refusal is of a
// newcomer that a lapsed lease lets in.
Decision Engine::Impl::refuse_taken(Job& job, const wire::Packet& packet, const Endpoint& from,
                                    std::uint32_t child, Outbox& out) {
  const Decision decision =
      refuse(packet, from, wire::Reason::sender_mismatch, DropReason::sender_mismatch, &job, out);
  if (decision.verdict == Verdict::refused) {
    const Endpoint& holder = job.membership.member(child).peer;
    out.last().header.slot = ipv4_of(holder.node());
    out.last().header.op = holder.flow();
  }
  return decision;
}

void Engine::Impl::begin_epoch(Job& job, std::uint16_t epoch, std::uint32_t seq, Instant now,
                               Outbox& out) {
  const wire::Resumption from = job.drain.forming;
  const bool paused = job.drain.paused_since.has_value();
  job.start_epoch(epoch, ++epochs_begun, now);
  record_begin(job, from, paused, now);
  job.first_seq = seq;
  job.left_at_op = ShardJob::kNobodyLeft;
  std::vector<Endpoint>& peers = scratch_peers;
  peers.resize(job.child_map.count());
  for (std::uint32_t c = 0; c < peers.size(); ++c) peers[c] = job.membership.member(c).peer;
  for (const auto& shard : shards)  // a shard that is away has no part of this job
    if (shard != nullptr) shard->start_epoch(job.place, epoch, seq, peers, now);
  job.counters.members.set(job.membership.present());
  for (std::uint32_t c = 0; c < peers.size(); ++c) send_start(job, c, out);
}

Decision Engine::Impl::on_leave(Job& job, const wire::Packet& packet, const Endpoint& from,
                                Instant now, Outbox& out) {
  const wire::Header& h = packet.header;
  // Before START a worker knows only its rank.
  const auto child = job.child_map.leaving(h);
  if (!child) return refuse(packet, from, wire::Reason::bad_rank, DropReason::bad_child, &job, out);
  // The job has shrunk, and the answer to its LEAVE was lost; or it waits for a larger one.
  if (*child >= job.child_map.count()) {
    if (job.membership.member(*child).peer == from) job.membership.leave(*child);
    send_ack(job, packet, from, out);
    return {Verdict::answered};
  }
  collect_last_heard(job, *child);
  Membership& membership = job.membership;
  const Member& m = membership.member(*child);
  // START may not have arrived: before it a worker knows no epoch.
  const bool of_epoch = h.epoch == membership.epoch() || (h.epoch == 0 && !m.active);
  if (m.peer != from || !(of_epoch || m.joined)) return {Verdict::dropped, DropReason::not_joined};

  Verdict said = Verdict::answered;
  if (m.present && of_epoch) {
    if (!job.drain.ends_at(wire::find_resumption(packet.extensions))) {
      job.drain.quit = true;
      membership.answered(*child, false);
    }
    said = depart(job, *child, h.op, now, out);
  } else if (m.joined) {
    membership.leave(*child);
  }
  send_ack(job, packet, from, out);
  return {said};
}

// Answers LEAVE, and a switch's LEASE.
void Engine::Impl::send_ack(const Job& job, const wire::Packet& packet, const Endpoint& to,
                            Outbox& out) {
  Outgoing* o = out.add();
  if (o == nullptr) return;
  o->peer = to;
  o->header = job.header(wire::PacketType::ack);
  o->header.epoch = packet.header.epoch;
}

// A rank that has left cannot contribute any more.
void Engine::Impl::abort_missing_departed(Job& job, wire::Reason reason, Outbox& out) {
  set_cause(job, 0);
  list_ranks(job, job.membership.departed(scratch_ids));
  job.counters.aborts_left.add();
  abort_epoch(job, reason, out);
}

void Engine::Impl::send_start(Job& job, std::uint32_t child, Outbox& out) {
  Outgoing* o = out.add();
  if (o == nullptr) return;
  const Member& m = job.membership.member(child);
  o->peer = m.peer;
  o->header = job.header(wire::PacketType::start);
  o->header.seq = job.first_seq;
  if (config::degrades(job.config)) o->header.flags = wire::kFlagDegraded;
  if (takes_fragments) o->header.flags |= wire::kFlagFragments;
  o->header.origin = job.child_map[child].id;
  o->header.child = static_cast<std::uint16_t>(child);
  o->header.slot = job.host_udp_port;
  if (config::resizes(job.config)) {
    o->header.op = job.config.workers;
    o->header.chunk = job.config.min_workers;
  }
  wire::ExtensionWriter ext(o->extensions);
  ext.add_nonce(m.nonce);
  ext.add(start_info(job));
  o->extension_bytes = ext.bytes().size();
}

wire::StartInfo Engine::Impl::start_info(const Job& job) const {
  wire::StartInfo info;
  info.window = job.config.window;
  info.chunk_bytes = job.config.chunk_bytes;
  info.workers = job.child_map.workers();
  info.lease_ms = static_cast<std::uint32_t>(job.config.lease.to_ns() / 1'000'000);
  info.group_ipv4 = config::job_group_ipv4(job.config.id);
  info.shards = job.config.shards;
  info.integrity = static_cast<std::uint8_t>(job.config.integrity);
  info.udp_base_port = udp_base_port;
  info.completion_host = job.completion_host;
  info.host_term = job.host_term;
  info.partials = static_cast<std::uint8_t>(job.config.partials);
  info.order = static_cast<std::uint8_t>(job.config.order);
  info.arithmetic = static_cast<std::uint8_t>(job.config.arithmetic);
  info.notify = static_cast<std::uint8_t>(job.config.notify);
  info.planes = job.config.planes;
  return info;
}

void Engine::Impl::send_join_pending(Job& job, std::uint64_t nonce, const Endpoint& to, Instant now,
                                     Outbox& out) {
  Outgoing* o = out.add();
  if (o == nullptr) return;
  o->peer = to;
  o->header = job.header(wire::PacketType::pending);
  o->header.epoch = 0;
  wire::ExtensionWriter ext(o->extensions);
  ext.add_nonce(nonce);
  const std::span<const std::uint32_t> below = awaited_below(job, now);
  // If no rank below is missing, name those that the switch above waits for.
  ext.add_missing_ids(below.empty() && job.upstream ? job.upstream->awaited() : below);
  o->extension_bytes = ext.bytes().size();
  job.counters.pending_replies.add();
  say_forming(job, below, now, out);
}

// The missing ranks below. A switch below that has named its missing ranks counts with those only.
std::span<const std::uint32_t> Engine::Impl::awaited_below(const Job& job, Instant now) {
  const std::size_t children = job.membership.awaited(scratch_ids, now);
  std::size_t used = 0;
  for (const std::uint32_t child : std::span(scratch_ids).first(children))
    for (const std::uint32_t rank : job.child_map.ranks_of(child))
      if (used < scratch_ranks.size() && !job.forming.waits(child, rank, now))
        scratch_ranks[used++] = rank;
  return std::span(scratch_ranks).first(used);
}

// Tells the switch above, which otherwise would name all ranks below this one.
void Engine::Impl::say_forming(Job& job, std::span<const std::uint32_t> awaited, Instant now,
                               Outbox& out) {
  if (!job.upstream || awaited.empty() || job.membership.state() == JobState::running) return;
  const Upstream::State up = job.upstream->state();
  if (up != Upstream::State::down && up != Upstream::State::joining) return;
  if (!job.forming.may_speak(now)) return;
  Outgoing* const o = send_up(job, wire::PacketType::pending, 0, out);
  if (o == nullptr) return;
  o->header.flags = wire::kFlagCompleteSubtree;
  wire::ExtensionWriter ext(o->extensions);
  ext.add_missing_ids(awaited);
  o->extension_bytes = ext.bytes().size();
}

}  // namespace tributary::aggregator
