// Sums that are decided but not computed yet, of one burst or several. The data for one chunk waits
// together and is combined in one pass: its sum is written once, not once a contribution. And a CPU
// streams bytes fastest without other work in between.
//
//   decided ──add──▶ groups, each of a chunk: [data, data, ...] into sum
//                       │
//                       ├── settle(chunk): when it is complete
//                       └── settle(): before any sum is read, and at the end
//
// Invariant: all waiting data of a chunk is in one group, in the order in which it was decided, so
// that a sum has the same bits as if it had been computed at once. Data must stay in place until
// then. Owner: one Shard.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "aggregator/chunk/chunk_entry.h"
#include "aggregator/chunk/payloads.h"
#include "aggregator/kernels/reduce.h"

namespace tributary::aggregator {

// How one child's data changes its chunk's sum.
struct Fold {
  enum class How : std::uint8_t {
    copy,   // another switch's accumulator opens it
    open,   // a worker's data opens it
    merge,  // another switch's accumulator is added
    fold,   // a worker's data is added
  };
  ChunkEntry* chunk = nullptr;
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
  // Between this and end(), sums may be delayed.
  void begin() { open_ = true; }
  void end() {
    settle();
    open_ = false;
  }
  void add(const Fold& fold) {
    if (!open_) return fold.make();
    if (fold.chunk->data_waits) return add_further(fold);
    if (count_ >= most_chunks(std::size_t{fold.elements} * fold.kernels->wire_bytes)) settle();
    groups_[count_++].begin(fold);
  }
  // Computes the delayed sums of this chunk.
  void settle(const ChunkEntry& chunk) {
    if (!chunk.data_waits) return;
    Group& group = group_of(chunk);
    group.make();
    // If its group is the newest one, the next group takes its place.
    if (next_ == count_) next_ = --count_;
  }
  void settle() {
    if (count_ != 0) [[unlikely]]
      make_all();
  }

  static constexpr std::size_t kMostData = 8;  // the most that one pass combines at full speed
  // The most chunks that may have data waiting. Short payloads and their sums are in the first
  // cache, and that many stay there beside those of the next packets.
  static constexpr std::size_t most_chunks(std::size_t payload_bytes) {
    return payload_bytes <= kShortPayload ? kMostShort : kMostGroups;
  }

 private:
  static constexpr std::size_t kMostGroups = 64;
  static constexpr std::size_t kMostShort = 4;

  // One chunk's delayed work: the first operation, and the data that the same pass adds.
  struct Group {
    Fold first;
    std::size_t count = 0;  // of data, the first included
    std::array<const void*, kMostData> data;

    void begin(const Fold& fold) {
      first = fold;
      count = 1;
      data[0] = fold.data;
      fold.chunk->data_waits = true;
    }
    void make() {
      if (count == 1) first.make();
      if (count > 1) make_several();
      if (count != 0) first.chunk->data_waits = false;
      count = 0;
    }
    void make_several() {
      const Kernels& kernels = *first.kernels;
      bool saturated = false;
      if (first.how == Fold::How::open) {
        saturated = kernels.fuse(first.sum, data.data(), count, first.elements);
      } else if (first.how == Fold::How::fold) {
        saturated = kernels.fold_all(first.sum, data.data(), count, first.elements);
      } else {
        first.make();
        saturated = kernels.fold_all(first.sum, data.data() + 1, count - 1, first.elements);
      }
      if (saturated) first.chunk->overflow = true;
    }
  };

  void add_further(const Fold& fold) {
    Group& group = group_of(*fold.chunk);
    if (fold.how == Fold::How::fold) {
      group.data[group.count++] = fold.data;
      if (group.count == kMostData) group.make();
    } else {
      group.make();
      fold.make();
    }
  }
  // Searches from the last hit on: ranks mostly send a job's chunks in the same order.
  Group& group_of(const ChunkEntry& chunk) {
    const auto is_of = [&](std::size_t at) {
      return groups_[at].count != 0 && groups_[at].first.chunk == &chunk;
    };
    std::size_t at = next_ < count_ ? next_ : 0;
    while (!is_of(at)) at = at + 1 < count_ ? at + 1 : 0;
    next_ = at + 1;
    return groups_[at];
  }
  void make_all() {
    for (std::size_t i = 0; i < count_; ++i) groups_[i].make();
    count_ = 0;
  }

  std::array<Group, kMostGroups> groups_;
  std::size_t count_ = 0;
  std::size_t next_ = 0;  // where the search begins
  bool open_ = false;
};

}  // namespace tributary::aggregator
