// What people see of the engine: `show jobs` and `show slots`. Runs on the engine's thread on
// request; may allocate, so never per packet.
#include "aggregator/engine_impl.h"

namespace tributary::aggregator {

std::vector<JobStatus> Engine::job_status(Instant now) const {
  std::vector<JobStatus> all;
  for (const auto& job : impl_->jobs) {
    for (std::uint32_t rank = 0; rank < job->config.workers; ++rank)
      impl_->collect_last_heard(*job, rank);
    const Membership& membership = job->membership;
    JobStatus s{job->config.id, membership.state(), membership.epoch(), job->last_abort.reason, {}};
    const ShardJob& first = *impl_->shards[0]->find_job(job->place);
    for (std::uint32_t rank = 0; rank < job->config.workers; ++rank) {
      const Member& m = membership.member(rank);
      const bool here = m.present || m.joined;
      s.members.push_back({rank, here, m.peer, here ? now - m.last_seen : Duration{},
                           first.table.held_before(static_cast<std::uint16_t>(rank))});
    }
    all.push_back(std::move(s));
  }
  return all;
}

std::vector<SlotStatus> Engine::slot_status(Instant now, std::size_t most) const {
  std::vector<SlotStatus> all;
  for (const auto& shard : impl_->shards) shard->add_slots(now, most, all);
  return all;
}

ChunkState Engine::chunk_state(std::size_t job, std::uint8_t shard, std::uint32_t seq) const {
  if (shard >= impl_->shards.size()) return ChunkState::unseen;
  const ShardJob* const part = impl_->shards[shard]->find_job(static_cast<std::uint32_t>(job));
  return part == nullptr ? ChunkState::unseen : part->table.state_of(seq);
}

}  // namespace tributary::aggregator
