// Which ranks a partial sum covers, as rank-bitmap extensions say it (protocol rule 10).
//
// In memory a set of ranks is an array of u64 words: rank r is bit r mod 64 of word r / 64. On the
// wire it is one or more extensions, each a first rank and u32 words; rank first + 32 i + b is bit
// b (b = 0: the least significant) of word i. Sets are never truncated: if one does not fit the
// writer's room, none of it is written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/wire/extension.h"

namespace tributary::wire {

// The most bitmap words of an extension: of its 255, one is the head, one the first rank.
inline constexpr std::size_t kMaxBitmapWords = 253;

// The words of a set, 32 ranks each, from the lowest rank to the highest; empty for no rank.
struct BitmapWords {
  std::size_t begin = 0;
  std::size_t end = 0;
};
BitmapWords bitmap_words(std::span<const std::uint64_t> ranks);
// Words begin to begin + words as data of an extension: u32 first rank, u32 words.
void write_bitmap(std::span<const std::uint64_t> ranks, std::size_t begin, std::size_t words,
                  std::span<be32> out);
// ORs such data into `ranks`. Returns false if its length is not `words` + 1 u32, or a bit stands
// for a rank that the job does not have.
bool read_bitmap(std::span<const std::byte> data, std::size_t words, std::uint32_t workers,
                 std::span<std::uint64_t> ranks);

// Words that hold `workers` ranks in memory.
constexpr std::size_t rank_words(std::uint32_t workers) {
  return (std::size_t{workers} + 63) / 64;
}

// Adds as many extensions as the set needs, from its lowest rank's word to its highest's; none for
// an empty set. Returns false when the writer has no room, and leaves it unchanged.
bool add_rank_bitmaps(ExtensionWriter& writer, std::span<const std::uint64_t> ranks);

// ORs every bitmap of a checked area into `ranks`, which holds rank_words(workers) words. Returns
// false if one is malformed or names a rank ≥ workers; `ranks` must then not be used.
bool read_rank_bitmaps(std::span<const std::byte> area, std::uint32_t workers,
                       std::span<std::uint64_t> ranks);

}  // namespace tributary::wire
