// The chunks of one (job, shard): decides which seqs may be sent and which results may be asked
// for. A ring of 2W chunk entries; payload is managed by the Shard.
//
// chunk_state.h draws the states of a chunk; seq + 2W reuses a chunk entry.
//
// Let `low` be the lowest seq that is not complete. A rank sends s only when it holds all results ≤
// s−W, so open chunks lie in [low, low+W), and results that a rank may still lack in [low−W,
// low+W): 2W entries never run out and never forget a result that may be asked for. (Protocol rules
// 2, 3, 4, 7.) Where one rank's data is passed on, the other ranks send no data that acknowledges
// results: a seq is then refused until its entry's last result is acknowledged.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "aggregator/chunk/chunk_entry.h"
#include "core/seq.h"

namespace tributary::aggregator {

class ChunkTable {
 public:
  enum class Place : std::uint8_t { seen, unseen, stale, beyond_window };

  // `entries`: 2 × window of them; window is a power of two.
  ChunkTable(std::span<ChunkEntry> entries, std::uint32_t children, std::uint32_t window);

  // Children of the next epoch; at most as many as it was made for. reset() follows.
  void resize(std::uint32_t children) { children_ = children; }
  // Forgets everything; the next chunk is `first_seq`. The caller must cancel deadlines itself.
  void reset(std::uint32_t first_seq);

  // Locates a seq. `entry` is its entry (seen) or the one that it would take (unseen).
  Place find(std::uint32_t seq, ChunkEntry*& entry) {
    const std::int32_t distance = seq_diff(seq, low_);
    if (distance >= static_cast<std::int32_t>(window_)) return Place::beyond_window;
    ChunkEntry& e = at(seq);
    entry = &e;
    const bool seen = e.state != ChunkState::unseen && e.seq == seq;
    if (!seen && distance < 0) return Place::stale;
    if (!seen && e.state == ChunkState::complete) return Place::beyond_window;
    return seen ? Place::seen : Place::unseen;
  }
  // The first contribution of an unseen chunk; more of its state may be set afterwards.
  struct First {
    const ChunkDescription& description;
    std::uint32_t seq;
    std::uint16_t child;
    KeptAs kept;
  };
  // Returns false, by a defect, and changes nothing: the entry is in use, or the seq too far ahead.
  [[nodiscard]] bool open(ChunkEntry& e, const First& c, Instant now);
  [[nodiscard]] bool open(ChunkEntry& e, const Contribution& c, Instant now) {
    if (!open(e, {c.description, c.seq, c.child, c.kept}, now)) return false;
    e.congested = c.congested;
    return true;
  }
  // Clears the arrivals of a chunk that was opened from elsewhere: no child has contributed.
  void forget_arrivals(ChunkEntry& e) {
    std::fill_n(bits(e), bitmap_words_, 0);
    e.arrived = 0;
  }
  // Adds another child; returns true if it was the last one.
  bool add(ChunkEntry& e, std::uint16_t child) { return add(e, bit_of(e, child)); }
  // The place of a child's bit of a chunk, so that a caller can test it and then add it.
  struct Bit {
    std::uint64_t* word;
    std::uint64_t mask;
    [[nodiscard]] bool is_set() const { return (*word & mask) != 0; }
  };
  [[nodiscard]] Bit bit_of(ChunkEntry& e, std::uint16_t child) {
    return {bits(e) + child / 64, std::uint64_t{1} << (child % 64)};
  }
  bool add(ChunkEntry& e, Bit bit) {
    *bit.word |= bit.mask;
    return ++e.arrived == children_;
  }
  // All children have arrived, and the result is made elsewhere.
  void send(ChunkEntry& e) { leave_open(e, ChunkState::sent); }
  // The completion host finishes it.
  void escalate(ChunkEntry& e) { leave_open(e, ChunkState::escalated); }
  void complete(ChunkEntry& e);

  // `child` holds every result before `seq`. Returns false if that cannot be true.
  bool acknowledge(std::uint16_t child, std::uint32_t seq);
  // `child` sends `seq`, so it holds all results ≤ seq − W.
  void note_sent(std::uint16_t child, std::uint32_t seq) { raise_held(child, seq - window_ + 1); }
  // `child` states that it holds all results before `seq`; some may not be complete here.
  void note_held(std::uint16_t child, std::uint32_t seq) { raise_held(child, seq); }
  // `child` needs no more results.
  void forget_child(std::uint16_t child);
  // True if each child's bit is set.
  [[nodiscard]] bool has_all(const ChunkEntry& e) const {
    const std::uint64_t* const words = bits(e);
    for (std::uint32_t left = children_, i = 0; left != 0; ++i) {
      const std::uint32_t here = std::min<std::uint32_t>(left, 64);
      if (words[i] != ~std::uint64_t{0} >> (64 - here)) return false;
      left -= here;
    }
    return true;
  }
  // Releases and returns the next result that every present child holds. Returns nullptr if there
  // is none, or if, by a defect, it is no result: then has_acknowledged() stays true.
  ChunkEntry* pop_acknowledged();
  [[nodiscard]] bool has_acknowledged() const { return released_ != floor_; }
  // Skips the lowest incomplete chunks that were never seen here if every present child holds their
  // results. Returns false if there is none. Call it only when pop_acknowledged() has none.
  bool skip_unseen();

