#include "pool/record/lease.h"

#include <algorithm>
#include <limits>

namespace tributary::pool {

std::uint64_t Leases::open(std::uint64_t seen, Instant now) {
  leases_[next_] = {seen, now + length_};
  return next_++;
}

bool Leases::renew(std::uint64_t lease, std::uint64_t seen, Instant now) {
  const auto found = leases_.find(lease);
  if (found == leases_.end()) return false;
  found->second = {std::max(found->second.seen, seen), now + length_};
  return true;
}

std::size_t Leases::expire(Instant now) {
  return std::erase_if(leases_, [now](const auto& entry) { return entry.second.end <= now; });
}

void Leases::retire(const Extent& extent, std::uint64_t generation) {
  waiting_.push_back({extent, generation});
  waiting_bytes_ += extent.bytes;
}

std::uint64_t Leases::least_seen() const {
  std::uint64_t seen = std::numeric_limits<std::uint64_t>::max();
  for (const auto& [_, lease] : leases_) seen = std::min(seen, lease.seen);
  return seen;
}

std::vector<Extent> Leases::reusable() {
  const std::uint64_t seen = least_seen();
  std::vector<Extent> out;
  while (!waiting_.empty() && waiting_.front().generation <= seen) {
    out.push_back(waiting_.front().extent);
    waiting_bytes_ -= waiting_.front().extent.bytes;
    waiting_.pop_front();
  }
  return out;
}

}  // namespace tributary::pool
