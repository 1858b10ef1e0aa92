// Which ranks a partial sum covers, as rank-bitmap extensions say it (protocol rule 10).
//
// In memory a set of ranks is an array of u64 words: rank r is bit r mod 64 of word r / 64. On the
// wire it is one or more extensions, each a first rank and u32 words; rank first + 32 i + b is bit
// b (b = 0: the least significant) of word i. Nothing is ever left out: what does not fit the
// writer's room is not written at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/wire/extension.h"

namespace tributary::wire {

// Words of one extension: it has at most 255, one is its head, one the first rank.
inline constexpr std::size_t kMaxBitmapWords = 253;

// The words of a set, of 32 ranks each, from its lowest rank's to its highest's; empty for no rank.
struct BitmapWords {
  std::size_t begin = 0;
  std::size_t end = 0;
};
BitmapWords bitmap_words(std::span<const std::uint64_t> ranks);
// Words begin to begin + words as data of an extension: u32 first rank, u32 words.
void write_bitmap(std::span<const std::uint64_t> ranks, std::size_t begin, std::size_t words,
                  std::span<be32> out);
// ORs such data into `ranks`. False when its length is not `words` + 1 u32, or a bit stands for a
// rank that the job does not have.
bool read_bitmap(std::span<const std::byte> data, std::size_t words, std::uint32_t workers,
                 std::span<std::uint64_t> ranks);

// Words that hold `workers` ranks in memory.
constexpr std::size_t rank_words(std::uint32_t workers) {
  return (std::size_t{workers} + 63) / 64;
}

// Adds as many extensions as the set needs, from its lowest rank's word to its highest's; none for
// an empty set. False when the writer has no room: the writer is then as it was.
bool add_rank_bitmaps(ExtensionWriter& writer, std::span<const std::uint64_t> ranks);

// ORs every bitmap of a checked area into `ranks`, which holds rank_words(workers) words. False
// when one is malformed or names a rank ≥ workers; `ranks` is then of no use.
bool read_rank_bitmaps(std::span<const std::byte> area, std::uint32_t workers,
                       std::span<std::uint64_t> ranks);

}  // namespace tributary::wire
