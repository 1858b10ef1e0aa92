// The memory of a communicator's ops in flight. Two ops may read the same memory; memory that an op
// writes is its own until it is done.
//
// A claim searches one array that holds the ranges in flight and nothing else: some nanoseconds for
// the few ops that are usually in flight, 2 µs for 4,096. A released range gives its place in the
// array to the last one. Callers hold a lock.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "worker/api/call_memory.h"

namespace tributary::worker {

class OpenMemory {
 public:
  // The handles that release() returns.
  class Claim {
    friend class OpenMemory;
    std::array<std::uint32_t, 2> handles_{};
    std::uint32_t count_ = 0;
    std::vector<std::uint32_t> more_;  // of a list
  };

  // Throws std::invalid_argument, and claims nothing, if an op in flight writes memory that this
  // one uses, or uses memory that this one writes.
  Claim claim(const CallMemory& memory);
  // Call it once for each claim. Allocates nothing.
  void release(const Claim& claim);

  // The ranges that a claim compares with each of its own.
  [[nodiscard]] std::size_t ranges() const { return open_.size(); }

 private:
  struct Open {
    MemoryRange range;
    wire::Collective collective = wire::Collective::barrier;
    std::uint32_t handle = 0;
  };
  std::uint32_t draw_handle();
  void give_back(std::uint32_t handle);

  std::vector<Open> open_;
  std::vector<std::uint32_t> place_;  // by handle: its range in open_
  std::vector<std::uint32_t> free_;   // handles; its capacity is that of all
};

}  // namespace tributary::worker
