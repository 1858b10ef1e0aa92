// Sums of a burst that are decided and not made yet. A CPU streams bytes best when nothing else
// comes between them: so a burst decides first, packet by packet, and then its bytes move in one
// go.
//
//   decided ──add──▶ [data into sum, ...] ──settle──▶ sums
//                                             at the end of the burst, or before anybody looks at
//                                             one
//
// Invariant: each is for a chunk that is open, in the order in which they were decided, so that a
// sum has the same bits as if it had been made at once. Data must stay where it is until then.
// Owner: one Shard.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "aggregator/reduce.h"
#include "aggregator/tombstone.h"

namespace tributary::aggregator {

// What one child's data does to its chunk's sum.
struct Fold {
  enum class How : std::uint8_t {
    copy,   // another switch's accumulator opens it
    open,   // a worker's data opens it
    merge,  // another switch's accumulator is added
    fold,   // a worker's data is added
  };
  Tombstone* chunk = nullptr;
  std::byte* sum = nullptr;
  const std::byte* data = nullptr;
  const Kernels* kernels = nullptr;
  std::uint16_t elements = 0;
  How how = How::fold;

  void make() const {
    bool saturated = false;
    switch (how) {
      case How::copy: std::memcpy(sum, data, std::size_t{elements} * kernels->acc_bytes); break;
      case How::open: kernels->open(sum, data, elements); break;
      case How::merge: saturated = kernels->merge(sum, data, elements); break;
      case How::fold: saturated = kernels->fold(sum, data, elements); break;
    }
    if (saturated) chunk->overflow = true;
  }
};

class FoldQueue {
 public:
  // Of a burst; what is beyond that is made at once, with all before it.
  static constexpr std::size_t kMost = 64;

  // From here to end() sums may wait.
  void begin() { open_ = true; }
  void end() {
    settle();
    open_ = false;
  }
  void add(const Fold& fold) {
    if (!open_) return fold.make();
    if (count_ == kMost) settle();
    waiting_[count_++] = fold;
  }
  void settle() {
    if (count_ != 0) [[unlikely]]
      make_all();
  }
  // Sums wait.
  [[nodiscard]] bool is_open() const { return open_; }

 private:
  void make_all() {
    for (std::size_t i = 0; i < count_; ++i) waiting_[i].make();
    count_ = 0;
  }

  std::array<Fold, kMost> waiting_;
  std::size_t count_ = 0;
  bool open_ = false;
};

}  // namespace tributary::aggregator
