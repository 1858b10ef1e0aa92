// Snapshots of the engine for `show jobs` and `show slots`. Runs on the engine's thread on request;
// may allocate, so never per packet.
#include <algorithm>
#include <limits>

#include "aggregator/engine/engine_impl.h"

namespace tributary::aggregator {
namespace {

UpstreamStatus upstream_status(const Upstream& up, const config::ParentConfig& parent,
                               Instant now) {
  using enum Upstream::State;
  const char* state = up.state() == joining    ? "joining"
                      : up.state() == running  ? "running"
                      : up.state() == leaving  ? "leaving"
                      : up.state() == aborting ? "aborting"
                                               : "down";
  return {parent.name, parent.id, parent.uplink, up.child(), up.fan_in(), state, up.refusal(now)};
}

}  // namespace

std::vector<JobStatus> Engine::job_status(Instant now) const {
  std::vector<JobStatus> all;
  for (std::size_t index = 0; index < job_count(); ++index) all.push_back(job_status(now, index));
  return all;
}

JobStatus Engine::job_status(Instant now, std::size_t index) const {
  Job& job = *impl_->jobs[index];
  for (std::uint32_t c = 0; c < job.child_map.count(); ++c) impl_->collect_last_heard(job, c);
  const Membership& membership = job.membership;
  JobStatus s{job.config.id,
              job.config.plane,
              membership.state(),
              membership.epoch(),
              job.drain.is_held(Holder::operator_),
              job.last_abort.reason,
              job.last_abort.missing,
              {},
              {}};
  const Shard* const shard = impl_->any_shard(job);
  const ChunkTable* const table = shard ? &shard->find_job(job.place)->table : nullptr;
  for (std::uint32_t c = 0; c < job.child_map.count(); ++c) {
    const Member& m = membership.member(c);
    const bool here = m.present || m.joined;
    const auto ranks = job.child_map.ranks_of(c);
    s.members.push_back({job.child_map[c].id,
                         here,
                         m.peer,
                         here ? now - m.last_seen : Duration{},
                         table ? table->held_before(static_cast<std::uint16_t>(c)) : 0,
                         job.child_map[c].is_switch,
                         {ranks.begin(), ranks.end()},
                         !here && job.forming.speaks(c, now)});
  }
  if (job.upstream) s.upstream = upstream_status(*job.upstream, *job.config.parent, now);
  return s;
}

std::vector<SlotStatus> Engine::slot_status(Instant now, std::size_t most, Slots which) const {
  constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();
  std::vector<SlotStatus> all;
  SlotPlace place;
  slot_status(now, which, place, {kAll, most}, all);
  return all;
}

bool Engine::slot_status(Instant now, Slots which, SlotPlace& place, SlotLimits limits,
                         std::vector<SlotStatus>& into) const {
  for (; place.shard < impl_->shards.size(); place = {place.shard + 1, 0, 0}) {
    const Shard* const shard = impl_->shards[place.shard].get();
    if (shard != nullptr && !shard->add_slots(now, which, place, limits, into)) return true;
  }
  return false;
}

ChunkState Engine::chunk_state(std::size_t job, std::uint8_t shard, std::uint32_t seq) const {
  const Shard* const here = impl_->shard_at(shard);
  if (here == nullptr) return ChunkState::unseen;
  const ShardJob* const part = here->find_job(impl_->jobs[job]->place);
  return part == nullptr ? ChunkState::unseen : part->table.state_of(seq);
}

}  // namespace tributary::aggregator
