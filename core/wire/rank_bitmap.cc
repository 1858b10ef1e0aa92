#include "core/wire/rank_bitmap.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace tributary::wire {
namespace {

std::uint32_t half_word(std::span<const std::uint64_t> ranks, std::size_t i) {
  return static_cast<std::uint32_t>(ranks[i / 2] >> (32 * (i % 2)));
}

}  // namespace

BitmapWords bitmap_words(std::span<const std::uint64_t> ranks) {
  std::size_t begin = 0;
  std::size_t end = ranks.size() * 2;
  while (begin < end && half_word(ranks, begin) == 0) ++begin;
  while (begin < end && half_word(ranks, end - 1) == 0) --end;
  return {begin, end};
}

void write_bitmap(std::span<const std::uint64_t> ranks, std::size_t begin, std::size_t words,
                  std::span<be32> out) {
  out[0] = static_cast<std::uint32_t>(begin * 32);
  for (std::size_t i = 0; i < words; ++i) out[i + 1] = half_word(ranks, begin + i);
}

bool read_bitmap(std::span<const std::byte> data, std::size_t words, std::uint32_t workers,
                 std::span<std::uint64_t> ranks) {
  if (data.size() != (words + 1) * sizeof(be32)) return false;
  be32 first;
  std::memcpy(&first, data.data(), sizeof first);
  for (std::size_t i = 0; i < words; ++i) {
    be32 wire;
    std::memcpy(&wire, data.data() + (i + 1) * sizeof wire, sizeof wire);
    std::uint32_t word = wire;
    for (; word != 0; word &= word - 1) {
      const std::uint64_t bit = static_cast<std::uint64_t>(std::countr_zero(word));
      const std::uint64_t rank = std::uint64_t{first} + 32 * i + bit;
      if (rank >= workers) return false;
      ranks[rank / 64] |= 1ULL << (rank % 64);
    }
  }
  return true;
}

bool add_rank_bitmaps(ExtensionWriter& writer, std::span<const std::uint64_t> ranks) {
  auto [begin, end] = bitmap_words(ranks);
  const ExtensionWriter before = writer;
  while (begin < end) {
    const std::size_t words = std::min(end - begin, kMaxBitmapWords);
    std::array<be32, kMaxBitmapWords + 1> data;
    write_bitmap(ranks, begin, words, data);
    if (!writer.add_raw(static_cast<std::uint8_t>(ExtensionType::rank_bitmap),
                        static_cast<std::uint16_t>(words),
                        std::as_bytes(std::span(data.data(), words + 1)))) {
      writer = before;
      return false;
    }
    begin += words;
  }
  return true;
}

bool read_rank_bitmaps(std::span<const std::byte> area, std::uint32_t workers,
                       std::span<std::uint64_t> ranks) {
  while (const auto extension = next_extension(area)) {
    if (extension->type == ExtensionType::rank_bitmap &&
        !read_bitmap(extension->data, extension->inline_value, workers, ranks))
      return false;
  }
  return true;
}

}  // namespace tributary::wire
