// The window of addresses that a rank on a connected queue pair writes to, and what it has written.
//
//   address = base + (op mod ops) × op bytes + offset          chunk = offset / chunk bytes
//
// The chunks of all ops are numbered through, n = op × chunks per op + chunk, as the seqs of a
// shard are. An address names a place; the chunk that a write there is, is the first of the place
// that the rank has not written yet: writing a place again begins the next op that has it.
//
//               base                          base + W
//   ──────────────┬──────────────────────────────┬───────────▶ n
//     results held │ written, or not yet          │ beyond: not ready
//
// Pure. All memory is taken at construction, for the largest window of the job.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/wire/types.h"

namespace tributary::dataplane {

// The terms that a rank and the switch have agreed on.
struct WindowTerms {
  std::uint64_t base = 0;  // of the window
  std::uint32_t rkey = 0;
  std::uint64_t ring_base = 0;  // of the results, in the rank's memory
  std::uint32_t ring_rkey = 0;
  std::uint32_t op_bytes = 1;
  std::uint32_t chunk_bytes = 1;
  std::uint32_t ops = 1;  // in the window; the ring has twice as many
  wire::DType dtype = wire::DType::none;
  wire::ReduceOp reduce_op = wire::ReduceOp::sum;

  // Not rounded up by a sum, which would wrap for what a rank may ask.
  [[nodiscard]] std::uint32_t chunks() const {
    return op_bytes / chunk_bytes + (op_bytes % chunk_bytes != 0 ? 1u : 0u);
  }
  [[nodiscard]] std::uint64_t bytes() const { return std::uint64_t{ops} * op_bytes; }
  // True if so many bytes from this address on are in the window.
  [[nodiscard]] bool contains(std::uint64_t address, std::uint64_t bytes_there) const {
    return address >= base && address - base <= bytes() &&
           bytes() - (address - base) >= bytes_there;
  }
  [[nodiscard]] std::uint32_t bytes_of(std::uint32_t chunk) const {
    const std::uint32_t left = op_bytes - chunk * chunk_bytes;
    return left < chunk_bytes ? left : chunk_bytes;
  }
};

// The chunk that begins at an address of the window; nullopt if none does, or if it has more than
// `most` bytes.
struct Place {
  std::uint32_t index = 0;  // op's place in the window × chunks per op + chunk
  std::uint32_t bytes = 0;
};
std::optional<Place> place_at(const WindowTerms& terms, std::uint64_t address, std::size_t most);

// The place of a chunk's result in the ring: op's place × chunks per op + chunk. Immediate data of
// results on UC.
std::uint32_t ring_place(const WindowTerms& terms, std::uint64_t n);
// Where the result of a chunk goes.
std::uint64_t ring_address(const WindowTerms& terms, std::uint64_t n);

// Why a rank's terms are refused, in words for the program; nullptr: they are fine.
const char* object_to(const WindowTerms& terms, wire::Partials partials);

class OpWindow {
 public:
  // `window`: the job's, a power of two.
  explicit OpWindow(std::uint32_t window);
  // Heap bytes of one.
  static std::size_t table_bytes(std::uint32_t window);
  [[nodiscard]] std::size_t table_bytes() const;
  void start(const WindowTerms& terms);

  // The chunk that a write to this place is; nullopt: it is beyond the window, so a result that is
  // in its way is not held yet.
  [[nodiscard]] std::optional<std::uint64_t> next_at(std::uint32_t place) const;
  // One whose result is held already leaves no mark: its place is another chunk's.
  void note_written(std::uint64_t n) {
    if (n >= base_) marks_[index(n)] |= kWritten;
    if (n >= written_) written_ = n + 1;
  }

  // True if the op that had this chunk's place before has a result there, or none had it.
  [[nodiscard]] bool is_granted(std::uint64_t n) const;

  // A result is on its way to the rank. False: it was before, or is no chunk of the window.
  bool note_sent(std::uint64_t n);
  // True if results of all chunks of this op have been noted, right after the last one was.
  [[nodiscard]] bool is_whole(std::uint64_t op) const { return whole_ == op; }
  // The rank has it.
  void note_held(std::uint64_t n);

  // The engine is asked in rounds for results that are missing. In each the chunks come once, by
  // their numbers, that had been written before the last one and have no result yet.
  void begin_round();
  [[nodiscard]] std::optional<std::uint64_t> next_question();
  // False while chunks of the round are left to ask for.
  [[nodiscard]] bool round_is_over() const {
    return question_ >= last_question_ || base_ >= last_question_;
  }

  // True if the rank has written whole ops, without a gap between them, and lacks a result: it has
  // nothing to do but wait.
  [[nodiscard]] bool only_waits() const;

  // Every result before it is held.
  [[nodiscard]] std::uint64_t base() const { return base_; }
  [[nodiscard]] std::uint32_t window() const { return window_; }

 private:
  static constexpr std::uint8_t kWritten = 1;
  static constexpr std::uint8_t kSent = 2;
  static constexpr std::uint8_t kHeld = 4;
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};
  [[nodiscard]] bool is_written(std::uint64_t n) const {
    return (marks_[index(n)] & kWritten) != 0;
  }
  [[nodiscard]] std::size_t index(std::uint64_t n) const { return n & (marks_.size() - 1); }

  std::uint32_t window_;
  std::uint32_t chunks_ = 1;
  std::uint32_t places_ = 1;  // in the window of addresses
  std::uint64_t base_ = 0;
  std::uint64_t written_ = 0;         // none from it on was
  std::uint64_t written_before_ = 0;  // the last round
  std::uint64_t question_ = 0;
  std::uint64_t last_question_ = 0;  // the one after it
  std::uint64_t whole_ = kNone;
  std::vector<std::uint8_t> marks_;        // of base_ to base_ + 2W, by n
  std::vector<std::uint32_t> sent_of_op_;  // results that were noted of an op, by op
};

}  // namespace tributary::dataplane
