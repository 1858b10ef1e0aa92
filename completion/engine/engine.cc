#include "completion/engine/engine.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "completion/engine/engine_degrade.h"
#include "completion/engine/engine_impl.h"
#include "completion/engine/engine_pieces.h"
#include "completion/engine/engine_replies.h"

namespace tributary::completion {

using aggregator::Outbox;

namespace {

// One packet causes a RESULT or an ABORT, and UNKNOWN to some ranks; expire() causes at most an
// ABORT for each job.
constexpr std::size_t kOutboxReserve = 2;

// True unless the piece was sent to, or by, a former host of the job.
bool of_this_term(const Job& job, const wire::Packet& packet) {
  if (packet.extensions.empty()) return true;
  const auto info = wire::find_result_info(packet.extensions);
  return !info || info->host_term == job.host_term;
}

// The second attempt has only single contributions, as floats (rule 12), and probes.
bool valid_attempt(const Job& job, const wire::Header& h) {
  if (h.attempt == 0) return true;
  if (h.attempt != wire::kFloatRetry || !job.float_retry) return false;
  if (h.type == wire::PacketType::probe) return true;
  return h.type == wire::PacketType::contribution && (h.flags & wire::kFlagFloatRetry) != 0 &&
         h.dtype == wire::DType::float32 && h.encoding == wire::Encoding::plain &&
         h.reduce_op == wire::ReduceOp::sum && h.collective == wire::Collective::allreduce;
}

Decision on_ack(Job& job, const wire::Header& header) {
  job.release_before(header.shard, header.seq);
  job.refresh_gauges();
  return {Verdict::noted};
}

Decision dispatch(Job& job, const wire::Packet& packet, Instant now, Outbox& out) {
  const wire::Header& h = packet.header;
  if (job.state == JobState::idle) return {Verdict::dropped, DropReason::not_joined};
  if (h.epoch != job.epoch || !valid_attempt(job, h) || !of_this_term(job, packet)) {
    job.counters.stale.add();
    return {Verdict::dropped, DropReason::stale_epoch};
  }
  if (job.state == JobState::aborted) return repeat_abort(job, out);
  if (h.shard >= job.limits.shards) return {Verdict::dropped, DropReason::bad_shard};
  switch (h.type) {
    case wire::PacketType::contribution:
    case wire::PacketType::aggregate: return on_piece(job, packet, now, out);
    case wire::PacketType::escalation:
      return h.covered == 0 ? on_mark(job, packet, now) : on_piece(job, packet, now, out);
    case wire::PacketType::probe: return on_probe(job, packet, out);
    case wire::PacketType::ack: return on_ack(job, h);
    default: return {Verdict::dropped, DropReason::bad_type};
  }
}

}  // namespace

Engine::Impl::Impl(std::span<const JobLimits> limits) {
  for (const JobLimits& job : limits) {
    jobs.push_back(std::make_unique<Job>(job));
    if (!by_id.emplace(job.id, jobs.back().get()).second)
      throw std::invalid_argument("completion engine: job " + std::to_string(job.id) +
                                  " appears twice");
  }
}

Job* Engine::Impl::find_job(std::uint32_t id) {
  const auto found = by_id.find(id);
  return found == by_id.end() ? nullptr : found->second;
}

Engine::Engine(std::span<const JobLimits> jobs) : impl_(std::make_unique<Impl>(jobs)) {}
Engine::~Engine() = default;

void Engine::start_epoch(std::uint32_t job, std::uint16_t epoch, std::uint32_t first_seq,
                         std::uint32_t host_term, bool retries, bool may_degrade,
                         std::optional<std::uint32_t> workers) {
  Job* const j = impl_->find_job(job);
  if (j == nullptr) return;
  j->start(epoch, first_seq, host_term, retries, may_degrade);
  j->resize(workers.value_or(j->limits.workers));
}

void Engine::set_model(std::uint32_t job, Model& model) {
  if (Job* j = impl_->find_job(job)) j->model = &model;
}

void Engine::end_epoch(std::uint32_t job) {
  Job* j = impl_->find_job(job);
  if (j != nullptr && j->state != JobState::idle) j->stop(JobState::idle);
}

bool Engine::is_open(const wire::Header& h) const {
  Job* const job = impl_->find_job(h.job);
  if (job == nullptr || job->state != JobState::running || h.epoch != job->epoch ||
      h.shard >= job->limits.shards)
    return false;
  Chunk* chunk = nullptr;
  return job->find(h.shard, h.seq, chunk) == Job::Find::found && chunk->state == ChunkState::open &&
         chunk->given_up && chunk->attempt == h.attempt && chunk->description.op == h.op &&
         chunk->description.chunk == h.chunk;
}

std::uint16_t Engine::epoch_of(std::uint32_t job) const {
  const Job* j = impl_->find_job(job);
  return j == nullptr ? std::uint16_t{0} : j->epoch;
}

Decision Engine::on_packet(const wire::Packet& packet, Instant now, Outbox& out) {
  Job* job = impl_->find_job(packet.header.job);
  if (job == nullptr) return {Verdict::dropped, DropReason::unknown_job};
  const Decision decision = dispatch(*job, packet, now, out);
  return job->broken ? abort_broken(*job, out) : decision;
}

void Engine::expire(Instant now, Outbox& out) {
  // Leaves room for an ABORT of each job.
  const std::size_t most = outbox_capacity() - impl_->jobs.size();
  const std::size_t end = out.items().size() + std::min(most, out.room());
  for (const auto& job : impl_->jobs) {
    if (job->state != JobState::running) continue;
    if (job->limits.degraded_after != Duration::max()) {
      degrade_waiting(*job, now, end, out);
    } else if (const auto* overdue = static_cast<const Chunk*>(job->deadlines.due(now))) {
      abort_overdue(*job, *overdue, out);
    }
    if (job->broken) abort_broken(*job, out);
  }
}

void Engine::result_accepted(std::uint32_t job_id, std::uint8_t shard, std::uint32_t seq) {
  Job* job = impl_->find_job(job_id);
  Chunk* chunk = nullptr;
  if (job == nullptr || job->state != JobState::running || shard >= job->limits.shards) return;
  if (job->find(shard, seq, chunk) != Job::Find::found) return;
  if (chunk->state != ChunkState::complete) return;
  job->release(*chunk);
  job->refresh_gauges();
}

void Engine::accepted_before(std::uint32_t job_id, std::uint8_t shard, std::uint32_t seq) {
  Job* job = impl_->find_job(job_id);
  if (job == nullptr || job->state != JobState::running || shard >= job->limits.shards) return;
  job->release_before(shard, seq);
  job->refresh_gauges();
}

struct Engine::Change {
  std::vector<std::unique_ptr<Job>> jobs;  // nullptr: unchanged
  std::vector<std::size_t> stays_from;     // for those: the place before
  std::unordered_map<std::uint32_t, Job*> by_id;
};

std::shared_ptr<Engine::Change> Engine::prepare(std::span<const JobLimits> next) const {
  auto change = std::make_shared<Change>();
  for (const JobLimits& limits : next) {
    const auto same = [&limits](const auto& job) { return job->limits == limits; };
    const auto before = std::find_if(impl_->jobs.begin(), impl_->jobs.end(), same);
    const bool stays = before != impl_->jobs.end();
    change->jobs.push_back(stays ? nullptr : std::make_unique<Job>(limits));
    change->stays_from.push_back(static_cast<std::size_t>(before - impl_->jobs.begin()));
    change->by_id.emplace(limits.id, stays ? before->get() : change->jobs.back().get());
  }
  return change;
}

void Engine::apply(Change& change) {
  for (std::size_t i = 0; i < change.jobs.size(); ++i)
    if (change.jobs[i] == nullptr) change.jobs[i] = std::move(impl_->jobs[change.stays_from[i]]);
  std::swap(impl_->jobs, change.jobs);
  std::swap(impl_->by_id, change.by_id);
}

std::size_t Engine::outbox_capacity() const {
  std::size_t ranks = 0;
  for (const auto& job : impl_->jobs) ranks = std::max<std::size_t>(ranks, job->limits.workers);
  return ranks + impl_->jobs.size() + kOutboxReserve;
}
std::size_t Engine::outbox_capacity(std::span<const JobLimits> jobs) {
  std::size_t ranks = 0;
  for (const JobLimits& job : jobs) ranks = std::max<std::size_t>(ranks, job.workers);
  return ranks + jobs.size() + kOutboxReserve;
}

std::size_t Engine::job_count() const {
  return impl_->jobs.size();
}
const JobLimits& Engine::limits(std::size_t index) const {
  return impl_->jobs[index]->limits;
}
const JobCounters& Engine::counters(std::size_t index) const {
  return impl_->jobs[index]->counters;
}

std::uint64_t Engine::memory_bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& job : impl_->jobs) bytes += job->memory_bytes();
  return bytes;
}

std::vector<ChunkStatus> Engine::status(Instant now, std::size_t most) const {
  std::vector<ChunkStatus> all;
  for (const auto& job : impl_->jobs) {
    for (const Chunk* c = job->first_open(); c != nullptr && all.size() < most; c = c->next_open) {
      std::vector<std::uint32_t> missing(16);
      missing.resize(job->missing(*c, missing));
      all.push_back({job->limits.id, job->limits.plane, c->shard, c->description.op,
                     c->description.chunk, c->seq, c->reason, c->covered_count,
                     required_ranks(*c, job->workers()), c->piece_count, now - c->armed_at,
                     std::move(missing)});
    }
  }
  return all;
}

}  // namespace tributary::completion
