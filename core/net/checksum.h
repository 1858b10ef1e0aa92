// Internet checksum (RFC 1071) and CRC32C (RFC 3720, Castagnoli), for packet integrity.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tributary::wire {

// Ones'-complement sum of the bytes taken as 16-bit words in memory order, folded to 16 bits,
// not complemented. An odd trailing byte is padded with zero. Sums of pieces at even offsets
// may be combined with ones_complement_add().
std::uint16_t ones_complement_sum(std::span<const std::byte> bytes);
constexpr std::uint16_t ones_complement_add(std::uint16_t a, std::uint16_t b) {
  const std::uint32_t s = std::uint32_t{a} + b;
  return static_cast<std::uint16_t>((s & 0xFFFF) + (s >> 16));
}

// Folds a sum below 2^47 to 16 bits, always in as many steps as the largest sum needs: a branch on
// whether fewer steps suffice would often be mispredicted.
constexpr std::uint16_t ones_complement_fold(std::uint64_t sum) {
  for (int step = 0; step < 3; ++step) sum = (sum & 0xFFFF) + (sum >> 16);
  return static_cast<std::uint16_t>(sum);
}

// CRC32C of the bytes; chain by passing the previous return value as `crc`.
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t crc = 0);

}  // namespace tributary::wire
