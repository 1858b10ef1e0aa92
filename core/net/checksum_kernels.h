// The implementations behind checksum.h, one per instruction set. Tests and benches ask for one
// by name; the packet path calls ones_complement_sum() and crc32c().
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/isa.h"
#include "core/net/checksum.h"

namespace tributary::wire {

using OnesComplementFunction = std::uint16_t (*)(std::span<const std::byte> bytes);
// Takes and returns the running state: the CRC's complement.
using Crc32cFunction = std::uint32_t (*)(std::span<const std::byte> bytes, std::uint32_t state);

// The best implementation that needs no more than `isa`; nullptr when that is not available.
OnesComplementFunction find_ones_complement(Isa isa);
Crc32cFunction find_crc32c(Isa isa);

namespace kernels {

// A ones'-complement sum under way: words are 64 bits, `total` their sum modulo 2^64 and `high`
// the sum of their upper halves. The sum of the lower halves is total - 2^32 * high, exactly as
// long as it stays below 2^64; so three instructions a vector suffice and no carry is lost.
struct WordSum {
  std::uint64_t total = 0;
  std::uint64_t high = 0;
};
constexpr std::uint16_t folded(WordSum sum) {
  const std::uint64_t low = sum.total - (sum.high << 32);
  return ones_complement_fold((low & 0xFFFFFFFF) + (low >> 32) + (sum.high & 0xFFFFFFFF) +
                              (sum.high >> 32));
}
// Adds the remaining bytes, of any number, and folds to 16 bits.
std::uint16_t finish(WordSum sum, std::span<const std::byte> rest);

std::uint16_t ones_complement_portable(std::span<const std::byte> bytes);
std::uint32_t crc32c_portable(std::span<const std::byte> bytes, std::uint32_t state);
#if defined(__x86_64__)
std::uint16_t ones_complement_avx2(std::span<const std::byte> bytes);
std::uint16_t ones_complement_avx512(std::span<const std::byte> bytes);
std::uint32_t crc32c_sse42(std::span<const std::byte> bytes, std::uint32_t state);
#endif

}  // namespace kernels
}  // namespace tributary::wire
