// Whether a rank does without what has failed for every chunk lately.
//
//            kInARow chunks that failed
//   trying ──────────────────────────────▶ going without
//      ▲                                        │
//      └──────────a sample did not fail─────────┘
//
// Sums that the network loses between switches (O2), and fixed-point sums that overflow (rule 12),
// cost a round trip and everything a second time; where all of them fail, what replaces them is
// better asked for at once. One chunk in kSampleEvery, the same on every rank, is tried all the
// same: it shows when it is of use again. Pure; one shard's.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tributary::worker {

class Fallback {
 public:
  static constexpr std::uint32_t kInARow = 64;
  static constexpr std::uint32_t kSampleEvery = 1024;  // a power of two, so that seqs may wrap

  // Whether this chunk goes without.
  [[nodiscard]] bool covers(std::uint32_t seq) const {
    return in_a_row_ == kInARow && seq % kSampleEvery != 0;
  }

  // How a chunk ended that did not go without.
  void note(bool failed) { in_a_row_ = failed ? std::min(in_a_row_ + 1, kInARow) : 0; }

 private:
  std::uint32_t in_a_row_ = 0;
};

}  // namespace tributary::worker
