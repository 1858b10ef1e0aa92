#include "dataplane/switch/drop_ages.h"

namespace tributary::dataplane {

void DropAges::look(std::size_t place, const DropCounters& drops, Instant now) {
  const std::lock_guard lock(mutex_);
  if (seen_[place] == nullptr) seen_[place] = std::make_unique<OfPort>();
  for (std::size_t r = 0; r < kDropReasonCount; ++r) {
    Seen& seen = (*seen_[place])[r];
    // A smaller count is that of another port at this place.
    if (const std::uint64_t count = drops.get(static_cast<DropReason>(r)); count != seen.count)
      seen = {count, now};
  }
}

Duration DropAges::age(std::size_t place, DropReason reason, std::uint64_t count, Instant now) {
  const std::lock_guard lock(mutex_);
  if (seen_[place] == nullptr) return {};
  const Seen& seen = (*seen_[place])[static_cast<std::size_t>(reason)];
  return seen.count == count && now > seen.at ? now - seen.at : Duration();
}

}  // namespace tributary::dataplane
