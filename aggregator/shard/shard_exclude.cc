// Children that are excluded from the sums of some ops (T13, rule 14). A chunk of such an op does
// not wait for them: it is given up as soon as all others are here, with what it covers. What they
// send goes to the completion host, before and after that, and is added to nothing on the way (T6).
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

// An open chunk, of which at most one child has arrived, counts those as arrived that it does not
// wait for. `opener` is one of them: it was no contribution.
void Shard::leave_out_excluded(ShardJob& job, ChunkEntry& e, std::uint16_t opener) {
  if (job.excludes(opener, e.description.op)) job.table.forget_arrivals(e);
  for (std::uint16_t child = 0; child < job.fan_in; ++child) {
    if (!job.excludes(child, e.description.op)) continue;
    ++e.arrived;
    e.bypassed = true;
  }
}

// Data that takes no part in the sum here.
Decision Shard::bypass(ShardJob& job, const wire::Packet& packet, Outbox& out) {
  forward(job, packet, wire::kFlagExcluded, out);
  return {Verdict::forwarded};
}

// A child that does not know that it is excluded, or that it is no more, is told if it is a worker:
// once for an op in each shard. Its data is treated right in either case.
void Shard::remind(ShardJob& job, const wire::Header& h, Outbox& out) {
  if (h.chunk >= job.config.shards || job.child_map[h.child].is_switch) return;
  Outgoing* const o = out.add();
  if (o == nullptr) return;
  o->peer = job.children[h.child].peer;
  o->header = job.header(wire::PacketType::lease);
  write_exclusion(job.children[h.child].excluded, o->header);
}

}  // namespace tributary::aggregator
