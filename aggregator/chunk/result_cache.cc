#include "aggregator/chunk/result_cache.h"

#include <bit>

namespace tributary::aggregator {

ResultCache::ResultCache(std::uint32_t capacity, std::size_t jobs)
    : entries_(capacity),
      heads_(capacity == 0 ? 0 : std::bit_ceil(std::size_t{capacity} * 2), kNone),
      newest_(capacity == 0 ? 0 : jobs, kNone) {}

std::size_t ResultCache::home(std::uint32_t job, std::uint32_t op, std::uint32_t chunk) const {
  std::uint64_t key = (std::uint64_t{op} << 32 | chunk) * 0x9E3779B97F4A7C15ULL;
  key = (key ^ key >> 32 ^ job) * 0xBF58476D1CE4E5B9ULL;
  return static_cast<std::size_t>(key >> 32) & (heads_.size() - 1);
}

ResultCache::Evicted ResultCache::put(std::uint32_t job, std::uint32_t seq, std::uint32_t buffer,
                                      std::uint32_t flags, const ChunkDescription& description) {
  if (entries_.empty()) return {job, buffer};
  Evicted evicted{entries_[oldest_].job};
  if (evicted.job != kNone) evicted.buffer = take_out(oldest_);
  std::uint32_t& head = heads_[home(job, description.op, description.chunk)];
  std::uint32_t& newest = newest_[job];
  entries_[oldest_] = {job, seq, buffer, head, newest, kNone, flags, description};
  if (newest != kNone) entries_[newest].newer = oldest_;
  head = newest = oldest_;
  if (++oldest_ == entries_.size()) oldest_ = 0;
  ++size_;
  return evicted;
}

const ResultCache::Entry* ResultCache::find(std::uint32_t job, std::uint32_t op,
                                            std::uint32_t chunk) const {
  if (size_ == 0) return nullptr;
  for (std::uint32_t i = heads_[home(job, op, chunk)]; i != kNone; i = entries_[i].next) {
    const Entry& e = entries_[i];
    if (e.job == job && e.description.op == op && e.description.chunk == chunk) return &e;
  }
  return nullptr;
}

std::uint32_t ResultCache::take_out(std::uint32_t index) {
  Entry& e = entries_[index];
  std::uint32_t* link = &heads_[home(e.job, e.description.op, e.description.chunk)];
  while (*link != index) link = &entries_[*link].next;
  *link = e.next;
  (e.newer == kNone ? newest_[e.job] : entries_[e.newer].older) = e.older;
  if (e.older != kNone) entries_[e.older].newer = e.newer;
  e.job = kNone;
  --size_;
  return e.buffer;
}

}  // namespace tributary::aggregator
