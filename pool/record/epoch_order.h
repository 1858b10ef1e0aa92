// Order of the records of an epoch: a permutation of 0 to count - 1 that is computed, not stored.
//
// A Feistel network of four rounds permutes the next power of four. A value outside the range is
// permuted again until it is inside ("cycle walking", Black and Rogaway, 2002), in fewer than four
// steps on average. The order depends only on (seed, epoch, count): it is equal on every rank, and
// a position is enough to continue from it.
//
// Ranks take turns: rank r of n has positions r, r + n, r + 2n, ...; the sampler decides about
// records at the end that do not fill a turn.
#pragma once

#include <cstdint>

#include "core/prng.h"

namespace tributary::pool {

class EpochOrder {
 public:
  EpochOrder(std::uint64_t count, std::uint64_t seed, std::uint64_t epoch, bool shuffled = true)
      : count_(count), shuffled_(shuffled) {
    while (half_bits_ < 32 && (std::uint64_t{1} << (2 * half_bits_)) < count) ++half_bits_;
    std::uint64_t state = split_mix(seed) ^ split_mix(epoch + kSplitMixStep);
    for (auto& key : keys_) key = split_mix(state += kSplitMixStep);
  }

  [[nodiscard]] std::uint64_t size() const { return count_; }

  // The record at this position of the epoch; `position` must be below size().
  [[nodiscard]] std::uint64_t at(std::uint64_t position) const {
    if (!shuffled_) return position;
    std::uint64_t value = position;
    do value = permute(value);
    while (value >= count_);
    return value;
  }

 private:
  [[nodiscard]] std::uint64_t permute(std::uint64_t value) const {
    const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
    std::uint64_t left = value >> half_bits_;
    std::uint64_t right = value & mask;
    for (const std::uint64_t key : keys_) {
      const std::uint64_t next = left ^ (split_mix(right ^ key) & mask);
      left = right;
      right = next;
    }
    return left << half_bits_ | right;
  }

  std::uint64_t count_;
  bool shuffled_;
  int half_bits_ = 1;
  std::uint64_t keys_[4] = {};
};

// The number of positions that rank `rank` of `ranks` has in an epoch of `count` records, if those
// that do not fill a turn go to the first ranks.
constexpr std::uint64_t share_of(std::uint64_t count, std::uint64_t rank, std::uint64_t ranks) {
  return count / ranks + (rank < count % ranks ? 1 : 0);
}

}  // namespace tributary::pool
