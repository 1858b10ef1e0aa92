// Frames that no switch may count: a good contribution, damaged in one of the ways that parsing,
// integrity, membership or the window must notice; and frames of others.
#pragma once

#include <cstddef>
#include <span>

#include "core/prng.h"

namespace tributary::loadgen {

inline constexpr std::uint32_t kGarbageKinds = 12;

// Writes a frame of one kind, made of `good` (untagged Ethernet, IPv4, UDP, contribution), to
// `out`, which holds at least as much. Returns its length.
std::size_t write_garbage(std::uint32_t kind, Prng& random, std::span<const std::byte> good,
                          std::span<std::byte> out);

}  // namespace tributary::loadgen
