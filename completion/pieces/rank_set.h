// Sets of ranks as arrays of u64 words: rank r is bit r mod 64 of word r / 64. Both operands of a
// function have the same number of words.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tributary::completion {

using RankSet = std::span<std::uint64_t>;
using ConstRankSet = std::span<const std::uint64_t>;

inline void clear(RankSet set) {
  std::fill(set.begin(), set.end(), 0);
}
inline void insert(RankSet set, std::uint32_t rank) {
  set[rank / 64] |= 1ULL << (rank % 64);
}
inline bool contains(ConstRankSet set, std::uint32_t rank) {
  return (set[rank / 64] >> (rank % 64) & 1) != 0;
}
inline std::uint32_t count(ConstRankSet set) {
  int n = 0;
  for (const std::uint64_t word : set) n += std::popcount(word);
  return static_cast<std::uint32_t>(n);
}
inline std::uint32_t count_common(ConstRankSet a, ConstRankSet b) {
  int n = 0;
  for (std::size_t i = 0; i < a.size(); ++i) n += std::popcount(a[i] & b[i]);
  return static_cast<std::uint32_t>(n);
}
inline bool overlap(ConstRankSet a, ConstRankSet b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    if ((a[i] & b[i]) != 0) return true;
  return false;
}
inline void unite(RankSet a, ConstRankSet b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] |= b[i];
}
inline void subtract(RankSet a, ConstRankSet b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] &= ~b[i];
}
// The lowest rank; words × 64 for an empty set.
inline std::uint32_t lowest(ConstRankSet set) {
  std::uint32_t rank = 0;
  for (const std::uint64_t word : set) {
    if (word != 0) return rank + static_cast<std::uint32_t>(std::countr_zero(word));
    rank += 64;
  }
  return rank;
}
// True for {0, 1, … n−1}, the empty set included.
inline bool is_prefix(ConstRankSet set) {
  bool ended = false;
  for (const std::uint64_t word : set) {
    if (ended ? word != 0 : (word & (word + 1)) != 0) return false;
    ended = ended || word != ~std::uint64_t{0};
  }
  return true;
}
template <typename Function>
void for_each(ConstRankSet set, Function&& function) {
  for (std::size_t i = 0; i < set.size(); ++i)
    for (std::uint64_t word = set[i]; word != 0; word &= word - 1)
      function(static_cast<std::uint32_t>(64 * i) +
               static_cast<std::uint32_t>(std::countr_zero(word)));
}

}  // namespace tributary::completion
