// The memory that a collective call reads and writes, and the overlaps of it that are allowed.
//
// A worker keeps its sent data until the result is there, since the switch may ask for it again. So
// an output may overlap its own call's input only as MPI's MPI_IN_PLACE and NCCL do it:
//
//   all_gather      data is this rank's part of the output
//   reduce_scatter  the output is this rank's part of data, or the head of data. At the head it
//                   would take the place of rank 0's part while that may be asked for: the result
//                   is staged, and copied there when the op is done
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "worker/api/communicator.h"

namespace tributary::worker {

struct MemoryRange {
  const std::byte* begin = nullptr;
  const std::byte* end = nullptr;
  bool written = false;
  const char* argument = "";  // of the call: "data" or "output"

  [[nodiscard]] bool overlaps(const MemoryRange& other) const {
    return begin < other.end && other.begin < end;
  }
};

// The memory of one call on one rank.
class CallMemory {
 public:
  CallMemory() = default;
  // Throws std::invalid_argument if data and output overlap in a way not listed above. The call
  // must have passed check_call().
  CallMemory(const CollectiveCall& call, std::uint32_t rank, std::uint32_t ranks);
  // For a call on a list of arrays. Throws std::invalid_argument if two of them overlap and are
  // written.
  CallMemory(const CollectiveCall& call, std::span<const ArrayPart> arrays, bool written);

  [[nodiscard]] std::span<const MemoryRange> ranges() const {
    return list_.empty() ? std::span(ranges_).first(count_) : std::span(list_);
  }
  [[nodiscard]] wire::Collective collective() const { return collective_; }
  // True if the output is the head of data, and not this rank's part of it.
  [[nodiscard]] bool needs_staging() const { return needs_staging_; }

 private:
  void add(const void* memory, std::size_t bytes, bool written, const char* argument);

  std::array<MemoryRange, 2> ranges_;
  std::size_t count_ = 0;
  std::vector<MemoryRange> list_;  // of a list, in ascending order
  wire::Collective collective_ = wire::Collective::barrier;
  bool needs_staging_ = false;
};

}  // namespace tributary::worker
