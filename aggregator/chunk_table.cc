#include "aggregator/chunk_table.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "core/seq.h"

namespace tributary::aggregator {
namespace {

// The total is stated with an op's first chunk only, and old front-ends may leave it out.
bool agree(const ChunkDescription& a, const ChunkDescription& b) {
  ChunkDescription b_or_a = b;
  if (a.total_elements == 0 || b.total_elements == 0) b_or_a.total_elements = a.total_elements;
  return a == b_or_a;
}

}  // namespace

ChunkTable::ChunkTable(std::uint32_t job_index, std::uint32_t workers, std::uint32_t window,
                       std::uint32_t chunk_bytes, std::span<std::byte> buffers,
                       DeadlineQueue& deadlines)
    : job_index_(job_index),
      workers_(workers),
      window_(window),
      chunk_bytes_(chunk_bytes),
      bitmap_words_((workers + 63) / 64),
      buffers_(buffers),
      deadlines_(deadlines),
      entries_(std::size_t{2} * window),
      bitmaps_(std::size_t{2} * window * bitmap_words_),
      held_(workers),
      gone_(workers) {
  assert((window & (window - 1)) == 0);
  assert(buffers.size() >= std::size_t{2} * window * chunk_bytes);
  reset(0);
}

void ChunkTable::reset(std::uint32_t first_seq) {
  for (ChunkEntry& e : entries_) {
    DeadlineQueue::cancel(e);
    e.state = ChunkState::unseen;
    e.job_index = job_index_;
  }
  std::fill(held_.begin(), held_.end(), first_seq);
  std::fill(gone_.begin(), gone_.end(), false);
  low_ = floor_ = first_seq;
  at_floor_ = present_ = workers_;
  open_ = retained_ = 0;
}

ChunkTable::Add ChunkTable::add(const Contribution& c, ReduceFunction reduce, Instant now,
                                ChunkEntry*& entry) {
  const std::int32_t distance = seq_diff(c.seq, low_);
  if (distance >= static_cast<std::int32_t>(window_)) return Add::beyond_window;
  if (distance < -static_cast<std::int32_t>(window_)) return Add::stale;
  ChunkEntry& e = at(c.seq);
  entry = &e;
  const bool seen = e.state != ChunkState::unseen && e.seq == c.seq;
  if (!seen && distance < 0) return Add::stale;

  raise_held(c.child, c.seq - window_ + 1);
  if (!seen) {
    open_entry(e, c, now);
    if (workers_ > 1) return Add::opened;
    complete_entry(e);
    return Add::completed;
  }
  if (has_contributed(e, c.child))
    return e.state == ChunkState::complete ? Add::duplicate_complete : Add::duplicate;
  if (!agree(e.description, c.description)) return Add::mismatch;

  if (reduce != nullptr) reduce(buffer(e).data(), c.payload.data(), c.description.element_count);
  bitmaps_[index_of(e) * bitmap_words_ + c.child / 64] |= 1ULL << (c.child % 64);
  if (++e.arrived < workers_) return Add::folded;
  complete_entry(e);
  return Add::completed;
}

void ChunkTable::open_entry(ChunkEntry& e, const Contribution& c, Instant now) {
  assert(e.state != ChunkState::open && e.state != ChunkState::complete);
  e.seq = c.seq;
  e.state = ChunkState::open;
  e.first_child = c.child;
  e.arrived = 1;
  e.description = c.description;
  const auto bits = std::span(bitmaps_).subspan(index_of(e) * bitmap_words_, bitmap_words_);
  std::fill(bits.begin(), bits.end(), 0);
  bits[c.child / 64] |= 1ULL << (c.child % 64);
  if (!c.payload.empty()) std::memcpy(buffer(e).data(), c.payload.data(), c.payload.size());
  deadlines_.arm(e, now);
  ++open_;
}

void ChunkTable::complete_entry(ChunkEntry& e) {
  DeadlineQueue::cancel(e);
  e.state = ChunkState::complete;
  --open_;
  ++retained_;
  while (at(low_).state == ChunkState::complete && at(low_).seq == low_) ++low_;
}

ChunkTable::Lookup ChunkTable::look_up(std::uint32_t seq, std::uint16_t child, ChunkEntry*& entry) {
  const std::int32_t distance = seq_diff(seq, low_);
  if (distance >= static_cast<std::int32_t>(window_)) return Lookup::beyond_window;
  if (distance < -static_cast<std::int32_t>(window_)) return Lookup::stale;
  ChunkEntry& e = at(seq);
  if (e.state == ChunkState::unseen || e.seq != seq)
    return distance < 0 ? Lookup::stale : Lookup::not_contributed;
  entry = &e;
  if (e.state == ChunkState::complete) return Lookup::complete;
  if (e.state == ChunkState::released) return Lookup::stale;
  return has_contributed(e, child) ? Lookup::waiting : Lookup::not_contributed;
}

ChunkState ChunkTable::state_of(std::uint32_t seq) const {
  const ChunkEntry& e = entries_[seq & (2 * window_ - 1)];
  return e.seq == seq ? e.state : ChunkState::unseen;
}

bool ChunkTable::acknowledge(std::uint16_t child, std::uint32_t seq) {
  const std::int32_t distance = seq_diff(seq, low_);
  if (distance > 0) return false;
  // No child holds less, and half the number space away "before" has no meaning.
  if (distance > -2 * static_cast<std::int32_t>(window_)) raise_held(child, seq);
  return true;
}

void ChunkTable::raise_held(std::uint16_t child, std::uint32_t seq) {
  if (gone_[child] || !seq_before(held_[child], seq)) return;
  const bool was_at_floor = held_[child] == floor_;
  held_[child] = seq;
  if (was_at_floor && --at_floor_ == 0) release_up_to_floor();
}

void ChunkTable::forget_child(std::uint16_t child) {
  if (gone_[child]) return;
  gone_[child] = true;
  --present_;
  if (held_[child] == floor_ && --at_floor_ == 0) release_up_to_floor();
}

// Called when the last child at the old floor has moved on.
void ChunkTable::release_up_to_floor() {
  std::uint32_t floor = low_;
  for (std::uint32_t child = 0; child < workers_; ++child)
    if (!gone_[child] && seq_before(held_[child], floor)) floor = held_[child];
  at_floor_ = 0;
  for (std::uint32_t child = 0; child < workers_; ++child)
    if (!gone_[child] && held_[child] == floor) ++at_floor_;
  for (; seq_before(floor_, floor); ++floor_) {
    ChunkEntry& e = at(floor_);
    assert(e.seq == floor_ && e.state == ChunkState::complete);
    e.state = ChunkState::released;
    --retained_;
  }
}

bool ChunkTable::has_contributed(const ChunkEntry& e, std::uint16_t child) const {
  return (bitmaps_[index_of(e) * bitmap_words_ + child / 64] >> (child % 64) & 1) != 0;
}

std::size_t ChunkTable::missing(const ChunkEntry& e, std::span<std::uint32_t> out) const {
  std::size_t written = 0;
  for (std::uint32_t child = 0; child < workers_ && written < out.size(); ++child)
    if (!has_contributed(e, static_cast<std::uint16_t>(child))) out[written++] = child;
  return written;
}

std::span<const std::byte> ChunkTable::payload(const ChunkEntry& e) const {
  const std::size_t bytes =
      std::size_t{e.description.element_count} * wire::size_of(e.description.dtype);
  return std::span<const std::byte>(buffers_).subspan(index_of(e) * chunk_bytes_, bytes);
}

const ChunkEntry* ChunkTable::open_without(std::uint16_t child) const {
  for (const ChunkEntry& e : entries_)
    if (e.state == ChunkState::open && !has_contributed(e, child)) return &e;
  return nullptr;
}

std::size_t ChunkTable::table_bytes() const {
  return entries_.size() * sizeof(ChunkEntry) + bitmaps_.size() * sizeof(std::uint64_t) +
         held_.size() * sizeof(std::uint32_t);
}

}  // namespace tributary::aggregator
