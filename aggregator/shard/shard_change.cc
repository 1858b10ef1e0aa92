// Exchanges jobs in the places of a shard, between two packets.
//
// A job that is new to its place gets payload buffers that jobs of the same buffer size have
// returned, if there are enough, or else from the reserve. The control thread allocates and frees
// its tables. The state of other jobs stays in place.
#include <algorithm>
#include <stdexcept>
#include <string>

#include "aggregator/shard/shard.h"

namespace tributary::aggregator {
namespace {

std::unique_ptr<OwnBuffers> own_buffers(const config::JobConfig& job, std::size_t bytes,
                                        std::uint32_t count, Reserve& reserve) {
  auto piece = reserve.take(count * bytes);
  if (!piece)
    throw std::invalid_argument(
        "job " + std::to_string(job.id) + " needs " + std::to_string(count) + " buffers of " +
        std::to_string(bytes) + " bytes in each shard, " + std::to_string(count * bytes) +
        " bytes; of switch.memory.reserve_megabytes " + std::to_string(reserve.free_bytes()) +
        " of " + std::to_string(reserve.bytes()) + " bytes are free, and not in one piece");
  const std::span<std::byte> memory = piece->bytes();
  return std::make_unique<OwnBuffers>(
      OwnBuffers{std::move(*piece), {BufferPool(memory, bytes, count), ResultCache(0, 0)}});
}

// `user` works with the buffers that the previous job had for itself.
void inherit(std::unique_ptr<OwnBuffers>& from, std::unique_ptr<OwnBuffers>& to,
             const BufferPool* user) {
  if (from != nullptr && &from->buffers.buffers == user) to = std::move(from);
}

}  // namespace

// For each class, the buffers that no remaining job has a claim to.
std::vector<std::uint32_t> Shard::unused_buffers(std::span<const JobPlacement> places) const {
  std::vector<std::uint32_t> unused;
  for (const auto& c : classes_) {
    std::uint32_t left = c->buffers.count() - c->cache.capacity();
    if (c.get() == bracket_class_) left -= config::kMaxBracketDepth;
    for (const JobPlacement& p : places) {
      const ShardJob* const job = jobs_[p.place].get();
      if (p.is_new || job == nullptr) continue;
      if (&job->buffers == &c->buffers) left -= 2 * job->config.window;
      if (job->hold_buffers == &c->buffers) left -= config::hold_buffers(job->config);
    }
    unused.push_back(left);
  }
  return unused;
}

// Memory for `count` buffers of a new job: the own buffers of the previous job in its place, or
// buffers that other jobs returned, or the reserve.
BufferClass* Shard::buffers_for(const config::JobConfig& job, std::size_t bytes,
                                std::uint32_t count, OwnBuffers* inherited,
                                std::unique_ptr<OwnBuffers>& own,
                                std::vector<std::uint32_t>& unused, Reserve& reserve) const {
  if (count == 0) return nullptr;
  if (inherited != nullptr && inherited->buffers.buffers.buffer_bytes() == bytes &&
      inherited->buffers.buffers.count() >= count)
    return &inherited->buffers;
  for (std::size_t i = 0; i < classes_.size(); ++i) {
    if (classes_[i]->buffers.buffer_bytes() != bytes || unused[i] < count) continue;
    unused[i] -= count;
    return classes_[i].get();
  }
  own = own_buffers(job, bytes, count, reserve);
  return &own->buffers;
}

std::unique_ptr<ShardJob> Shard::make_job(const JobPlacement& p, std::vector<std::uint32_t>& unused,
                                          Reserve& reserve) const {
  const config::JobConfig& job = *p.config;
  const std::size_t bytes = config::slot_buffer_bytes(job);
  if (config::bracket_depth(job) > 1 &&
      (bracket_class_ == nullptr || bracket_class_->buffers.buffer_bytes() < bytes))
    throw std::invalid_argument(
        "job " + std::to_string(job.id) + " needs " + std::to_string(config::kMaxBracketDepth) +
        " buffers of " + std::to_string(bytes) +
        " bytes in each shard for values of inner brackets; since the start there are " +
        std::to_string(bracket_class_ == nullptr ? 0 : config::kMaxBracketDepth) + " of " +
        std::to_string(bracket_class_ == nullptr ? 0 : bracket_class_->buffers.buffer_bytes()) +
        ", as the jobs had need of them then");
  const ShardJob* const before = jobs_[p.place].get();
  OwnBuffers* const its_sums = before == nullptr ? nullptr : before->own_sums.get();
  OwnBuffers* const its_holds = before == nullptr ? nullptr : before->own_holds.get();
  std::unique_ptr<OwnBuffers> sums;
  std::unique_ptr<OwnBuffers> holds;
  BufferClass* const sums_in =
      buffers_for(job, bytes, 2 * job.window, its_sums, sums, unused, reserve);
  BufferClass* const holds_in =
      buffers_for(job, config::hold_buffer_bytes(job), config::hold_buffers(job), its_holds, holds,
                  unused, reserve);
  auto made = std::make_unique<ShardJob>(job, p.place, p.first_slot, *sums_in, holds_in,
                                         kernels_[static_cast<std::size_t>(job.arithmetic)]);
  made->own_sums = std::move(sums);
  made->own_holds = std::move(holds);
  return made;
}

ShardChange Shard::prepare(std::span<const JobPlacement> places, Reserve& reserve) const {
  ShardChange change{{}, JobIndex<ShardJob>(places.size()), {}, {}};
  std::vector<BufferPool*> pools;
  std::vector<std::uint32_t> unused = unused_buffers(places);
  std::vector<bool> taken(jobs_.size());
  std::size_t unsent = 0;
  change.present.reserve(places.size());
  for (const auto& c : classes_) pools.push_back(&c->buffers);
  for (const JobPlacement& p : places) {
    if (index_ >= p.config->shards) continue;
    taken[p.place] = true;
    ShardJob* job = jobs_[p.place].get();
    if (p.is_new) {
      change.entries.push_back(
          {p.place, make_job(p, unused, reserve), pool_quota(*p.config, index_)});
      job = change.entries.back().job.get();
    }
    change.by_id.insert(p.config->id, job);
    change.present.push_back(job);
    for (BufferPool* const pool : {&job->buffers, job->hold_buffers})
      if (pool != nullptr) pools.push_back(pool);
    unsent += config::most_unsent(*p.config);
  }
  for (std::uint32_t place = 0; place < jobs_.size(); ++place)
    if (jobs_[place] != nullptr && !taken[place]) change.entries.push_back({place, nullptr, 0});
  std::sort(pools.begin(), pools.end());  // to list each once: several jobs have the same
  pools.erase(std::unique(pools.begin(), pools.end()), pools.end());
  pools.shrink_to_fit();
  change.room.released.watch(std::move(pools));
  change.room.released.grow(unsent);
  for (const JobPlacement& p : places) change.room.reserve_fan_in(config::job_fan_in(*p.config));
  change.room.sources.shrink_to_fit();
  return change;
}

void Shard::apply(ShardChange& change) {
  sums_.reclaim();
  for (ShardChange::Entry& entry : change.entries) {
    clear(entry.place);
    sums_.reclaim();
    std::swap(jobs_[entry.place], entry.job);
    pool_.set_quota(entry.place, entry.quota);
    ShardJob* const before = entry.job.get();
    ShardJob* const job = jobs_[entry.place].get();
    const bool same_id = job != nullptr && before != nullptr && job->config.id == before->config.id;
    if (before != nullptr && !same_id) past_holds_.include(before->counters.slot_hold);
    if (job == nullptr || before == nullptr) continue;
    inherit(before->own_sums, job->own_sums, &job->buffers);
    inherit(before->own_holds, job->own_holds, job->hold_buffers);
    if (!same_id) continue;
    job->counters = before->counters;
    job->host_term = before->host_term;
    job->refresh_gauges();
  }
  std::swap(by_id_, change.by_id);
  std::swap(present_, change.present);
  sums_.exchange(change.room);
  nothing_due_before_ = Instant();
}

}  // namespace tributary::aggregator
