#include "aggregator/chunk/chunk_table.h"

#include <algorithm>

#include "core/invariant.h"
#include "core/seq.h"

namespace tributary::aggregator {

ChunkTable::ChunkTable(std::span<ChunkEntry> entries, std::uint32_t children, std::uint32_t window)
    : entries_(entries),
      children_(children),
      window_(window),
      bitmap_words_((children + 63) / 64),
      wide_bitmaps_(bitmap_words_ > 1 ? entries.size() * bitmap_words_ : 0),
      held_(children),
      gone_(children) {
  TRIBUTARY_INVARIANT((window & (window - 1)) == 0);
  TRIBUTARY_INVARIANT(entries.size() == std::size_t{2} * window);
  reset(0);
}

void ChunkTable::reset(std::uint32_t first_seq) {
  for (ChunkEntry& e : entries_) {
    e.state = ChunkState::unseen;
    e.holds_slot = false;
  }
  std::fill(held_.begin(), held_.end(), first_seq);
  std::fill(gone_.begin(), gone_.end(), false);
  low_ = floor_ = released_ = first_seq;
  at_floor_ = present_ = children_;
  open_ = retained_ = 0;
}

bool ChunkTable::open(ChunkEntry& e, const First& c, Instant now) {
  const std::uint32_t ahead = c.seq - low_;
  if (!TRIBUTARY_INVARIANT_HOLDS(e.state != ChunkState::open && e.state != ChunkState::complete &&
                                 ahead < window_))
    return false;
  e.seq = c.seq;
  e.state = ChunkState::open;
  e.first_child = c.child;
  e.arrived = 1;
  e.combined = 0;
  e.kept = c.kept;
  e.congested = false;
  e.overflow = e.verified = e.holds_slot = e.narrowed = e.retried = e.bypassed = false;
  e.described = true;
  e.description.copy_words(c.description);
  e.opened_at = now;
  std::uint64_t* const arrived = bits(e);
  std::fill_n(arrived, bitmap_words_, 0);
  arrived[c.child / 64] |= 1ULL << (c.child % 64);
  ++open_;
  return true;
}

void ChunkTable::complete(ChunkEntry& e) {
  leave_open(e, ChunkState::complete);
  ++retained_;
  raise_low();
}

void ChunkTable::raise_low() {
  while (at(low_).state == ChunkState::complete && at(low_).seq == low_) ++low_;
  // Children may hold results that came by another way than this switch.
  if (at_floor_ == 0 && present_ != 0) raise_floor();
}

bool ChunkTable::skip_unseen() {
  const std::uint32_t before = low_;
  while (present_ != 0 && at_floor_ == 0 && floor_ == low_ && released_ == low_ &&
         state_of(low_) == ChunkState::unseen) {
    ++released_;
    ++low_;
    raise_low();
  }
  return low_ != before;
}

ChunkState ChunkTable::state_of(std::uint32_t seq) const {
  const ChunkEntry& e = entries_[seq & (2 * window_ - 1)];
  return e.seq == seq ? e.state : ChunkState::unseen;
}

bool ChunkTable::acknowledge(std::uint16_t child, std::uint32_t seq) {
  const std::int32_t distance = seq_diff(seq, low_);
  if (distance > 0) return false;
  // No child holds less; and half the number space away, "before" has no meaning.
  if (distance > -2 * static_cast<std::int32_t>(window_)) raise_held(child, seq);
  return true;
}

void ChunkTable::forget_child(std::uint16_t child) {
  if (gone_[child]) return;
  gone_[child] = true;
  --present_;
  if (held_[child] == floor_ && --at_floor_ == 0) raise_floor();
}

// Called when the last child at the old floor has moved on.
void ChunkTable::raise_floor() {
  floor_ = low_;
  for (std::uint32_t child = 0; child < children_; ++child)
    if (!gone_[child] && seq_before(held_[child], floor_)) floor_ = held_[child];
  at_floor_ = 0;
  for (std::uint32_t child = 0; child < children_; ++child)
    if (!gone_[child] && held_[child] == floor_) ++at_floor_;
}

ChunkEntry* ChunkTable::pop_acknowledged() {
  if (!has_acknowledged()) return nullptr;
  ChunkEntry& e = at(released_);
  if (!TRIBUTARY_INVARIANT_HOLDS(e.seq == released_ && e.state == ChunkState::complete))
    return nullptr;
  e.state = ChunkState::released;
  --retained_;
  ++released_;
  return &e;
}

std::size_t ChunkTable::missing(const ChunkEntry& e, std::span<std::uint32_t> out) const {
  std::size_t written = 0;
  for (std::uint32_t child = 0; child < children_ && written < out.size(); ++child)
    if (!has_contributed(e, static_cast<std::uint16_t>(child))) out[written++] = child;
  return written;
}

const ChunkEntry* ChunkTable::unfinished_without(std::uint16_t child,
                                                 std::uint32_t first_op) const {
  for (const ChunkEntry& e : entries_) {
    const bool unfinished = e.state == ChunkState::open || e.state == ChunkState::escalated;
    if (unfinished && e.description.op >= first_op && !has_contributed(e, child)) return &e;
  }
  return nullptr;
}

std::size_t ChunkTable::table_bytes() const {
  return entries_.size_bytes() + wide_bitmaps_.size() * sizeof(std::uint64_t) +
         held_.size() * sizeof(std::uint32_t) + gone_.size();
}

}  // namespace tributary::aggregator
