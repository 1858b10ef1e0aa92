#include "core/wire/degraded.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "core/wire/rank_bitmap.h"

namespace tributary::wire {
namespace {

// An extension has at most 255 words: its head, the ranks counted, the first rank, and these.
constexpr std::size_t kMostWords = kMaxBitmapWords - 1;

}  // namespace

bool add_degraded_list(ExtensionWriter& writer, std::uint32_t counted,
                       std::span<const std::uint64_t> missing) {
  const BitmapWords at = bitmap_words(missing);
  const std::size_t words = at.end - at.begin;
  if (words > kMostWords) return false;
  std::array<be32, kMostWords + 2> data;
  data[0] = counted;
  write_bitmap(missing, at.begin, words, std::span(data).subspan(1));
  return writer.add_raw(static_cast<std::uint8_t>(ExtensionType::degraded_list),
                        static_cast<std::uint16_t>(words),
                        std::as_bytes(std::span(data.data(), words + 2)));
}

std::optional<std::uint32_t> read_degraded_list(std::span<const std::byte> area,
                                                std::uint32_t workers,
                                                std::span<std::uint64_t> missing) {
  const auto list = find_extension(area, ExtensionType::degraded_list);
  if (!list || list->data.size() < sizeof(be32)) return std::nullopt;
  be32 wire;
  std::memcpy(&wire, list->data.data(), sizeof wire);
  const std::uint32_t counted = wire;
  std::fill(missing.begin(), missing.end(), 0);
  if (!read_bitmap(list->data.subspan(sizeof wire), list->inline_value, workers, missing))
    return std::nullopt;
  std::uint64_t absent = 0;
  for (const std::uint64_t word : missing)
    absent += static_cast<std::uint64_t>(std::popcount(word));
  if (counted == 0 || absent == 0 || counted + absent != workers) return std::nullopt;
  return counted;
}

}  // namespace tributary::wire
