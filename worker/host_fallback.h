// Whether a rank asks for the completion host by itself (O2), because the network loses sums.
//
//            kInARow chunks, none of whose sums arrived
//   summing ───────────────────────────────────────────▶ asking
//      ▲                                                   │
//      └──────────the sum of a sample arrived──────────────┘
//
// A lost sum costs its ranks a timeout and everything a second time; where all are lost, the host
// does the same work at once. One chunk in kSampleEvery, the same on every rank, stays the
// switches': it shows when sums arrive again. Pure; one shard's.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tributary::worker {

class HostFallback {
 public:
  static constexpr std::uint32_t kInARow = 64;
  static constexpr std::uint32_t kSampleEvery = 1024;  // a power of two, so that seqs may wrap

  // Whether this chunk's data asks for the host.
  [[nodiscard]] bool asks(std::uint32_t seq) const {
    return is_asking() && seq % kSampleEvery != 0;
  }

  // The result of a chunk is here that did not ask. `lost`: a switch has said that a sum was lost
  // with this rank's data inside.
  void note(bool lost) { in_a_row_ = lost ? std::min(in_a_row_ + 1, kInARow) : 0; }

 private:
  [[nodiscard]] bool is_asking() const { return in_a_row_ == kInARow; }

  std::uint32_t in_a_row_ = 0;
};

}  // namespace tributary::worker
