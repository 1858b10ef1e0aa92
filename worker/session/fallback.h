// Decides whether a rank skips a method that has lately failed for every chunk.
//
//            kInARow chunks that failed
//   trying ──────────────────────────────▶ going without
//      ▲                                        │
//      └──────────a sample did not fail─────────┘
//
// Sums that the network loses between switches (O2), and fixed-point sums that overflow (rule 12),
// cost a round trip and send all data twice. If all of them fail, it is better to ask for the
// replacement at once. One chunk in kSampleEvery, the same on every rank, is still tried: it shows
// when the method works again. Pure; one for each shard.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tributary::worker {

class Fallback {
 public:
  static constexpr std::uint32_t kInARow = 64;
  static constexpr std::uint32_t kSampleEvery = 1024;  // a power of two, so that seqs may wrap

  // Whether this chunk skips the method.
  [[nodiscard]] bool covers(std::uint32_t seq) const {
    return in_a_row_ == kInARow && seq % kSampleEvery != 0;
  }

  // Notes how a chunk ended that did not skip it.
  void note(bool failed) { in_a_row_ = failed ? std::min(in_a_row_ + 1, kInARow) : 0; }

 private:
  std::uint32_t in_a_row_ = 0;
};

}  // namespace tributary::worker
