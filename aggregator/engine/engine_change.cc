// Change of configuration while jobs run (rule 16): unchanged jobs keep their place and all state;
// the others end their epoch and make room for new ones.
//
// A job that only changes takes over the state that outlives an epoch: its counters, its completion
// host, how its last epoch ended, nonces that have had their epoch, and, if that is the same, its
// state towards the switch above.
#include <algorithm>
#include <stdexcept>
#include <string>

#include "aggregator/engine/engine_impl.h"
#include "config/plan/aggregation_memory.h"

namespace tributary::aggregator {
namespace {

std::uint16_t port_index(const config::SwitchConfig& config, const std::string& name) {
  for (std::size_t i = 0; i < config.ports.size(); ++i)
    if (config.ports[i].name == name) return static_cast<std::uint16_t>(i);
  throw std::invalid_argument("no port is named '" + name + "'");
}

// Records of so many removed jobs are kept until they are read: as many as a switch has jobs.
constexpr std::size_t kMostPastEpochs = 256;

// Partitions of slots that are in use: first slot and number.
using Partitions = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

// Takes the lowest slot from which on `count` slots are free.
std::uint32_t take_gap(Partitions& used, std::uint32_t count) {
  std::sort(used.begin(), used.end());
  std::uint32_t begin = 0;
  for (const auto& [first, slots] : used) {
    if (first - begin >= count) break;
    begin = first + slots;
  }
  used.emplace_back(begin, count);
  return begin;
}

}  // namespace

std::unique_ptr<Job> Engine::Impl::make_job(const config::SwitchConfig& config,
                                            const config::JobConfig& jc, std::uint32_t place,
                                            std::uint64_t seed) const {
  std::vector<std::uint16_t> pinned(config::job_fan_in(jc), Membership::kAnyPort);
  if (jc.children.empty())
    for (const config::MemberConfig& m : jc.members) pinned.at(m.rank) = port_index(config, m.port);
  for (std::size_t i = 0; i < jc.children.size(); ++i)
    if (!jc.children[i].port.empty()) pinned[i] = port_index(config, jc.children[i].port);
  auto job = std::make_unique<Job>(jc, place, std::move(pinned));
  if (jc.parent)
    job->upstream.emplace(*jc.parent,
                          addresses.parent(*jc.parent, port_index(config, jc.parent->uplink)),
                          jc.lease, seed + jc.id * 0x9E3779B97F4A7C15ULL);
  return job;
}

// Jobs that stay keep place and slots; the others take free ones.
std::vector<JobPlacement> Engine::Impl::place_jobs(const config::SwitchConfig& next) const {
  std::vector<JobPlacement> placed;
  Partitions partitions;
  std::vector<bool> taken(all_shards.front()->job_places());
  for (const config::JobConfig& jc : next.jobs) {
    const Job* const before = job_index.find(jc.id);
    const bool stays = before != nullptr && before->config == jc;
    const std::uint32_t slot = stays ? shards.front()->find_job(before->place)->first_slot : 0;
    placed.push_back({&jc, before == nullptr ? kNone : before->place, slot, !stays});
    if (stays && jc.slots == config::SlotMode::partition) partitions.emplace_back(slot, jc.window);
    if (before != nullptr) taken[before->place] = true;
  }
  for (JobPlacement& p : placed) {
    if (p.config->shards > shards.size())
      throw std::invalid_argument("job " + std::to_string(p.config->id) + " has " +
                                  std::to_string(p.config->shards) +
                                  " shards; at start no job had "
                                  "more than " +
                                  std::to_string(shards.size()));
    if (p.is_new && p.config->slots == config::SlotMode::partition)
      p.first_slot = take_gap(partitions, p.config->window);
    if (p.place != kNone) continue;
    p.place =
        static_cast<std::uint32_t>(std::find(taken.begin(), taken.end(), false) - taken.begin());
    if (p.place == taken.size())
      throw std::invalid_argument("there is room for " + std::to_string(taken.size()) +
                                  " jobs; with switch.memory.reserve_megabytes for more");
    taken[p.place] = true;
  }
  return placed;
}

// The pool of the dynamic jobs stays as large as it was at start. The file's own check ensures that
// the rest of switch.slots holds the partitions of the other jobs.
void Engine::Impl::check_slots_for(const config::SwitchConfig& next) const {
  const std::uint32_t pool = all_shards.front()->pool_slots();
  for (const config::JobConfig& job : next.jobs)
    if (job.slots == config::SlotMode::dynamic && job.window > pool)
      throw std::invalid_argument("job " + std::to_string(job.id) + " needs a pool of " +
                                  std::to_string(job.window) + " slots; since the start it has " +
                                  std::to_string(pool));
}

std::shared_ptr<EngineChange> Engine::prepare(const config::SwitchConfig& next) {
  impl_->check_slots_for(next);
  for (std::size_t i = 0; i < impl_->shards.size(); ++i)
    if (impl_->shards[i] == nullptr)
      throw std::invalid_argument("shard " + std::to_string(i) + " is with another owner");
  const std::vector<JobPlacement> placed = impl_->place_jobs(next);
  auto change = std::make_shared<EngineChange>(
      EngineChange{{}, {}, JobIndex<Job>(next.jobs.size()), {}, {}, {}, {}, outbox_capacity(next)});
  change->jobs.reserve(placed.size());
  change->peers.reserve(config::largest_fan_in(next));
  const std::uint64_t seed = impl_->nonce_seed + ++impl_->changes * 0xD1342543DE82EF95ULL;
  for (const JobPlacement& p : placed) {
    change->jobs.push_back(p.is_new ? impl_->make_job(next, *p.config, p.place, seed) : nullptr);
    Job* const job = p.is_new ? change->jobs.back().get() : impl_->job_index.find(p.config->id);
    change->job_index.insert(p.config->id, job);
    const auto is_it = [job](const auto& j) { return j.get() == job; };
    const auto at = std::find_if(impl_->jobs.begin(), impl_->jobs.end(), is_it);
    change->stays_from.push_back(static_cast<std::size_t>(at - impl_->jobs.begin()));
  }
  for (const auto& job : impl_->jobs)
    if (change->job_index.find(job->config.id) != job.get())
      change->ending.push_back(job->config.id);
  change->past_epochs.reserve(change->ending.size() + impl_->past_epochs.size());
  for (const auto& shard : impl_->shards)
    change->shards.push_back(shard->prepare(placed, *impl_->reserve));
  return change;
}

void Engine::quiesce(const EngineChange& change, Outbox& out) {
  impl_->check_all_here();
  for (const std::uint32_t id : change.ending) {
    Job& job = *impl_->job_index.find(id);
    if (job.membership.state() != JobState::running) continue;
    impl_->set_cause(job, impl_->switch_id);
    // Those that have not finished the op after which the epoch was to end.
    if (job.drain.under_way())
      impl_->list_ranks(job, job.membership.awaited(impl_->scratch_ids, Instant()));
    job.counters.aborts_change.add();
    impl_->abort_epoch(job, wire::Reason::configuration_changed, out);
  }
}

void Engine::Impl::inherit(Job& from, Job& to) {
  to.counters = from.counters;
  std::swap(to.epochs, from.epochs);
  to.completion_host = from.completion_host;
  to.host_term = from.host_term;
  std::swap(to.last_abort, from.last_abort);
  to.drain = from.drain;
  to.drain.hold(Holder::change, false);
  to.drain.forming = {};
  const std::uint32_t size = from.child_map.workers();
  if (config::resizes(to.config) && config::resizes(from.config) && size <= to.config.workers) {
    to.resize(size);
    to.newcomers_from = from.newcomers_from;
  }
  for (std::uint32_t child = 0; child < to.child_map.count(); ++child) {
    const auto other = from.child_map.child_of(to.child_map.lowest_rank(child));
    if (other && from.child_map[*other].id == to.child_map[child].id &&
        from.child_map[*other].is_switch == to.child_map[child].is_switch)
      to.membership.adopt(child, from.membership, *other);
  }
  to.membership.adopt_epoch(from.membership);
  if (!to.upstream || to.config.parent != from.config.parent ||
      to.config.lease != from.config.lease)
    return;
  to.upstream = from.upstream;
  if (to.upstream->state() == Upstream::State::joining) to.upstream->end();  // of another tree
}

void Engine::Impl::keep_records(std::span<std::unique_ptr<Job>> replaced,
                                std::vector<std::unique_ptr<EpochLog>>& room) {
  const auto keep = [&](std::unique_ptr<EpochLog>& log) {
    if (log->newest() > records_read && room.size() < kMostPastEpochs)
      room.push_back(std::move(log));
  };
  for (const auto& job : replaced)
    if (job != nullptr && job_index.find(job->config.id) == nullptr) keep(job->epochs);
  for (auto& log : past_epochs) keep(log);
  std::swap(past_epochs, room);
}

void Engine::apply(EngineChange& change) {
  impl_->check_all_here();
  for (std::size_t i = 0; i < impl_->shards.size(); ++i) impl_->shards[i]->apply(change.shards[i]);
  for (const auto& job : change.jobs) {
    if (job == nullptr) continue;
    if (Job* const before = impl_->job_index.find(job->config.id)) impl_->inherit(*before, *job);
  }
  for (std::size_t i = 0; i < change.jobs.size(); ++i)
    if (change.jobs[i] == nullptr) change.jobs[i] = std::move(impl_->jobs[change.stays_from[i]]);
  std::swap(impl_->jobs, change.jobs);
  std::swap(impl_->job_index, change.job_index);
  impl_->keep_records(change.jobs, change.past_epochs);
  std::swap(impl_->scratch_peers, change.peers);
  std::swap(impl_->outbox_capacity, change.outbox_capacity);
}

std::size_t Engine::Impl::lose_where(Job& job, const Engine::Gone& gone) {
  std::size_t lost = 0;
  for (std::uint32_t child = 0; child < job.child_map.count(); ++child) {
    const Member& m = job.membership.member(child);
    if (!gone(m.peer)) continue;
    if (m.joined) job.membership.leave(child);
    if (m.present && lost < scratch_ids.size()) scratch_ids[lost++] = child;
  }
  return lost;
}

void Engine::Impl::end_where(Job& job, const Engine::Gone& gone, Outbox& out) {
  const std::size_t lost = lose_where(job, gone);
  if (lost == 0) return;
  set_cause(job, switch_id);
  list_ranks(job, lost);
  job.counters.aborts_change.add();
  abort_epoch(job, wire::Reason::configuration_changed, out);
}

void Engine::Impl::lose_behind(Job& job, std::uint16_t port, Duration gone, Outbox& out) {
  if (job.config.lease > gone * kGonePart) return;
  const std::size_t lost =
      lose_where(job, [port](const Endpoint& peer) { return peer.port() == port; });
  if (lost == 0) return;
  set_cause(job, lost == 1 ? job.child_map.switch_id(scratch_ids[0]) : 0);
  list_ranks(job, lost);
  job.counters.aborts_lease.add();
  abort_epoch(job, wire::Reason::lease_expired, out);
}

void Engine::lose_behind(std::uint16_t port, Duration gone, Outbox& out) {
  for (const auto& job : impl_->jobs) impl_->lose_behind(*job, port, gone, out);
}

void Engine::end_where(const Gone& gone, Outbox& out) {
  for (const auto& job : impl_->jobs) impl_->end_where(*job, gone, out);
}

void Engine::end_behind(std::uint16_t port, Outbox& out) {
  end_where([port](const Endpoint& peer) { return peer.port() == port; }, out);
}

}  // namespace tributary::aggregator
