// Acknowledged results: kept for late questions while there is room.
#include "aggregator/shard/shard.h"

namespace tributary::aggregator {

void Shard::release_acknowledged(ShardJob& job) {
  if (!job.table.has_acknowledged()) return;
  while (ChunkEntry* const e = job.table.pop_acknowledged()) keep_or_free(job, *e);
  if (job.table.has_acknowledged()) break_off(job);
  job.refresh_gauges();
}

// A result that has a list of missing ranks is not kept. Jobs with results of one size share the
// room: this one may evict another job's result; that job loses it, and counts it.
void Shard::keep_or_free(ShardJob& job, ChunkEntry& e) {
  const bool whole = job.degraded.counted(e.seq) == 0;
  job.degraded.forget(e.seq);
  if (e.buffer == kNone) return;
  std::uint32_t freed = e.buffer;
  if (job.cache.capacity() != 0 && whole) {
    const ResultCache::Evicted evicted =
        job.cache.put(job.place, e.seq, e.buffer, result_flags(e), e.description);
    if (evicted.job != kNone) jobs_[evicted.job]->counters.cache_evictions.add();
    freed = evicted.buffer;
  }
  if (freed != kNone && !job.buffers.put(freed)) break_off(job);
  e.buffer = kNone;
}

}  // namespace tributary::aggregator
