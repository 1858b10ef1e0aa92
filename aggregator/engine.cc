#include "aggregator/engine.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "aggregator/engine_impl.h"
#include "config/aggregation_memory.h"

namespace tributary::aggregator {
namespace {

// Room for START to every rank of the largest job, and for what one packet adds to that.
constexpr std::size_t kOutboxReserve = 16;

std::uint16_t port_index(const config::SwitchConfig& config, const std::string& name) {
  for (std::size_t i = 0; i < config.ports.size(); ++i)
    if (config.ports[i].name == name) return static_cast<std::uint16_t>(i);
  throw std::invalid_argument("no port is named '" + name + "'");
}

// The loader refuses such files with their place; this is for configurations made by hand.
void check_slots(const config::SwitchConfig& config) {
  std::uint64_t partitions = 0;
  std::uint32_t largest = 0;
  for (const config::JobConfig& job : config.jobs) {
    if (job.slots == config::SlotMode::partition)
      partitions += job.window;
    else
      largest = std::max(largest, job.window);
  }
  if (partitions + largest > config.slots)
    throw std::invalid_argument("the jobs need " + std::to_string(partitions + largest) +
                                " slots; there are " + std::to_string(config.slots));
}

bool is_data(wire::PacketType type) {
  return type == wire::PacketType::contribution || type == wire::PacketType::probe ||
         type == wire::PacketType::ack;
}

}  // namespace

Engine::Impl::Impl(const config::SwitchConfig& config, EngineStart start)
    : next_epoch(start.epoch == 0 ? std::uint16_t{1} : start.epoch),
      first_seq(start.seq),
      udp_base_port(config.udp_base_port),
      job_index(config.jobs.size()) {
  check_slots(config);
  for (const config::JobConfig& job : config.jobs) build_job(config, job);
  payload_bytes = Engine::payload_bytes(config);
  std::span<std::byte> left = start.memory;
  if (left.empty()) {
    own_memory.reset(new (kBufferAlignment) std::byte[payload_bytes]);
    left = {own_memory.get(), payload_bytes};
  }
  std::fill(left.begin(), left.end(), std::byte{0});  // no page fault is left for the packet path
  for (std::size_t s = 0; s < config::shard_count(config); ++s) {
    const auto index = static_cast<std::uint8_t>(s);
    const std::size_t bytes = Shard::payload_bytes(config, index);
    shards.push_back(std::make_unique<Shard>(config, index, left.first(bytes)));
    left = left.subspan(bytes);
  }
}

void Engine::Impl::build_job(const config::SwitchConfig& config, const config::JobConfig& jc) {
  std::vector<std::uint16_t> pinned(jc.workers, Membership::kAnyPort);
  for (const config::MemberConfig& m : jc.members) pinned.at(m.rank) = port_index(config, m.port);
  const auto place = static_cast<std::uint32_t>(jobs.size());
  jobs.push_back(std::make_unique<Job>(jc, place, std::move(pinned)));
  if (!job_index.insert(jc.id, jobs.back().get()))
    throw std::invalid_argument("job " + std::to_string(jc.id) + " is defined twice");
  scratch_peers.reserve(std::max<std::size_t>(scratch_peers.capacity(), jc.workers));
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

Decision Engine::Impl::on_data(Shard& shard, const wire::Packet& packet, const Peer& from,
                               Instant now, Outbox& out) {
  const Decision decision = shard.on_packet(packet, from, now, out);
  if (decision.verdict == Verdict::refused) return on_control(packet, from, now, out);
  if (decision.verdict == Verdict::epoch_aborted) abort_for(shard, out);
  return decision;
}

// Everything that is not data for a shard from a member of the running epoch.
Decision Engine::Impl::on_control(const wire::Packet& packet, const Peer& from, Instant now,
                                  Outbox& out) {
  using wire::PacketType;
  Job* const job = job_index.find(packet.header.job);
  if (job == nullptr)
    return refuse(packet, from, wire::Reason::unknown_job, DropReason::unknown_job, nullptr, out);
  const PacketType type = packet.header.type;
  if (type == PacketType::join) return on_join(*job, packet, from, now, out);
  if (type == PacketType::leave) return on_leave(*job, packet, from, now, out);
  if (!is_data(type) && type != PacketType::lease) return {Verdict::dropped, DropReason::bad_type};
  if (const Decision d = check_member(*job, packet, from, now, out); d.verdict != Verdict::noted)
    return d;
  if (type == PacketType::lease) return {Verdict::noted};
  return {Verdict::dropped, DropReason::bad_shard};
}

void Engine::Impl::collect_last_heard(Job& job, std::uint32_t rank) {
  for (const auto& shard : shards)
    if (shard != nullptr)
      if (const auto when = shard->last_heard(job.place, rank)) job.membership.heard(rank, *when);
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
  for (std::uint32_t rank = 0; rank < job.config.workers; ++rank) collect_last_heard(job, rank);
  job.last_abort.reason = reason;
  job.last_abort.epoch = job.membership.epoch();
  send_abort(job, nullptr, out);
  job.membership.abort();
  clear_shards(job);
  job.counters.members.set(0);
}

void Engine::Impl::abort_for(const Shard& shard, Outbox& out) {
  Job& job = *jobs[shard.abort_job()];
  const AbortCause& why = shard.abort_request();
  if (why.reason == wire::Reason::rank_left) return abort_missing_departed(job, why.reason, out);
  job.last_abort = why;
  (why.reason == wire::Reason::deadline ? job.counters.aborts_deadline
                                        : job.counters.aborts_mismatch)
      .add();
  abort_epoch(job, why.reason, out);
}

void Engine::Impl::clear_shards(const Job& job) {
  for (const auto& shard : shards) shard->clear(job.place);
}

Engine::Engine(const config::SwitchConfig& config, EngineStart start)
    : impl_(std::make_unique<Impl>(config, start)) {
  // What people were told and what was taken are worked out apart; they must not drift.
  if (memory_bytes() != config::aggregation_memory(config).total())
    throw std::logic_error("aggregation memory: " + std::to_string(memory_bytes()) +
                           " bytes taken, " +
                           std::to_string(config::aggregation_memory(config).total()) + " planned");
}
Engine::~Engine() = default;

Decision Engine::on_packet(const wire::Packet& packet, const Peer& from, Instant now, Outbox& out) {
  const wire::Header& h = packet.header;
  if (is_data(h.type) && h.shard < impl_->shards.size())
    return impl_->on_data(*impl_->shards[h.shard], packet, from, now, out);
  return impl_->on_control(packet, from, now, out);
}

void Engine::prefetch_entry(const wire::Header& h) const {
  if (h.shard < impl_->shards.size()) impl_->shards[h.shard]->prefetch_entry(h);
}
void Engine::prefetch_sum(const wire::Header& h) const {
  if (h.shard < impl_->shards.size()) impl_->shards[h.shard]->prefetch_sum(h);
}

void Engine::expire(Instant now, Outbox& out) {
  for (const auto& shard : impl_->shards)
    while (shard->expire(now, out)) impl_->abort_for(*shard, out);
  for (const auto& job : impl_->jobs) impl_->expire_leases(*job, now, out);
}

void Engine::Impl::expire_leases(Job& job, Instant now, Outbox& out) {
  if (!job.membership.scan_due(now)) return;
  for (std::uint32_t rank = 0; rank < job.config.workers; ++rank) collect_last_heard(job, rank);
  const std::uint32_t rank = job.membership.lapsed(now);
  if (rank == job.config.workers) return;
  job.last_abort.has_error = false;
  job.last_abort.chunk = {};
  job.last_abort.missing.assign(1, rank);
  job.counters.aborts_lease.add();
  abort_epoch(job, wire::Reason::lease_expired, out);
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
  const Job* const found = impl_->job_index.find(job);
  if (found == nullptr) return {};
  return found->group_copies;
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

JobCounters Engine::counters(std::size_t i) const {
  JobCounters sum = impl_->jobs[i]->counters;
  for (std::uint8_t shard = 0; shard < impl_->shards.size(); ++shard)
    if (const ShardCounters* const part = shard_counters(i, shard)) sum.include(*part);
  return sum;
}

const ShardCounters* Engine::shard_counters(std::size_t i, std::uint8_t shard) const {
  if (shard >= impl_->shards.size()) return nullptr;
  const ShardJob* const part = impl_->shards[shard]->find_job(static_cast<std::uint32_t>(i));
  return part == nullptr ? nullptr : &part->counters;
}

std::size_t Engine::payload_bytes(const config::SwitchConfig& config) {
  std::size_t bytes = 0;
  for (std::size_t s = 0; s < config::shard_count(config); ++s)
    bytes += Shard::payload_bytes(config, static_cast<std::uint8_t>(s));
  return bytes;
}

std::uint64_t Engine::memory_bytes() const {
  std::uint64_t total = impl_->payload_bytes;
  for (const auto& shard : impl_->shards) total += shard->table_bytes();
  return total;
}

std::unique_ptr<Shard> Engine::hand_over(std::uint8_t shard) {
  return std::move(impl_->shards[shard]);
}
void Engine::take_back(std::unique_ptr<Shard> shard) {
  const std::uint8_t index = shard->index();
  impl_->shards[index] = std::move(shard);
}

}  // namespace tributary::aggregator
