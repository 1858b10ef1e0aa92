#include "aggregator/engine.h"

#include <stdexcept>
#include <string>

#include "aggregator/engine_impl.h"
#include "config/memory_plan.h"

namespace tributary::aggregator {
namespace {

// Room for START to every rank of the largest job, and for what one packet adds to that.
constexpr std::size_t kOutboxReserve = 16;

std::uint16_t port_index(const config::SwitchConfig& config, const std::string& name) {
  for (std::size_t i = 0; i < config.ports.size(); ++i)
    if (config.ports[i].name == name) return static_cast<std::uint16_t>(i);
  throw std::invalid_argument("no port is named '" + name + "'");
}

}  // namespace

Engine::Impl::Impl(const config::SwitchConfig& config, EngineStart start)
    : next_epoch(start.epoch == 0 ? std::uint16_t{1} : start.epoch),
      first_seq(start.seq),
      udp_base_port(config.udp_base_port) {
  std::size_t total = 0;
  for (const config::JobConfig& job : config.jobs) total += config::job_payload_bytes(job);
  arena.resize(total);  // zeroed here, so no page fault is left for the packet path
  free_arena = arena;
  for (std::uint8_t d = 0; d <= wire::kDTypeMax; ++d)
    for (std::uint8_t op = 0; op <= wire::kReduceOpMax; ++op)
      reduce[d][op] = find_reduce(static_cast<wire::DType>(d), static_cast<wire::ReduceOp>(op));
  for (const config::JobConfig& job : config.jobs) build_job(config, job);
}

void Engine::Impl::build_job(const config::SwitchConfig& config, const config::JobConfig& jc) {
  if (next_slot + jc.window > config.slots)
    throw std::invalid_argument("job " + std::to_string(jc.id) + " needs " +
                                std::to_string(jc.window) + " slots; " +
                                std::to_string(config.slots - next_slot) + " of " +
                                std::to_string(config.slots) + " are left");
  std::vector<std::uint16_t> pinned(jc.workers, Membership::kAnyPort);
  for (const config::MemberConfig& m : jc.members) pinned.at(m.rank) = port_index(config, m.port);

  auto job = std::make_unique<Job>(jc, std::move(pinned));
  job->first_slot = next_slot;
  next_slot += jc.window;
  auto& deadlines = deadline_classes.try_emplace(jc.deadline.to_ns(), jc.deadline).first->second;
  const auto index = static_cast<std::uint32_t>(jobs.size());
  const std::size_t per_shard = config::job_payload_bytes(jc) / jc.shards;
  for (std::uint8_t s = 0; s < jc.shards; ++s) {
    job->shards.push_back(std::make_unique<ChunkTable>(index, jc.workers, jc.window, jc.chunk_bytes,
                                                       free_arena.first(per_shard), deadlines));
    free_arena = free_arena.subspan(per_shard);
  }
  if (!job_index.emplace(jc.id, index).second)
    throw std::invalid_argument("job " + std::to_string(jc.id) + " is defined twice");
  jobs.push_back(std::move(job));
}

Decision Engine::Impl::refuse(const wire::Packet& packet, const Peer& from, wire::Reason why,
                              DropReason counted, Job* job, Outbox& out) {
  Outgoing* o = out.add();
  if (o == nullptr) return {Verdict::dropped, counted};
  const wire::Header& in = packet.header;
  o->peer = from;
  o->header.type = wire::PacketType::nack;
  o->header.job = in.job;
  o->header.epoch = in.epoch;
  o->header.op = in.op;
  o->header.chunk = in.chunk;
  o->header.seq = in.seq;
  o->header.shard = in.shard;
  o->header.reason = why;
  if (in.type == wire::PacketType::join) {
    if (const auto nonce = wire::find_nonce(packet.extensions)) {
      wire::ExtensionWriter ext(o->extensions);
      ext.add_nonce(*nonce);
      o->extension_bytes = ext.bytes().size();
    }
  }
  if (job != nullptr) job->counters.nacks.add();
  return {Verdict::refused, counted};
}

Decision Engine::Impl::check_member(Job& job, const wire::Packet& packet, const Peer& from,
                                    Instant now, Outbox& out) {
  const wire::Header& h = packet.header;
  if (h.origin >= job.config.workers || h.child != h.origin)
    return refuse(packet, from, wire::Reason::bad_rank, DropReason::bad_child, &job, out);
  if (h.epoch != job.membership.epoch() || h.epoch == 0)
    return refuse(packet, from, wire::Reason::stale_epoch, DropReason::stale_epoch, &job, out);
  if (job.last_abort.reason != wire::Reason::none && job.last_abort.epoch == h.epoch) {
    send_abort(job, &from, out);
    return {Verdict::refused, DropReason::aborted};
  }
  if (!job.membership.member(h.origin).present)
    return refuse(packet, from, wire::Reason::not_joined, DropReason::not_joined, &job, out);
  if (!job.membership.is_present(h.origin, from, now))
    return refuse(packet, from, wire::Reason::sender_mismatch, DropReason::sender_mismatch, &job,
                  out);
  return {Verdict::noted, DropReason::count_};
}

Decision Engine::Impl::dispatch(Job& job, const wire::Packet& packet, const Peer& from, Instant now,
                                Outbox& out) {
  using wire::PacketType;
  const PacketType type = packet.header.type;
  if (type == PacketType::join) return on_join(job, packet, from, now, out);
  if (type == PacketType::leave) return on_leave(job, packet, from, now, out);
  if (type != PacketType::contribution && type != PacketType::probe && type != PacketType::ack &&
      type != PacketType::lease)
    return {Verdict::dropped, DropReason::bad_type};

  if (const Decision d = check_member(job, packet, from, now, out); d.verdict != Verdict::noted)
    return d;
  if (type == PacketType::lease) return {Verdict::noted};
  if (packet.header.shard >= job.config.shards || packet.header.plane != 0 ||
      packet.header.stream != 0)
    return {Verdict::dropped, DropReason::bad_shard};
  if (type == PacketType::contribution) return on_contribution(job, packet, from, now, out);
  if (type == PacketType::probe) return on_probe(job, packet, from, out);
  return on_ack(job, packet);
}

// Sends job.last_abort: to one peer, or to the whole group.
void Engine::Impl::send_abort(const Job& job, const Peer* to, Outbox& out) {
  Outgoing* o = out.add();
  if (o == nullptr) return;
  const AbortCause& cause = job.last_abort;
  o->to = to == nullptr ? Outgoing::To::job_group : Outgoing::To::peer;
  if (to != nullptr) o->peer = *to;
  o->header = job.header(wire::PacketType::abort);
  o->header.epoch = cause.epoch;
  o->header.op = cause.chunk.op;
  o->header.chunk = cause.chunk.chunk;
  o->header.seq = cause.chunk.seq;
  o->header.shard = cause.chunk.shard;
  o->header.reason = cause.reason;
  wire::ExtensionWriter ext(o->extensions);
  if (cause.has_error)
    ext.add(cause.error);
  else
    ext.add_missing_ids(cause.missing);
  o->extension_bytes = ext.bytes().size();
}

// job.last_abort's missing ids, error and chunk are filled; everything the epoch held is freed.
void Engine::Impl::abort_epoch(Job& job, wire::Reason reason, Outbox& out) {
  job.last_abort.reason = reason;
  job.last_abort.epoch = job.membership.epoch();
  send_abort(job, nullptr, out);
  job.membership.abort();
  job.clear_tables(first_seq);
  job.refresh_gauges();
}

Engine::Engine(const config::SwitchConfig& config, EngineStart start)
    : impl_(std::make_unique<Impl>(config, start)) {}
Engine::~Engine() = default;

Decision Engine::on_packet(const wire::Packet& packet, const Peer& from, Instant now, Outbox& out) {
  const auto found = impl_->job_index.find(packet.header.job);
  if (found == impl_->job_index.end())
    return impl_->refuse(packet, from, wire::Reason::unknown_job, DropReason::unknown_job, nullptr,
                         out);
  return impl_->dispatch(*impl_->jobs[found->second], packet, from, now, out);
}

void Engine::expire(Instant now, Outbox& out) {
  for (auto& [timeout, queue] : impl_->deadline_classes) {
    while (DeadlineNode* node = queue.due(now)) {
      const auto& entry = static_cast<const ChunkEntry&>(*node);
      Job& job = *impl_->jobs[entry.job_index];
      AbortCause& cause = job.last_abort;
      for (std::size_t s = 0; s < job.shards.size(); ++s) {
        ChunkTable& table = *job.shards[s];
        if (&entry < table.entries().data() || &entry > &table.entries().back()) continue;
        cause.chunk.shard = static_cast<std::uint8_t>(s);
        const std::size_t n = table.missing(entry, impl_->scratch_ids);
        cause.missing.assign(impl_->scratch_ids.begin(),
                             impl_->scratch_ids.begin() + static_cast<long>(n));
      }
      cause.has_error = false;
      cause.chunk.op = entry.description.op;
      cause.chunk.chunk = entry.description.chunk;
      cause.chunk.seq = entry.seq;
      job.counters.aborts_deadline.add();
      job.counters.slot_hold_ns_max.raise_to(
          static_cast<std::uint64_t>((now - entry.armed_at).to_ns()));
      impl_->abort_epoch(job, wire::Reason::deadline, out);
    }
  }
  for (const auto& job : impl_->jobs) {
    const std::uint32_t rank = job->membership.lapsed(now);
    if (rank == job->config.workers) continue;
    job->last_abort.has_error = false;
    job->last_abort.chunk = {};
    job->last_abort.missing.assign(1, rank);
    job->counters.aborts_lease.add();
    impl_->abort_epoch(*job, wire::Reason::lease_expired, out);
  }
}

void Engine::shut_down(Outbox& out) {
  for (const auto& job : impl_->jobs) {
    if (job->membership.state() != JobState::running) continue;
    job->last_abort.has_error = false;
    job->last_abort.chunk = {};
    job->last_abort.missing.clear();
    job->counters.aborts_shutdown.add();
    impl_->abort_epoch(*job, wire::Reason::shutdown, out);
  }
}

std::span<const GroupCopy> Engine::group_copies(std::uint32_t job) const {
  const auto found = impl_->job_index.find(job);
  if (found == impl_->job_index.end()) return {};
  return impl_->jobs[found->second]->group_copies;
}

std::size_t Engine::outbox_capacity() const {
  std::size_t most = impl_->jobs.size();
  for (const auto& job : impl_->jobs) most = std::max<std::size_t>(most, job->config.workers);
  return most + impl_->jobs.size() + kOutboxReserve;
}

std::size_t Engine::job_count() const {
  return impl_->jobs.size();
}
const config::JobConfig& Engine::job_config(std::size_t i) const {
  return impl_->jobs[i]->config;
}
const JobCounters& Engine::counters(std::size_t i) const {
  return impl_->jobs[i]->counters;
}

std::uint64_t Engine::memory_bytes() const {
  std::uint64_t total = impl_->arena.size();
  for (const auto& job : impl_->jobs)
    for (const auto& shard : job->shards) total += shard->table_bytes();
  return total;
}

}  // namespace tributary::aggregator
