#include "aggregator/engine/engine.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "aggregator/engine/engine_impl.h"
#include "config/plan/aggregation_memory.h"

namespace tributary::aggregator {
namespace {

// Room for START to every rank of the largest job, and for messages that one packet adds.
constexpr std::size_t kOutboxReserve = 16;
// Heartbeats and leases take milliseconds at least, so not every burst has to check each job.
constexpr Duration kJobsApart = Duration::us(100);

// The loader refuses such files and names the line; this is for configurations built in code.
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

constexpr std::uint32_t bit(wire::PacketType type) {
  return 1u << static_cast<unsigned>(type);
}

bool is_data(wire::PacketType type) {
  using enum wire::PacketType;
  return (bit(type) &
          (bit(contribution) | bit(aggregate) | bit(probe) | bit(ack) | bit(escalation))) != 0;
}

// Packet types that a switch sends to those below it, and ABORT, which it also sends up.
bool goes_down(wire::PacketType type) {
  using enum wire::PacketType;
  return (bit(type) &
          (bit(result) | bit(pending) | bit(unknown) | bit(start) | bit(nack) | bit(abort))) != 0;
}

}  // namespace

Engine::Impl::Impl(const config::SwitchConfig& config, const AddressBook& book, EngineStart start)
    : addresses(book),
      first_seq(start.seq),
      next_epoch(start.epoch == 0 ? std::uint16_t{1} : start.epoch),
      udp_base_port(config.udp_base_port),
      takes_fragments(config::takes_fragments(config)),
      switch_id(config.id),
      nonce_seed(start.nonce_seed),
      open_desk(start.open_desk),
      outbox_capacity(Engine::outbox_capacity(config)),
      job_index(config.jobs.size()) {
  check_slots(config);
  scratch_peers.reserve(config::largest_fan_in(config));
  jobs.reserve(config.jobs.size());
  shards.reserve(config::engine_shards(config));
  all_shards.reserve(config::engine_shards(config));
  for (const config::JobConfig& job : config.jobs) {
    jobs.push_back(make_job(config, job, static_cast<std::uint32_t>(jobs.size()), nonce_seed));
    if (!job_index.insert(job.id, jobs.back().get()))
      throw std::invalid_argument("job " + std::to_string(job.id) + " is defined twice");
  }
  payload_bytes = Engine::payload_bytes(config);
  std::span<std::byte> left = start.memory;
  if (left.empty()) {
    own_memory.reset(new (kBufferAlignment) std::byte[payload_bytes]);
    left = {own_memory.get(), payload_bytes};
  }
  std::fill(left.begin(), left.end(), std::byte{0});  // touches each page: no page faults later
  for (std::size_t s = 0; s < config::engine_shards(config); ++s) {
    const auto index = static_cast<std::uint8_t>(s);
    const std::size_t bytes = Shard::payload_bytes(config, index);
    shards.push_back(std::make_shared<Shard>(config, index, left.first(bytes)));
    all_shards.push_back(shards.back());
    left = left.subspan(bytes);
  }
  reserve.emplace(left.first(config::reserve_bytes(config)));
}

Decision Engine::Impl::refuse(const wire::Packet& packet, const Endpoint& from, wire::Reason why,
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
  o->header.plane = in.plane;
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

Decision Engine::Impl::check_member(Job& job, const wire::Packet& packet, const Endpoint& from,
                                    Instant now, Outbox& out) {
  const wire::Header& h = packet.header;
  const bool of_last_epoch = h.epoch == job.membership.epoch() && h.epoch != 0;
  // Checked first: the packet's child index may be that of an earlier configuration.
  if (of_last_epoch && job.last_abort.reason != wire::Reason::none &&
      job.last_abort.epoch == h.epoch) {
    send_abort(job, &from, out);
    return {Verdict::refused, DropReason::aborted};
  }
  // A rank may be outside a job that was resized since.
  const bool was_inside = config::resizes(job.config) && !of_last_epoch;
  if (!job.child_map.knows(h) && !was_inside)
    return refuse(packet, from, wire::Reason::bad_rank, DropReason::bad_child, &job, out);
  if (!of_last_epoch)
    return refuse(packet, from, wire::Reason::stale_epoch, DropReason::stale_epoch, &job, out);
  if (!job.membership.member(h.child).present)
    return refuse(packet, from, wire::Reason::not_joined, DropReason::not_joined, &job, out);
  if (!job.membership.is_present(h.child, from, now))
    return refuse(packet, from, wire::Reason::sender_mismatch, DropReason::sender_mismatch, &job,
                  out);
  return {Verdict::noted, DropReason::none};
}

Decision Engine::Impl::on_data(Shard& shard, const wire::Packet& packet, const Endpoint& from,
                               Instant now, Outbox& out) {
  const Decision decision = shard.on_packet(packet, from, now, out);
  if (decision.verdict == Verdict::refused) return on_control(packet, from, now, out);
  if (decision.verdict == Verdict::epoch_aborted) abort_for(shard, out);
  return decision;
}

// Handles all packets but data for a shard from a member of the running epoch.
Decision Engine::Impl::on_control(const wire::Packet& packet, const Endpoint& from, Instant now,
                                  Outbox& out) {
  using wire::PacketType;
  Job* const job = job_index.find(packet.header.job);
  const PacketType type = packet.header.type;
  if (type == PacketType::probe && packet.header.epoch == 0)
    return answer_path_probe(job, packet, from, out);
  if (job == nullptr && type == PacketType::join) return on_unknown_join(packet, from, out);
  if (job == nullptr)
    return refuse(packet, from, wire::Reason::unknown_job, DropReason::unknown_job, nullptr, out);
  if (packet.header.plane != job->config.plane) return refuse_plane(*job, packet, from, out);
  if (type == PacketType::join) return on_join(*job, packet, from, now, out);
  if (type == PacketType::leave) return on_leave(*job, packet, from, now, out);
  if (!is_data(type) && type != PacketType::lease) return {Verdict::dropped, DropReason::bad_type};
  if (const Decision d = check_member(*job, packet, from, now, out); d.verdict != Verdict::noted)
    return d;
  if (type == PacketType::lease) {
    // A switch asks whether the one above it is alive.
    if (job->child_map[packet.header.child].is_switch) send_ack(*job, packet, from, out);
    return {Verdict::noted};
  }
  return {Verdict::dropped, DropReason::bad_shard};
}

void Engine::Impl::collect_last_heard(Job& job, std::uint32_t child) {
  for (const auto& shard : all_shards)
    if (const auto when = shard->last_heard(job.place, child)) job.membership.heard(child, *when);
}

// Sends job.last_abort: to one peer, or to the whole group.
void Engine::Impl::send_abort(const Job& job, const Endpoint* to, Outbox& out) {
  Outgoing* o = out.add();
  if (o == nullptr) return;
  const AbortCause& cause = job.last_abort;
  o->to = to == nullptr ? Outgoing::To::job_group : Outgoing::To::peer;
  if (to != nullptr) o->peer = *to;
  o->header = job.header(wire::PacketType::abort);
  o->header.epoch = cause.epoch;
  write_cause(cause, *o);
}

void Engine::Impl::write_cause(const AbortCause& cause, Outgoing& message) {
  wire::Header& h = message.header;
  h.op = cause.chunk.op;
  h.chunk = cause.chunk.chunk;
  h.seq = cause.chunk.seq;
  h.shard = cause.chunk.shard;
  h.slot = cause.lost_switch;
  h.reason = cause.reason;
  wire::ExtensionWriter ext(message.extensions);
  if (cause.has_error)
    ext.add(cause.error);
  else
    ext.add_missing_ids(cause.missing);
  message.extension_bytes = ext.bytes().size();
}

void Engine::Impl::set_cause(Job& job, std::uint32_t lost_switch) {
  job.last_abort.has_error = false;
  job.last_abort.chunk = {};
  job.last_abort.missing.clear();
  job.last_abort.lost_switch = lost_switch;
}

void Engine::Impl::blame_child(Job& job, std::uint32_t child) {
  set_cause(job, job.child_map.switch_id(child));
  scratch_ids[0] = child;
  list_ranks(job, 1);
}

void Engine::Impl::list_ranks(Job& job, std::size_t children) {
  RankList ranks(job.child_map, scratch_ranks);
  for (const std::uint32_t child : std::span(scratch_ids).first(children)) ranks.add(child);
  job.last_abort.missing.assign(ranks.ranks().begin(), ranks.ranks().end());
}

// Ends the epoch; the caller has filled job.last_abort's ids, error and chunk. Frees all it held.
void Engine::Impl::abort_epoch(Job& job, wire::Reason reason, Outbox& out) {
  for (std::uint32_t c = 0; c < job.child_map.count(); ++c) collect_last_heard(job, c);
  job.last_abort.reason = reason;
  job.last_abort.epoch = job.membership.epoch();
  if (job.drain.under_way()) job.drain.phase = Drain::Phase::failed;
  if (!job.drain.paused_since) job.drain.paused_since = lost_since(job);
  send_abort(job, nullptr, out);
  send_farewell(job, out);
  if (job.membership.state() == JobState::running) record_abort(job);
  job.membership.abort();
  clear_shards(job);
  job.counters.members.set(0);
}

// When ranks that retry began to wait: what a lapsed lease ends stood still from the last sign of
// life on.
Instant Engine::Impl::lost_since(const Job& job) const {
  Instant since = std::max(looked_at, job.epochs->latest());
  if (job.last_abort.reason != wire::Reason::lease_expired) return since;
  for (const Member& m : job.membership.all())
    if (m.present) since = std::min(since, m.last_seen);
  return since;
}

void Engine::Impl::abort_for(const Shard& shard, Outbox& out) {
  Job& job = *job_index.find(shard.find_job(shard.abort_job())->config.id);
  const AbortCause& why = shard.abort_request();
  if (why.reason == wire::Reason::rank_left) return abort_missing_departed(job, why.reason, out);
  job.last_abort = why;
  switch (why.reason) {
    case wire::Reason::deadline: job.counters.aborts_deadline.add(); break;
    case wire::Reason::broken_invariant: job.counters.aborts_broken.add(); break;
    default: job.counters.aborts_mismatch.add();
  }
  abort_epoch(job, why.reason, out);
}

void Engine::Impl::clear_shards(const Job& job) {
  for (const auto& shard : shards)
    if (shard != nullptr) shard->clear(job.place);
}

Engine::Engine(const config::SwitchConfig& config, const AddressBook& addresses, EngineStart start)
    : impl_(std::make_unique<Impl>(config, addresses, start)) {
  // The planned figures and the memory that is taken are computed separately; they must not differ.
  if (memory_bytes() != config::aggregation_memory(config).total())
    throw std::logic_error("aggregation memory: " + std::to_string(memory_bytes()) +
                           " bytes taken, " +
                           std::to_string(config::aggregation_memory(config).total()) + " planned");
}
Engine::~Engine() = default;

Decision Engine::on_packet(const wire::Packet& packet, const Endpoint& from, Instant now,
                           Outbox& out) {
  const wire::Header& h = packet.header;
  if (Shard* const shard = impl_->shard_at(h.shard)) {
    const Decision decision = shard->take_plain(packet, from, now, out);
    if (decision.verdict != Verdict::refused) return decision;
  }
  return impl_->on_other(packet, from, now, out);
}

Decision Engine::Impl::on_other(const wire::Packet& packet, const Endpoint& from, Instant now,
                                Outbox& out) {
  const wire::Header& h = packet.header;
  const bool both_ways = h.type == wire::PacketType::ack || h.type == wire::PacketType::escalation;
  if (goes_down(h.type) || (both_ways && is_from_parent(h.job, from)))
    return on_downward(packet, from, now, out);
  if (h.type == wire::PacketType::lease && !packet.extensions.empty())
    if (const auto drain = wire::find_drain(packet.extensions))
      return on_drain(packet, *drain, from, now, out);
  Shard* const shard = shard_at(h.shard);
  if (is_data(h.type) && shard != nullptr) return on_data(*shard, packet, from, now, out);
  return on_control(packet, from, now, out);
}

void Engine::prefetch_entry(const wire::Header& h) const {
  if (const Shard* const shard = impl_->shard_at(h.shard)) shard->prefetch_entry(h);
}
void Engine::prefetch_data(const wire::Packet& p, Payloads payloads) const {
  if (const Shard* const shard = impl_->shard_at(p.header.shard)) shard->prefetch_data(p, payloads);
}

void Engine::begin_burst() {
  for (const auto& shard : impl_->shards)
    if (shard != nullptr) shard->begin_burst();
}
void Engine::end_burst() {
  for (const auto& shard : impl_->shards)
    if (shard != nullptr) shard->end_burst();
}

void Engine::expire(Instant now, Outbox& out) {
  for (const auto& shard : impl_->shards)
    while (shard != nullptr && shard->expire(now, out)) impl_->abort_for(*shard, out);
  if (now < impl_->jobs_due) return;
  impl_->looked_at = now;
  impl_->jobs_due = now + kJobsApart;
  for (const auto& job : impl_->jobs) {
    impl_->expire_leases(*job, now, out);
    impl_->ask_silent(*job, now, out);
    const Instant next = job->membership.next_scan();
    if (next > now) impl_->jobs_due = std::min(impl_->jobs_due, next);
    if (job->upstream) impl_->expire_upstream(*job, now, out);
    if (job->drain.phase != Drain::Phase::none || job->drain.held_by != 0)
      impl_->expire_drain(*job, now, out);
  }
}

void Engine::Impl::expire_leases(Job& job, Instant now, Outbox& out) {
  if (!job.membership.scan_due(now)) return;
  for (std::uint32_t c = 0; c < job.child_map.count(); ++c) collect_last_heard(job, c);
  const std::uint32_t child = job.membership.lapsed(now);
  if (child == job.child_map.count()) return;
  blame_child(job, child);
  job.counters.aborts_lease.add();
  abort_epoch(job, wire::Reason::lease_expired, out);
}

void Engine::shut_down(Outbox& out) {
  for (const auto& job : impl_->jobs) {
    if (job->membership.state() != JobState::running) continue;
    impl_->set_cause(*job, impl_->switch_id);
    job->counters.aborts_shutdown.add();
    impl_->abort_epoch(*job, wire::Reason::shutdown, out);
  }
}

Members Engine::members(std::uint32_t job) const {
  const Job* const found = impl_->job_index.find(job);
  if (found == nullptr) return {};
  return {found->membership.all(), found->epoch_serial};
}

std::optional<std::uint16_t> Engine::uplink(std::uint32_t job) const {
  const Job* const found = impl_->job_index.find(job);
  if (found == nullptr || !found->upstream) return std::nullopt;
  return found->upstream->port();
}

std::size_t Engine::outbox_capacity(const config::SwitchConfig& config) {
  std::size_t most = config.jobs.size();
  for (const auto& job : config.jobs) most = std::max<std::size_t>(most, config::job_fan_in(job));
  return most + 3 * config.jobs.size() + kOutboxReserve;
}

std::size_t Engine::outbox_capacity() const {
  return impl_->outbox_capacity;
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
  if (shard >= impl_->all_shards.size()) return nullptr;
  const ShardJob* const part = impl_->all_shards[shard]->find_job(impl_->jobs[i]->place);
  return part == nullptr ? nullptr : &part->counters;
}

HoldTimes Engine::slot_holds() const {
  HoldTimes sum;
  for (const auto& shard : impl_->all_shards) {
    sum.include(shard->past_holds());
    for (std::size_t i = 0; i < impl_->jobs.size(); ++i)
      if (const ShardCounters* const part = shard_counters(i, shard->index()))
        sum.include(part->slot_hold);
  }
  return sum;
}

std::size_t Engine::payload_bytes(const config::SwitchConfig& config) {
  std::size_t bytes = 0;
  for (std::size_t s = 0; s < config::engine_shards(config); ++s)
    bytes += Shard::payload_bytes(config, static_cast<std::uint8_t>(s));
  return bytes + config::reserve_bytes(config);
}

std::uint64_t Engine::memory_bytes() const {
  static_assert(sizeof(Impl) <= config::kEngineBytes);
  const auto of = [](const auto& table) { return table.capacity() * sizeof(table[0]); };
  std::uint64_t total = impl_->payload_bytes + config::kEngineBytes;
  total += of(impl_->jobs) + impl_->job_index.table_bytes() + of(impl_->scratch_peers);
  total += of(impl_->shards) + of(impl_->all_shards);
  for (const auto& job : impl_->jobs) total += job->table_bytes();
  for (const auto& shard : impl_->all_shards) total += shard->table_bytes();
  return total;
}

}  // namespace tributary::aggregator
