// What people see of the engine: `show jobs` and `show slots`. Runs on the engine's thread on
// request; may allocate, so never per packet.
#include "aggregator/engine_impl.h"

namespace tributary::aggregator {

std::vector<JobStatus> Engine::job_status(Instant now) const {
  std::vector<JobStatus> all;
  for (const auto& job : impl_->jobs) {
    const Membership& membership = job->membership;
    JobStatus s{job->config.id, membership.state(), membership.epoch(), job->last_abort.reason, {}};
    for (std::uint32_t rank = 0; rank < job->config.workers; ++rank) {
      const Member& m = membership.member(rank);
      const bool here = m.present || m.joined;
      s.members.push_back({rank, here, m.peer, here ? now - m.last_seen : Duration{},
                           job->shards[0]->held_before(static_cast<std::uint16_t>(rank))});
    }
    all.push_back(std::move(s));
  }
  return all;
}

std::vector<SlotStatus> Engine::slot_status(Instant now, std::size_t most) const {
  constexpr std::size_t kMostMissing = 16;
  std::vector<SlotStatus> all;
  for (const auto& job : impl_->jobs) {
    for (std::size_t shard = 0; shard < job->shards.size(); ++shard) {
      const ChunkTable& table = *job->shards[shard];
      for (const ChunkEntry& e : table.entries()) {
        if (e.state != ChunkState::open) continue;
        if (all.size() == most) return all;
        std::vector<std::uint32_t> missing(kMostMissing);
        missing.resize(table.missing(e, missing));
        all.push_back({job->config.id, static_cast<std::uint8_t>(shard),
                       job->first_slot + table.slot_of(e), e.description.op, e.description.chunk,
                       e.seq, e.arrived, job->config.workers, now - e.armed_at,
                       std::move(missing)});
      }
    }
  }
  return all;
}

ChunkState Engine::chunk_state(std::size_t job_index, std::uint8_t shard, std::uint32_t seq) const {
  const auto& shards = impl_->jobs[job_index]->shards;
  return shard < shards.size() ? shards[shard]->state_of(seq) : ChunkState::unseen;
}

}  // namespace tributary::aggregator
