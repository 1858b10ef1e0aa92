// Children that are excluded from the sums of some ops (T13, rule 14). A chunk of such an op does
// not wait for them: once all others are here it is given up, with its coverage. The excluded
// children's data goes to the completion host, before and after, and is not summed on the way (T6).
#include "aggregator/shard/shard.h"

namespace tributary::aggregator {

void Shard::set_exclusion(std::uint32_t place, std::uint16_t child, Exclusion ops) {
  if (jobs_[place] == nullptr) return;
  jobs_[place]->children[child].excluded = ops;
  jobs_[place]->has_exclusions = true;
}

Exclusion Shard::exclusion(std::uint32_t place, std::uint16_t child) const {
  return jobs_[place] == nullptr ? Exclusion() : jobs_[place]->children[child].excluded;
}

std::uint32_t Shard::next_op(std::uint32_t place) const {
  return jobs_[place] == nullptr ? 0 : jobs_[place]->next_op;
}

// In an open chunk that at most one child has reached, counts excluded children as arrived. If
// `opener` is one of them, its data was no contribution.
void Shard::leave_out_excluded(ShardJob& job, ChunkEntry& e, std::uint16_t opener) {
  if (job.excludes(opener, e.description.op)) job.table.forget_arrivals(e);
  for (std::uint16_t child = 0; child < job.fan_in; ++child) {
    if (!job.excludes(child, e.description.op)) continue;
    ++e.arrived;
    e.bypassed = true;
  }
}

// Passes on data that takes no part in the sum here.
Decision Shard::bypass(ShardJob& job, const wire::Packet& packet, Outbox& out) {
  forward(job, packet, wire::kFlagExcluded, out);
  return {Verdict::forwarded};
}

// Tells a worker that does not know that it is, or is no longer, excluded: once for an op in each
// shard. Its data is handled correctly in either case.
void Shard::remind(ShardJob& job, const wire::Header& h, Outbox& out) {
  if (h.chunk >= job.config.shards || job.child_map[h.child].is_switch) return;
  Outgoing* const o = out.add();
  if (o == nullptr) return;
  o->peer = job.children[h.child].peer;
  o->header = job.header(wire::PacketType::lease);
  write_exclusion(job.children[h.child].excluded, o->header);
}

}  // namespace tributary::aggregator
