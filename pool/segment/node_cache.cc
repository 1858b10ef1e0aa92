#include "pool/segment/node_cache.h"

#include <algorithm>

namespace tributary::pool {

NodeCache::NodeCache(std::span<std::byte> memory, const Segment::Owner& owner,
                     std::uint32_t fresh_incarnation, const CacheLimits& limits)
    : limits_(limits),
      leases_(limits.lease),
      segment_(memory, owner, fresh_incarnation, [this](const PlacedRecord& record) {
        // A crash between put and remove may leave two records with one id; the first one stays.
        if (records_.contains(record.id)) return false;
        insert(record);
        ++counters_.recovered;
        return true;
      }) {
  std::sort(log_.begin(), log_.end());
  counters_.corrupt += segment_.damaged_entries();
}

void NodeCache::insert(const PlacedRecord& record) {
  records_.emplace(record.id, record);
  log_.emplace_back(record.generation, record.id);
  used_bytes_ += footprint(record.length);
}

std::uint64_t NodeCache::high_water_bytes() const {
  return segment_.capacity() - segment_.capacity() / 100 * (100 - limits_.high_water_percent);
}

NodeCache::Put NodeCache::put(std::uint64_t id, std::span<const std::byte> data, Instant now) {
  if (records_.contains(id)) return Put::present;
  if (make_room(footprint(data.size()), now)) {
    if (const auto record = segment_.put(id, data)) {
      insert(*record);
      ++counters_.stored;
      return Put::stored;
    }
    unplaced_bytes_ = std::min(unplaced_bytes_, footprint(data.size()));
  }
  ++counters_.refused;
  return Put::full;
}

bool NodeCache::admits(std::uint32_t length, Instant now) {
  const std::uint64_t bytes = footprint(length);
  const std::uint64_t most = high_water_bytes();
  const auto fits = [&] {
    return used_bytes_ + leases_.waiting_bytes() + bytes <= most && bytes < unplaced_bytes_ &&
           !segment_.index_full();
  };
  if (bytes <= most && limits_.eviction != Eviction::none) return true;
  if (fits()) return true;
  tidy(now);
  if (fits()) return true;
  ++counters_.refused;
  return false;
}

// Returns false if the record would pass the high-water mark or the index is full, and nothing may
// be dropped for it.
bool NodeCache::make_room(std::uint64_t bytes, Instant now) {
  const std::uint64_t most = high_water_bytes();
  if (bytes > most) return false;
  if (used_bytes_ + leases_.waiting_bytes() + bytes > most) tidy(now);
  const bool fits = used_bytes_ + leases_.waiting_bytes() + bytes <= most;
  if (fits && !segment_.index_full()) return true;
  if (limits_.eviction == Eviction::none) return false;
  const std::size_t before = log_.size();
  for (std::size_t i = 0; i < before && (used_bytes_ + bytes > most || segment_.index_full());
       ++i) {
    const auto found = records_.find(log_[i].second);
    if (found == records_.end() || found->second.generation != log_[i].first ||
        pinned_.contains(log_[i].second))
      continue;
    ++counters_.evicted;
    drop(PlacedRecord(found->second), now);
  }
  tidy(now);
  return used_bytes_ + leases_.waiting_bytes() + bytes <= most && !segment_.index_full();
}

void NodeCache::drop(const PlacedRecord& record, Instant now) {
  const Extent extent = segment_.remove(record);
  if (const std::uint32_t generation = segment_.next_generation(); generation != 0)
    log_.emplace_back(generation, record.id);
  leases_.retire(extent, segment_.generation(), now);
  used_bytes_ -= footprint(record.length);
  pinned_.erase(record.id);
  records_.erase(record.id);
}

std::optional<PlacedRecord> NodeCache::find(std::uint64_t id) const {
  const auto found = records_.find(id);
  if (found == records_.end()) return std::nullopt;
  return found->second;
}

std::vector<PlacedRecord> NodeCache::after(std::uint64_t since, std::size_t most) const {
  std::vector<PlacedRecord> out;
  auto at = std::partition_point(log_.begin(), log_.end(),
                                 [since](const auto& entry) { return entry.first <= since; });
  for (; at != log_.end() && out.size() < most; ++at) {
    const auto found = records_.find(at->second);
    if (found == records_.end())
      out.push_back(gone(at->second, at->first));
    else if (found->second.generation == at->first)
      out.push_back(found->second);
  }
  return out;
}

std::vector<std::uint64_t> NodeCache::ids(std::uint64_t first, std::uint64_t count) const {
  std::vector<std::uint64_t> out;
  if (count < records_.size()) {
    for (std::uint64_t id = first; id - first < count; ++id)
      if (records_.contains(id)) out.push_back(id);
    return out;
  }
  for (const auto& [id, _] : records_)
    if (id >= first && id - first < count) out.push_back(id);
  std::sort(out.begin(), out.end());
  return out;
}

std::uint64_t NodeCache::evict(std::uint64_t first, std::uint64_t count, Instant now) {
  std::uint64_t evicted = 0;
  for (const std::uint64_t id : ids(first, count)) {
    if (pinned_.contains(id)) continue;
    drop(PlacedRecord(records_.at(id)), now);
    ++evicted;
  }
  counters_.evicted += evicted;
  tidy(now);
  return evicted;
}

std::uint64_t NodeCache::pin(std::uint64_t first, std::uint64_t count, bool pinned) {
  std::uint64_t changed = 0;
  for (const std::uint64_t id : ids(first, count))
    changed += pinned ? static_cast<std::uint64_t>(pinned_.insert(id).second) : pinned_.erase(id);
  return changed;
}

bool NodeCache::check(std::uint64_t id, Instant now) {
  const auto found = records_.find(id);
  if (found == records_.end() || segment_.intact(found->second)) return true;
  ++counters_.corrupt;
  drop(PlacedRecord(found->second), now);
  tidy(now);
  return false;
}

void NodeCache::tidy(Instant now) {
  leases_.expire(now);
  for (const Extent& extent : leases_.reusable()) {
    segment_.release(extent);
    unplaced_bytes_ = ~std::uint64_t{0};
  }
  const std::uint64_t seen = leases_.least_seen();
  while (!log_.empty() && log_.front().first <= seen && outdated(log_.front())) log_.pop_front();
  if (log_.size() > 2 * records_.size() + kLogSlack) compact(seen);
}

bool NodeCache::outdated(const std::pair<std::uint32_t, std::uint64_t>& entry) const {
  const auto found = records_.find(entry.second);
  return found == records_.end() || found->second.generation != entry.first;
}

// Takes outdated entries out behind a record that stays: first those that every lease has seen, and
// if most of them remain, all: readers that are so far behind read the whole table again.
void NodeCache::compact(std::uint64_t seen) {
  std::erase_if(log_, [&](const auto& entry) { return entry.first <= seen && outdated(entry); });
  if (log_.size() <= records_.size() + (records_.size() + kLogSlack) / 2) return;
  std::erase_if(log_, [&](const auto& entry) { return outdated(entry); });
  compacted_ = segment_.generation();
}

}  // namespace tributary::pool
