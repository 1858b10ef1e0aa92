// What a rank makes of marks on results (rule 15). The flag CE is the word of whoever made the
// result: all ranks are told the same, and do the same. A mark in the IP header of this rank's copy
// was made on the last part of its way, and no other rank knows of it: to act on it would set this
// rank apart, so it goes back with the next data, and comes to everybody with a later result.
#include <algorithm>

#include "worker/session/session.h"

namespace tributary::worker {

// Of a result that is taken.
void Session::note_congestion(ChunkState& c, const wire::Packet& result) {
  ShardWindow& shard = shards_[c.shard];
  if ((result.header.flags & wire::kFlagCe) != 0) {
    c.marked = true;
    shard.congestion.expect_mark();
    counters_.marked_results.add();
  }
  // What was sent again was lost before: that queue is long known.
  if (!result.congestion_experienced || c.resend) return;
  shard.mark_to_report = true;
  counters_.reported_marks.add();
}

// All results before this one are here, and now so is its own.
void Session::follow(ShardWindow& shard, const ChunkState& oldest) {
  if (!shard.congestion.follow(shard.base, oldest.marked)) return;
  counters_.window_decreases.add();
  counters_.least_window.set(
      std::min<std::uint64_t>(counters_.least_window.get(), shard.congestion.limit()));
}

}  // namespace tributary::worker
