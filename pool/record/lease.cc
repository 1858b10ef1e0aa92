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
  // Those that have not seen this generation have held its memory too long; 0: there is none.
  const bool too_long = !waiting_.empty() && waiting_.front().since + length_ * kMostHeld <= now;
  const std::uint64_t held = too_long ? waiting_.front().generation : 0;
  return std::erase_if(leases_, [=](const auto& entry) {
    return entry.second.end <= now || entry.second.seen < held;
  });
}

void Leases::retire(const Extent& extent, std::uint64_t generation, Instant now) {
  waiting_.push_back({extent, generation, now});
  waiting_bytes_ += extent.bytes;
}

std::uint64_t Leases::least_seen() const {
  std::uint64_t seen = std::numeric_limits<std::uint64_t>::max();
  for (const auto& [_, lease] : leases_) seen = std::min(seen, lease.seen);
  return seen;
}

std::vector<Extent> Leases::reusable() {
  const std::uint64_t seen = least_seen();
  const auto end = std::find_if(waiting_.begin(), waiting_.end(), [seen](const Waiting& waiting) {
    return waiting.generation > seen;
  });
  std::vector<Extent> out;
  out.reserve(static_cast<std::size_t>(end - waiting_.begin()));  // all or none are taken
  for (auto at = waiting_.begin(); at != end; ++at) {
    out.push_back(at->extent);
    waiting_bytes_ -= at->extent.bytes;
  }
  waiting_.erase(waiting_.begin(), end);
  return out;
}

}  // namespace tributary::pool
