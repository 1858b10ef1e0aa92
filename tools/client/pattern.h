// Generated data whose sum every rank can work out exactly, in any order of addition.
//
// Elements are small whole numbers: sums stay below 2^24, where float32 is exact.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/wire/types.h"

namespace tributary::client {

// What rank `rank` puts at `index` in round `round`: 0 to 127, and the rank. Multiplicative
// hashing (Knuth, 6.4): a chunk that lands in the place of another does not go unnoticed.
constexpr std::int32_t pattern_value(std::uint32_t rank, std::uint64_t index, std::uint64_t round) {
  const std::uint64_t hash = (index + (round << 40)) * 0x9E3779B97F4A7C15ULL;
  return static_cast<std::int32_t>((hash ^ hash << 31) >> 57) + static_cast<std::int32_t>(rank);
}
constexpr std::int32_t pattern_sum(std::uint32_t ranks, std::uint64_t index, std::uint64_t round) {
  const std::int32_t base = pattern_value(0, index, round);
  const auto n = static_cast<std::int32_t>(ranks);
  return n * base + n * (n - 1) / 2;
}

// `data` holds whole elements of float32 or int32.
void fill_pattern(std::span<std::byte> data, wire::DType dtype, std::uint32_t rank,
                  std::uint64_t round);
// How many elements differ from the sum over `ranks` ranks.
std::uint64_t count_wrong(std::span<const std::byte> data, wire::DType dtype, std::uint32_t ranks,
                          std::uint64_t round);

}  // namespace tributary::client
