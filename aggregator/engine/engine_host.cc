// Packets of the completion host or the parent about a job (rule 5).
#include "aggregator/engine/engine_impl.h"
#include "core/wire/pass_on.h"

namespace tributary::aggregator {

bool Engine::on_host_packet(const wire::Packet& packet, Instant now, Outbox& out) {
  const wire::Header& h = packet.header;
  Job* const job = impl_->job_index.find(h.job);
  if (job == nullptr || job->membership.state() != JobState::running ||
      h.epoch != job->membership.epoch())
    return false;
  Shard* const shard = impl_->shard_at(h.shard);
  switch (h.type) {
    case wire::PacketType::result: return shard != nullptr && shard->on_result(packet, now, out);
    case wire::PacketType::unknown:
      if (h.attempt != 0 && (shard == nullptr || !shard->begin_retry(packet, now))) return false;
      return impl_->relay(*job, packet, out);
    case wire::PacketType::pending: return impl_->relay(*job, packet, out);
    case wire::PacketType::abort: return impl_->abort_by_host(*job, packet, out);
    default: return false;
  }
}

bool Engine::on_hosted_result(const wire::Packet& packet, Instant now, Outbox& out) {
  const wire::Header& h = packet.header;
  Job* const job = impl_->job_index.find(h.job);
  const bool hosts = job != nullptr && job->upstream && job->config.hosting &&
                     job->config.notify == wire::Notify::host_switch;
  if (!hosts || job->upstream->state() != Upstream::State::running ||
      h.epoch != job->upstream->epoch() || h.shard >= job->config.shards)
    return false;
  Shard* const shard = impl_->shard_at(h.shard);
  if (shard == nullptr) return false;
  const Decision decision = shard->on_hosted_result(packet, now, out);
  if (decision.verdict == Verdict::epoch_aborted) impl_->abort_for(*shard, out);
  return decision.verdict == Verdict::completed;
}

void Engine::on_sum_taken(const wire::Header& sum, Instant now) {
  if (Shard* const shard = impl_->shard_at(sum.shard)) shard->on_sum_taken(sum, now);
}

bool Engine::waits_for_host(std::uint32_t id, std::uint8_t shard) const {
  const Job* const job = impl_->job_index.find(id);
  if (job == nullptr) return false;
  const Shard* const here = impl_->shard_at(shard);
  return here == nullptr || here->waits_for_host(job->place);  // if away, it may
}

void Engine::set_completion_host(std::uint32_t id, std::uint8_t shard, std::uint32_t ipv4,
                                 std::uint32_t term) {
  Job* const job = impl_->job_index.find(id);
  if (job == nullptr || shard >= impl_->shards.size()) return;
  if (shard == 0) {
    job->completion_host = ipv4;
    job->host_term = term;
  }
  if (Shard* const here = impl_->shard_at(shard)) return here->set_host_term(job->place, term);
  if (shard < job->away.size()) job->away[shard].host_term = term;
}

wire::StartInfo Engine::start_info(std::uint32_t id) const {
  return impl_->start_info(*impl_->job_index.find(id));
}

std::optional<std::uint16_t> Engine::running_epoch(std::uint32_t id) const {
  const Job* const job = impl_->job_index.find(id);
  if (job == nullptr || job->membership.state() != JobState::running ||
      job->membership.present() == 0)
    return std::nullopt;
  return job->membership.epoch();
}

std::uint32_t Engine::accepted_before(std::uint32_t id, std::uint8_t shard) const {
  const Job* const job = impl_->job_index.find(id);
  const Shard* const here = impl_->shard_at(shard);
  return here == nullptr ? job->away[shard].accepted_before
                         : here->find_job(job->place)->table.low();
}

std::uint32_t Engine::announce_again(std::uint32_t id, std::uint8_t shard, std::uint32_t seq,
                                     Outbox& out) {
  const Job* const job = impl_->job_index.find(id);
  Shard* const here = impl_->shard_at(shard);
  return here == nullptr ? seq : here->announce_again(job->place, seq, out);  // away: later
}

void Engine::abort_host_lost(std::uint32_t id, Outbox& out) {
  Job* const job = impl_->job_index.find(id);
  if (job == nullptr || job->membership.state() != JobState::running) return;
  impl_->set_cause(*job, 0);
  job->counters.aborts_host.add();
  impl_->abort_epoch(*job, wire::Reason::host_lost, out);
}

// Passes the packet to the rank in `origin`, or to the switch that the rank is behind.
bool Engine::Impl::relay(const Job& job, const wire::Packet& packet, Outbox& out) {
  const auto child = job.child_map.child_of(packet.header.origin);
  if (!child || !job.membership.member(*child).present) return false;
  Outgoing* const o = out.add();
  if (o == nullptr) return false;
  o->peer = job.membership.member(*child).peer;
  o->header = packet.header;
  o->header.child = *child;
  o->header.fan_in = static_cast<std::uint16_t>(job.child_map.count());
  o->header.flags &= ~std::uint32_t{wire::kFlagBypass};
  if (job.child_map[*child].is_switch) o->header.flags |= wire::kFlagBypass;
  wire::ExtensionWriter ext(o->extensions);
  wire::add_passed_on(ext, packet.extensions);
  o->extension_bytes = ext.bytes().size();
  return true;
}

bool Engine::Impl::abort_by_host(Job& job, const wire::Packet& packet, Outbox& out) {
  const wire::Header& h = packet.header;
  // A host may not end an epoch for a chunk that is finished or that only this switch works on.
  const Shard* const shard = shard_at(h.shard);
  if (shard == nullptr || !shard->is_with_host(job.place, h.seq)) return false;
  adopt_cause(job, packet, 0);
  switch (h.reason) {
    case wire::Reason::op_mismatch: job.counters.aborts_mismatch.add(); break;
    case wire::Reason::broken_invariant: job.counters.aborts_broken.add(); break;
    default: job.counters.aborts_deadline.add();
  }
  abort_epoch(job, h.reason, out);
  return true;
}

}  // namespace tributary::aggregator
