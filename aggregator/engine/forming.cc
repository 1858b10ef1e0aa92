#include "aggregator/engine/forming.h"

#include <algorithm>

#include "core/wire/rank_bitmap.h"

namespace tributary::aggregator {

Forming::Forming(const ChildMap& children)
    : children_(children),
      missing_(children.has_switches() ? wire::rank_words(children.workers()) : 0),
      told_at_(children.has_switches() ? children.count() : 0) {}

bool Forming::told(std::uint16_t child, std::span<const std::uint32_t> ids, Instant now) {
  const bool below = std::all_of(ids.begin(), ids.end(), [&](std::uint32_t rank) {
    return children_.child_of(rank) == child;
  });
  if (!below || ids.empty()) return false;
  for (const std::uint32_t rank : children_.ranks_of(child))
    missing_[rank / 64] &= ~(1ULL << (rank % 64));
  for (const std::uint32_t rank : ids) missing_[rank / 64] |= 1ULL << (rank % 64);
  told_at_[child] = now;
  return true;
}

bool Forming::waits(std::uint32_t child, std::uint32_t rank, Instant now) const {
  return speaks(child, now) && (missing_[rank / 64] >> (rank % 64) & 1) == 0;
}

bool Forming::speaks(std::uint32_t child, Instant now) const {
  if (!children_[child].is_switch) return false;
  const Instant told = told_at_[child];
  return told != Instant() && now - told < kLasts;
}

bool Forming::may_speak(Instant now) {
  if (spoke_at_ != Instant() && now - spoke_at_ < kSpacing) return false;
  spoke_at_ = now;
  return true;
}

}  // namespace tributary::aggregator
