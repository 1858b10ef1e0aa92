// Drains (docs/protocol/drains.md): the running epoch ends after an op that all ranks finish, and
// the next one goes on from there. The root decides; the switches below pass its word down and the
// largest of their children's answers up.
#include <algorithm>
#include <array>

#include "aggregator/engine/engine_impl.h"
#include "core/net/checksum.h"
#include "core/prng.h"

namespace tributary::aggregator {
namespace {

void write_drain(Outgoing& message, const wire::Drain& drain) {
  wire::ExtensionWriter extensions(message.extensions);
  wire::add_drain(extensions, drain);
  message.extension_bytes = extensions.bytes().size();
}

}  // namespace

void Engine::drain(std::span<const std::uint32_t> jobs, Instant now, Outbox& out, Holder by) {
  for (const std::uint32_t id : jobs) {
    Job* const job = impl_->job_index.find(id);
    if (job == nullptr) continue;
    job->drain.hold(by, true);
    if (Impl::can_drain(*job) && job->drain.phase == Drain::Phase::none)
      impl_->want_drain(*job, now, out);
  }
}

void Engine::release(std::span<const std::uint32_t> jobs, Holder by) {
  for (const std::uint32_t id : jobs)
    if (Job* const job = impl_->job_index.find(id)) job->drain.hold(by, false);
}

// An operator wants to know of jobs that cannot be drained; a change is then made without.
std::vector<std::uint32_t> Engine::draining(std::span<const std::uint32_t> jobs, Holder by) const {
  std::vector<std::uint32_t> still;
  for (const std::uint32_t id : jobs) {
    const Job* const job = impl_->job_index.find(id);
    if (job == nullptr || job->membership.state() != JobState::running) continue;
    if (by == Holder::operator_ || Impl::can_drain(*job)) still.push_back(id);
  }
  return still;
}

bool Engine::Impl::can_drain(const Job& job) {
  return job.membership.state() == JobState::running && job.membership.all_able() &&
         !job.drain.quit;
}

void Engine::Impl::want_drain(Job& job, Instant now, Outbox& out) {
  if (!job.upstream) return begin_drain(job, {wire::DrainStep::wanted, 0, 0, switch_id}, now, out);
  job.drain.enter(Drain::Phase::wanted, now);
  job.drain.by = switch_id;
  expire_drain(job, now, out);
}

// `asked`: by the switch above; of the root's own drain only who wants it is known.
void Engine::Impl::begin_drain(Job& job, const wire::Drain& asked, Instant now, Outbox& out) {
  Drain& drain = job.drain;
  drain.enter(Drain::Phase::asking, now);
  drain.id = asked.id;
  if (drain.id == 0) drain.id = split_mix(nonce_seed + ++drains_begun * kSplitMixStep) | 1;
  drain.by = asked.by;
  drain.op = 0;
  drain.answered = false;
  drain.paused_since = now;
  job.membership.ask_all();
  expire_drain(job, now, out);
}

void Engine::Impl::expire_drain(Job& job, Instant now, Outbox& out) {
  Drain& drain = job.drain;
  if (job.membership.state() != JobState::running) return;
  // The switch above had a JOIN from before the hold, and so an epoch has begun.
  if (drain.phase == Drain::Phase::none && drain.is_held(Holder::operator_) && can_drain(job))
    return want_drain(job, now, out);
  if (!drain.speaks(now)) return;
  if (drain.phase == Drain::Phase::wanted) return say_drain_up(job, wire::DrainStep::wanted, out);
  if (drain.under_way()) say_drain(job, out);
}

// To all children; those that have answered, or left, repeat that or do not listen.
void Engine::Impl::say_drain(Job& job, Outbox& out) {
  Outgoing* const o = out.add();
  if (o == nullptr) return;
  const bool asks = job.drain.phase == Drain::Phase::asking;
  o->to = Outgoing::To::job_group;
  o->header = job.header(wire::PacketType::lease);
  write_drain(*o, {asks ? wire::DrainStep::ask : wire::DrainStep::end, job.drain.id,
                   asks ? 0 : job.drain.op, job.drain.by});
}

void Engine::Impl::say_drain_up(const Job& job, wire::DrainStep step, Outbox& out) {
  Outgoing* const o = send_up(job, wire::PacketType::lease, job.upstream->epoch(), out);
  if (o != nullptr) write_drain(*o, {step, job.drain.id, job.drain.op, job.drain.by});
}

Decision Engine::Impl::on_drain(const wire::Packet& packet, const wire::Drain& drain,
                                const Endpoint& from, Instant now, Outbox& out) {
  const wire::Header& h = packet.header;
  Job* const job = job_index.find(h.job);
  if (job == nullptr)
    return refuse(packet, from, wire::Reason::unknown_job, DropReason::unknown_job, nullptr, out);
  if (h.plane != job->config.plane) return {Verdict::dropped, DropReason::bad_shard};
  if (job->upstream && job->upstream->is_from(from))
    return on_drain_above(*job, packet, drain, now, out);
  if (const Decision d = check_member(*job, packet, from, now, out); d.verdict != Verdict::noted)
    return d;
  on_drain_below(*job, h.child, drain, now, out);
  return {Verdict::noted};
}

Decision Engine::Impl::on_drain_above(Job& job, const wire::Packet& packet, const wire::Drain& said,
                                      Instant now, Outbox& out) {
  Upstream& up = *job.upstream;
  if (up.state() != Upstream::State::running || packet.header.epoch != up.epoch() || said.id == 0)
    return {Verdict::dropped, DropReason::stale_epoch};
  up.heard(now);
  Drain& drain = job.drain;
  if (said.step == wire::DrainStep::ask) {
    if (!drain.under_way())
      begin_drain(job, said, now, out);
    else if (drain.id == said.id && drain.answered)
      say_drain_up(job, wire::DrainStep::answer, out);
  } else if (said.step == wire::DrainStep::end && drain.phase == Drain::Phase::asking &&
             drain.id == said.id && said.op >= drain.op) {
    drain.op = said.op;
    drain.enter(Drain::Phase::ending, now);
    expire_drain(job, now, out);
  }
  return {Verdict::noted};
}

void Engine::Impl::on_drain_below(Job& job, std::uint32_t child, const wire::Drain& said,
                                  Instant now, Outbox& out) {
  Drain& drain = job.drain;
  // Wishes come from switches below, and from ranks that have agreed on another number of them.
  const bool may_want = job.child_map[child].is_switch || config::resizes(job.config);
  if (said.step == wire::DrainStep::wanted && may_want) {
    if (drain.under_way() || !can_drain(job)) return;
    if (!job.upstream) return begin_drain(job, {wire::DrainStep::wanted, 0, 0, said.by}, now, out);
    if (Outgoing* const o = send_up(job, wire::PacketType::lease, job.upstream->epoch(), out))
      write_drain(*o, said);
    return;
  }
  if (drain.phase != Drain::Phase::asking || said.id != drain.id) return;
  if (said.step == wire::DrainStep::refuse) {
    if (job.upstream) return say_drain_up(job, wire::DrainStep::refuse, out);
    blame_child(job, child);
    job.last_abort.lost_switch = drain.by;
    job.counters.aborts_change.add();
    return abort_epoch(job, wire::Reason::configuration_changed, out);
  }
  if (said.step != wire::DrainStep::answer) return;
  job.membership.answered(child);
  drain.op = std::max(drain.op, said.op);
  sum_up_answers(job, now, out);
}

// Where all that are present have answered, none of them begins an op that is not in the epoch.
void Engine::Impl::sum_up_answers(Job& job, Instant now, Outbox& out) {
  Drain& drain = job.drain;
  if (drain.phase != Drain::Phase::asking || drain.answered || !job.membership.all_answered())
    return;
  if (job.upstream) {
    drain.answered = true;
    return say_drain_up(job, wire::DrainStep::answer, out);
  }
  drain.enter(Drain::Phase::ending, now);
  expire_drain(job, now, out);
}

Verdict Engine::Impl::depart(Job& job, std::uint16_t child, std::uint32_t held_before, Instant now,
                             Outbox& out) {
  // Hosts that notify workers may be ahead of the switches, which then still wait for a result
  // that the leaving rank already holds.
  const std::uint32_t first_op = job.config.notify == wire::Notify::root ? 0 : held_before;
  job.left_at_op = std::min(job.left_at_op, first_op);
  bool needed = false;
  job.membership.is_present(child, job.membership.member(child).peer, now);
  job.membership.leave(child);
  for (const auto& shard : shards)
    if (shard != nullptr) needed = shard->forget_child(job.place, child, first_op) || needed;
  Verdict said = Verdict::answered;
  if (needed && job.membership.present() > 0) {
    abort_missing_departed(job, wire::Reason::rank_left, out);
    said = Verdict::epoch_aborted;
  } else if (job.membership.present() == 0) {
    end_membership(job, out);
  } else {
    sum_up_answers(job, now, out);
  }
  job.counters.members.set(job.membership.present());
  return said;
}

// The last child has left.
void Engine::Impl::end_membership(Job& job, Outbox& out) {
  clear_shards(job);
  const bool drained = job.drain.phase == Drain::Phase::ending && !job.drain.quit;
  record_leave(job, drained);
  if (drained) {
    job.counters.drains.add();
    job.counters.drained_by.set(job.drain.by);
    job.counters.drained_at.set(job.drain.op);
  }
  if (!job.upstream || job.upstream->state() != Upstream::State::running) return;
  job.upstream->leave();
  send_leave_up(job, out);
}

// True: job.last_abort says why this child cannot go on.
bool Engine::Impl::cannot_resume(Job& job, std::uint32_t child, std::uint64_t nonce,
                                 const wire::Resumption& r) {
  if (!r.resumes()) return false;
  const Drain& drain = job.drain;
  const Membership& membership = job.membership;
  if (membership.state() == JobState::running) {
    if (r.retries() || membership.member(child).nonce == nonce || drain.ends_at(r)) return false;
    blame(job, wire::Reason::rank_restarted, 0);
    return true;
  }
  if (drain.id == r.id && drain.phase == Drain::Phase::failed) return true;
  // Some rank was lost in the drain. Those that go on from it can begin their ops anew, too.
  if (r.retries() && drain.forming.resumes() && !drain.forming.retries()) return false;
  std::size_t listed = 0;
  const bool quit = drain.id == r.id && drain.quit;
  const std::uint32_t known = job.newcomers_from;
  if (!quit && (drain.forming == r || !membership.any_waits_but(child, known))) return false;
  for (std::uint32_t c = 0; c < job.child_map.count() && listed < scratch_ids.size(); ++c) {
    const Member& m = membership.member(c);
    if (c != child && c < known && (quit ? !m.answered && !m.joined : membership.waits(c)))
      scratch_ids[listed++] = c;
  }
  blame(job, quit ? wire::Reason::rank_left : wire::Reason::rank_restarted, listed);
  return true;
}

// The ranks inside the first so many children of scratch_ids.
void Engine::Impl::blame(Job& job, wire::Reason reason, std::size_t children) {
  set_cause(job, 0);
  list_ranks(job, children);
  job.last_abort.reason = reason;
}

// A JOIN from before the drain, late on its way; a process that has taken the place repeats its
// own.
bool Engine::Impl::is_outdated(const Job& job, const Member& m, std::uint64_t nonce,
                               const wire::Resumption& r, const Endpoint& from, Instant now) {
  constexpr Duration kOutdated = Duration::ms(190);
  return job.drain.phase == Drain::Phase::ending && !job.drain.ends_at(r) && !m.present &&
         m.peer == from && m.nonce != nonce && now - m.last_seen < kOutdated;
}

// Final, which a refusal for another configuration is not.
Decision Engine::Impl::refuse_to_resume(Job& job, const wire::Packet& packet, const Endpoint& from,
                                        Outbox& out) {
  const AbortCause& cause = job.last_abort;
  const bool changed = cause.reason == wire::Reason::configuration_changed;
  const Decision decision = refuse(packet, from, changed ? wire::Reason::aborted : cause.reason,
                                   DropReason::join_mismatch, &job, out);
  if (decision.verdict != Verdict::refused) return decision;
  Outgoing& o = out.last();
  o.header.slot = cause.lost_switch;
  wire::ExtensionWriter more(std::span(o.extensions).subspan(o.extension_bytes));
  more.add_missing_ids(cause.missing);
  o.extension_bytes += more.bytes().size();
  return decision;
}

// Some rank that would have to go on is not in the job any more, here or below.
void Engine::Impl::give_up_resumption(Job& job, std::uint64_t id, Instant now, Outbox& out) {
  Drain& drain = job.drain;
  if (drain.id != id || job.membership.state() == JobState::running) return;
  drain.quit = true;
  for (std::uint32_t c = 0; c < job.child_map.count(); ++c)
    if (job.membership.member(c).joined) job.membership.leave(c);
  drain.forming = {};
  if (!job.upstream || !drain.speaks(now)) return;
  Outgoing* const o = send_up(job, wire::PacketType::join, 0, out);
  if (o == nullptr) return;
  write_join(job, *o, {wire::DrainStep::refuse, id, 0, 0});
}

Decision Engine::Impl::on_resumption_given_up(Job& job, std::optional<std::uint16_t> child,
                                              const wire::Drain& said, const Endpoint& from,
                                              Instant now, Outbox& out) {
  if (!child || !job.child_map[*child].is_switch) return {Verdict::dropped, DropReason::bad_child};
  if (from.node() != node_of_ipv4(job.child_map[*child].ipv4))
    return {Verdict::dropped, DropReason::sender_mismatch};
  give_up_resumption(job, said.id, now, out);
  return {Verdict::noted};
}

std::uint32_t Engine::Impl::settings_digest(const Job& job) const {
  wire::StartInfo info = start_info(job);
  info.completion_host = {};  // the root's choice
  info.host_term = {};
  std::array<std::byte, 64> room;
  wire::ExtensionWriter extensions(room);
  extensions.add(info);
  const std::uint32_t crc = wire::crc32c(extensions.bytes());
  return config::degrades(job.config) ? ~crc : crc;
}

void Engine::Impl::write_join(const Job& job, Outgoing& join, const wire::Drain& drain) {
  join.header.flags = wire::kFlagCompleteSubtree;
  join.header.covered = job.child_map.covered();
  join.header.slot = job.config.tree_digest;
  join.header.op = job.config.planes - 1u;
  wire::ExtensionWriter extensions(join.extensions);
  extensions.add_nonce(job.upstream->nonce());
  if (drain.step != wire::DrainStep::able || job.membership.all_able())
    wire::add_drain(extensions, drain);
  if (job.config.open) wire::add_open_job(extensions, *job.config.open);
  if (const std::uint64_t run = job.membership.run(); run != 0) extensions.add_run_id(run);
  join.extension_bytes = extensions.bytes().size();
}

// The child waits for the epoch that forms. One that begins anew has lost what the others would go
// on from, so they have to begin anew, too. Returns whether there were others.
bool Engine::Impl::agree_on_resumption(Job& job, std::uint32_t child, const wire::Resumption& r,
                                       Instant now) {
  Drain& drain = job.drain;
  // Goes with what the others say, or waits for a later epoch.
  if (!r.resumes() && (child >= job.newcomers_from ||
                       (drain.forming.resumes() && drain.forming_size != job.child_map.workers())))
    return true;
  const bool alone = !job.membership.any_waits_but(child, job.newcomers_from);
  const bool agreed = alone || drain.forming == r;
  for (std::uint32_t c = 0; c < job.child_map.count() && !agreed; ++c)
    if (c != child && job.membership.waits(c)) job.membership.leave(c);
  drain.forming = r;
  drain.forming_size = job.child_map.workers();
  if (r.resumes() && !drain.paused_since) drain.paused_since = now;
  return agreed;
}

}  // namespace tributary::aggregator
