// The ranks missing from a degraded result, as a degraded-list extension (protocol rule 21): inline
// the number of bitmap words; u32 ranks counted, u32 first rank, u32 words.
//
// The set of missing ranks is in memory as in core/wire/rank_bitmap.h. A list is consistent if the
// counted and the missing ranks together are all ranks of the job, and neither set is empty.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "core/wire/extension.h"

namespace tributary::wire {

// Returns false when the writer has no room, and leaves it unchanged. Buffers have room for the
// largest job (config::coverage_bytes()).
bool add_degraded_list(ExtensionWriter& writer, std::uint32_t counted,
                       std::span<const std::uint64_t> missing);

// Returns how many ranks a checked area counts. `missing`, of rank_words(workers) words, becomes
// the ranks that are not counted. Returns nullopt if there is no list or it is not consistent;
// `missing` must then not be used.
std::optional<std::uint32_t> read_degraded_list(std::span<const std::byte> area,
                                                std::uint32_t workers,
                                                std::span<std::uint64_t> missing);

}  // namespace tributary::wire
