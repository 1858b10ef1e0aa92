// Results that lack ranks (rule 21): made by the completion host, and accepted only from it or from
// the switch above. From then on such a result is kept, sent and asked for like any other, with the
// list of missing ranks. Late data of those ranks is answered with it, and is never added to
// anything.
#include "aggregator/shard/shard.h"
#include "core/wire/degraded.h"
#include "core/wire/rank_bitmap.h"

namespace tributary::aggregator {
namespace {

// A barrier means that all ranks came, and a model's step needs all; data that one rank alone sends
// lacks no rank.
bool may_lack_ranks(const ShardJob& job, const ChunkDescription& d) {
  return job.degraded.allowed() && d.dtype != wire::DType::none &&
         !wire::moves_data(d.collective) && !wire::concerns_model(d.collective);
}

}  // namespace

// Whether a result of this description has as many ranks inside as required. Leaves the set of
// missing ranks in coverage_.
bool Shard::takes_count(const ShardJob& job, const ChunkDescription& d,
                        const wire::Packet& result) {
  const wire::Header& h = result.header;
  if ((h.flags & wire::kFlagDegraded) == 0)
    return h.covered == (is_passed_on(d) ? 1 : job.workers());
  if (!may_lack_ranks(job, d)) return false;
  const auto missing = std::span(coverage_).first(wire::rank_words(job.workers()));
  const auto counted = wire::read_degraded_list(result.extensions, job.workers(), missing);
  return counted && *counted == h.covered;
}

// For a chunk of which no data came this way: whether the result has all the properties that data
// would have.
bool Shard::tells_all(const ShardJob& job, const Contribution& result) {
  const ChunkDescription& d = result.description;
  if (is_passed_on(d)) return false;  // such data is its own description
  if (is_agreement(d)) return result.payload.empty();
  if (has_target(d.collective) && d.target >= job.workers()) return false;
  const bool known = d.encoding == wire::Encoding::plain ||
                     (d.encoding == wire::Encoding::block_scaled && d.dtype == wire::DType::int32);
  return known && job.admits(d) && result.payload.size() == d.payload_bytes() &&
         result.payload.size() <= job.config.chunk_bytes;
}

// The result is accepted; takes_count() was the last call before.
void Shard::note_left_out(ShardJob& job, ChunkEntry& e, const wire::Packet& result, Instant now) {
  if ((result.header.flags & wire::kFlagDegraded) == 0) return;
  job.note_trouble(e, OpEventKind::degraded, now);
  job.history.left_out(e.description, coverage_);
  job.degraded.put(e.seq, result.header.covered, coverage_);
  job.counters.degraded.add();
}

void Shard::add_left_out(const ShardJob& job, std::uint32_t seq, Outgoing& o) {
  o.header.flags |= wire::kFlagDegraded;
  o.header.covered = job.degraded.counted(seq);
  wire::ExtensionWriter ext(std::span(o.extensions).subspan(o.extension_bytes));
  wire::add_degraded_list(ext, o.header.covered, job.degraded.missing(seq));
  o.extension_bytes += ext.bytes().size();
}

// Data for a sum that is over. Data left from a first attempt may be of another type (rule 12), and
// an announcement only names its chunk.
bool Shard::comes_late(const ShardJob& job, const ChunkEntry& e, const Contribution& c) {
  if (e.state != ChunkState::complete || job.degraded.counted(e.seq) == 0) return false;
  const ChunkDescription& d = e.description;
  const ChunkDescription& other = c.description;
  const bool brief = e.retried || other.dtype == wire::DType::none;
  return brief ? d.op == other.op && d.chunk == other.chunk : d.agrees_with(other);
}

Decision Shard::answer_late(ShardJob& job, const ChunkEntry& e, const Endpoint& from, Outbox& out) {
  job.counters.late.add();
  send_result(job, e, from, out);
  return {Verdict::answered};
}

}  // namespace tributary::aggregator
