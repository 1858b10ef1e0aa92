// A shard's state of one chunk, for `tributary trace`.
#include "aggregator/shard/shard.h"

namespace tributary::aggregator {

ChunkLook Shard::look(const wire::Header& h) const {
  const ShardJob* const job = by_id_.find(h.job);
  if (job == nullptr || !job->running || h.epoch != job->epoch || h.plane != job->plane) return {};
  ChunkLook look{.known = true, .fan_in = static_cast<std::uint16_t>(job->fan_in)};
  look.state = job->table.state_of(h.seq);
  if (look.state == ChunkState::unseen) return look;
  const ChunkEntry& e = job->table.entry_for(h.seq);
  look.arrived = e.arrived;
  look.children = job->table.arrived(e).front();
  if (e.holds_slot) look.slot = slot_of(*job, e);
  return look;
}

}  // namespace tributary::aggregator
