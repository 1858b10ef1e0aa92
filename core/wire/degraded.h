// Who is missing from a degraded result, as the degraded-list extension says it (protocol rule 21):
// inline the number of bitmap words; u32 ranks counted, u32 first rank, u32 words.
//
// The set of missing ranks is in memory as in core/wire/rank_bitmap.h. A list is true to itself:
// who is counted and who is missing are together all of the job's ranks, and neither is nobody.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "core/wire/extension.h"

namespace tributary::wire {

// False when the writer has no room: the writer is then as it was. Rooms are made for the largest
// job (config::coverage_bytes()).
bool add_degraded_list(ExtensionWriter& writer, std::uint32_t counted,
                       std::span<const std::uint64_t> missing);

// How many are counted, of a checked area; `missing`, of rank_words(workers) words, becomes those
// that are not. nullopt when there is no list or it is not true to itself; `missing` is then of no
// use.
std::optional<std::uint32_t> read_degraded_list(std::span<const std::byte> area,
                                                std::uint32_t workers,
                                                std::span<std::uint64_t> missing);

}  // namespace tributary::wire
