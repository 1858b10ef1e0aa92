// The chunks of one (job, shard): slots, tombstones and retained results in one ring.
//
//   unseen ──first contribution──▶ open ──last──▶ complete ──all acknowledged──▶ released
//      ▲                                                                            │
//      └──────────────────── seq + 2W takes the place ──────────────────────────────┘
//
// Let `low` be the lowest seq that is not complete. A rank sends s only when it holds all
// results ≤ s−W, so open chunks lie in [low, low+W), and results that somebody may still lack in
// [low−W, low+W): a ring of 2W entries, each with its payload buffer reserved at start, never
// runs out and never drops what may be asked for. (Protocol rules 2, 3, 4, 7.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "aggregator/chunk_state.h"
#include "aggregator/contribution.h"
#include "aggregator/deadline_queue.h"
#include "aggregator/reduce.h"

namespace tributary::aggregator {

struct ChunkEntry : DeadlineNode {
  std::uint32_t seq = 0;
  ChunkState state = ChunkState::unseen;
  std::uint16_t first_child = 0;  // whose description is the reference
  std::uint32_t arrived = 0;
  std::uint32_t job_index = 0;
  ChunkDescription description;
};

class ChunkTable {
 public:
  enum class Add : std::uint8_t {
    opened,
    folded,
    completed,
    duplicate,           // counted before; the chunk is open or released
    duplicate_complete,  // counted before; the result is retained
    mismatch,            // disagrees with the chunk's first contribution
    stale,
    beyond_window,
  };
  enum class Lookup : std::uint8_t { waiting, not_contributed, complete, stale, beyond_window };

  // `buffers` holds 2 × window payloads of `chunk_bytes` each; window is a power of two.
  ChunkTable(std::uint32_t job_index, std::uint32_t workers, std::uint32_t window,
             std::uint32_t chunk_bytes, std::span<std::byte> buffers, DeadlineQueue& deadlines);

  // Forgets everything; the next chunk is `first_seq`.
  void reset(std::uint32_t first_seq);

  // Decides and, when the contribution counts, reduces. `reduce` fits its dtype and op, nullptr
  // for no elements. `entry` is set for every outcome but stale and beyond_window.
  Add add(const Contribution& c, ReduceFunction reduce, Instant now, ChunkEntry*& entry);
  // What a probe by `child` finds.
  Lookup look_up(std::uint32_t seq, std::uint16_t child, ChunkEntry*& entry);
  // `child` holds every result before `seq`. False when that can't be true.
  bool acknowledge(std::uint16_t child, std::uint32_t seq);
  // `child` needs no result any more.
  void forget_child(std::uint16_t child);

  // What is known of a seq; unseen also when it is none of this table's.
  [[nodiscard]] ChunkState state_of(std::uint32_t seq) const;
  [[nodiscard]] bool has_contributed(const ChunkEntry& e, std::uint16_t child) const;
  // Children that have not contributed, at most out.size() of them; returns how many were written.
  std::size_t missing(const ChunkEntry& e, std::span<std::uint32_t> out) const;
  [[nodiscard]] std::span<const std::byte> payload(const ChunkEntry& e) const;
  [[nodiscard]] std::uint32_t slot_of(const ChunkEntry& e) const { return e.seq & (window_ - 1); }
  // Some open chunk that lacks this child, or nullptr.
  [[nodiscard]] const ChunkEntry* open_without(std::uint16_t child) const;

  [[nodiscard]] std::span<const ChunkEntry> entries() const { return entries_; }
  [[nodiscard]] std::uint32_t open() const { return open_; }
  [[nodiscard]] std::uint32_t retained() const { return retained_; }
  [[nodiscard]] std::uint32_t held_before(std::uint16_t child) const { return held_[child]; }
  [[nodiscard]] std::size_t table_bytes() const;

 private:
  [[nodiscard]] ChunkEntry& at(std::uint32_t seq) { return entries_[seq & (2 * window_ - 1)]; }
  [[nodiscard]] std::size_t index_of(const ChunkEntry& e) const {
    return static_cast<std::size_t>(&e - entries_.data());
  }
  std::span<std::byte> buffer(const ChunkEntry& e) {
    return buffers_.subspan(index_of(e) * chunk_bytes_, chunk_bytes_);
  }
  void open_entry(ChunkEntry& e, const Contribution& c, Instant now);
  void complete_entry(ChunkEntry& e);
  void raise_held(std::uint16_t child, std::uint32_t seq);
  void release_up_to_floor();

  std::uint32_t job_index_;
  std::uint32_t workers_;
  std::uint32_t window_;
  std::uint32_t chunk_bytes_;
  std::uint32_t bitmap_words_;
  std::span<std::byte> buffers_;
  DeadlineQueue& deadlines_;

  std::uint32_t low_ = 0;       // lowest seq that is not complete
  std::uint32_t floor_ = 0;     // every present child holds all results before it
  std::uint32_t at_floor_ = 0;  // present children with held == floor
  std::uint32_t present_ = 0;
  std::uint32_t open_ = 0;
  std::uint32_t retained_ = 0;
  std::vector<ChunkEntry> entries_;
  std::vector<std::uint64_t> bitmaps_;
  std::vector<std::uint32_t> held_;
  std::vector<bool> gone_;
};

}  // namespace tributary::aggregator