  // The entry in which a seq is kept, if it is known. Open ones are all in the window.
  [[nodiscard]] ChunkEntry& entry_for(std::uint32_t seq) { return at(seq); }
  [[nodiscard]] const ChunkEntry& entry_for(std::uint32_t seq) const {
    return entries_[seq & (2 * window_ - 1)];
  }
  [[nodiscard]] const ChunkEntry& entry_a_window_before(std::uint32_t seq) const {
    return entry_for(seq - window_);
  }
  // The state of a seq; unseen also if the seq is not in this table.
  [[nodiscard]] ChunkState state_of(std::uint32_t seq) const;
  [[nodiscard]] bool has_contributed(const ChunkEntry& e, std::uint16_t child) const {
    return (bits(e)[child / 64] >> (child % 64) & 1) != 0;
  }
  // Children that have not contributed, at most out.size() of them; returns how many were written.
  std::size_t missing(const ChunkEntry& e, std::span<std::uint32_t> out) const;
  [[nodiscard]] std::uint32_t slot_of(const ChunkEntry& e) const { return e.seq & (window_ - 1); }
  // The arrivals of all children, as words of 64 bits.
  [[nodiscard]] std::span<const std::uint64_t> arrived(const ChunkEntry& e) const {
    return {bits(e), bitmap_words_};
  }
  // Every chunk before `seq` is complete.
  [[nodiscard]] bool all_complete_before(std::uint32_t seq) const {
    return seq_at_or_after(low_, seq);
  }
  // Returns some chunk that is open or escalated and lacks this child; or nullptr. Ignores ops
  // before `first_op`.
  [[nodiscard]] const ChunkEntry* unfinished_without(std::uint16_t child,
                                                     std::uint32_t first_op) const;

  [[nodiscard]] std::span<ChunkEntry> entries() { return entries_; }
  [[nodiscard]] std::span<const ChunkEntry> entries() const { return entries_; }
  [[nodiscard]] std::uint32_t low() const { return low_; }
  [[nodiscard]] std::uint32_t floor() const { return floor_; }
  [[nodiscard]] std::uint32_t present() const { return present_; }
  [[nodiscard]] std::uint32_t open() const { return open_; }
  [[nodiscard]] std::uint32_t retained() const { return retained_; }
  [[nodiscard]] std::uint32_t held_before(std::uint16_t child) const { return held_[child]; }
  [[nodiscard]] std::size_t table_bytes() const;

 private:
  [[nodiscard]] ChunkEntry& at(std::uint32_t seq) { return entries_[seq & (2 * window_ - 1)]; }
  [[nodiscard]] std::uint64_t* bits(ChunkEntry& e) {
    if (wide_bitmaps_.empty()) return &e.arrived_low;
    return wide_bitmaps_.data() + static_cast<std::size_t>(&e - entries_.data()) * bitmap_words_;
  }
  [[nodiscard]] const std::uint64_t* bits(const ChunkEntry& e) const {
    return const_cast<ChunkTable*>(this)->bits(const_cast<ChunkEntry&>(e));
  }
  void leave_open(ChunkEntry& e, ChunkState state) {
    if (e.state == ChunkState::open) --open_;
    e.state = state;
  }
  void raise_held(std::uint16_t child, std::uint32_t seq) {
    if (gone_[child] || !seq_before(held_[child], seq)) return;
    const bool was_at_floor = held_[child] == floor_;
    held_[child] = seq;
    if (was_at_floor && --at_floor_ == 0) raise_floor();
  }
  void raise_low();
  void raise_floor();

  std::span<ChunkEntry> entries_;
  std::uint32_t children_;
  std::uint32_t window_;
  std::uint32_t low_ = 0;       // lowest seq that is not complete
  std::uint32_t floor_ = 0;     // every present child holds all results before this
  std::uint32_t released_ = 0;  // ≤ floor: results before it are released
  std::uint32_t at_floor_ = 0;  // present children with held == floor
  std::uint32_t present_ = 0;
  std::uint32_t open_ = 0;
  std::uint32_t retained_ = 0;
  std::size_t bitmap_words_;
  std::vector<std::uint64_t> wide_bitmaps_;  // if there are more than 64 children
  std::vector<std::uint32_t> held_;
  std::vector<std::uint8_t> gone_;
};

}  // namespace tributary::aggregator
