// How a rank reacts to marks on results (rule 15). The node that made the result decides the flag
// CE: all ranks get the same flag, and do the same. A mark in the IP header of this rank's copy was
// made on the last part of its way, and no other rank knows it. Reacting to it would set this rank
// apart, so it goes back with the next data, and comes to all ranks with a later result.
#include <algorithm>

#include "worker/session/session.h"

namespace tributary::worker {

// Called for a result that is accepted.
void Session::note_congestion(ChunkState& c, const wire::Packet& result) {
  ShardWindow& shard = flights_.shards()[c.shard];
  if ((result.header.flags & wire::kFlagCe) != 0) {
    c.marked = true;
    shard.congestion.expect_mark();
    counters_.marked_results.add();
  }
  // A resend was lost before: that queue is long known.
  if (!result.congestion_experienced || c.resend) return;
  shard.mark_to_report = true;
  counters_.reported_marks.add();
}

// All results before this one are here, and now so is this one.
void Session::follow(ShardWindow& shard, const ChunkState& oldest) {
  if (!shard.congestion.follow(shard.base, oldest.marked)) return;
  counters_.window_decreases.add();
  counters_.least_window.set(
      std::min<std::uint64_t>(counters_.least_window.get(), shard.congestion.limit()));
}

}  // namespace tributary::worker
