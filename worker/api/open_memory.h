// The memory of a communicator's ops in flight. Two ops may read the same memory; memory that an op
// writes is its own until it is done.
//
// A slot for each range, in one array that a claim searches: some nanoseconds for the few ops that
// are usually in flight, 2 µs for 4,096. Callers hold a lock.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "worker/api/call_memory.h"

namespace tributary::worker {

class OpenMemory {
 public:
  // The slots that release() returns.
  class Claim {
    friend class OpenMemory;
    std::array<std::uint32_t, 2> slots_{};
    std::uint32_t count_ = 0;
    std::vector<std::uint32_t> more_;  // of a list
  };

  // Throws std::invalid_argument, and claims nothing, if an op in flight writes memory that this
  // one uses, or uses memory that this one writes.
  Claim claim(const CallMemory& memory);
  // Call it once for each claim.
  void release(const Claim& claim);

 private:
  struct Slot {
    MemoryRange range;  // empty: the slot is free
    wire::Collective collective = wire::Collective::barrier;
  };
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
};

}  // namespace tributary::worker
