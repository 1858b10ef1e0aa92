// CRC-32 of IEEE 802.3 (reflected, generator 0x04C11DB7): the sum under RoCEv2's ICRC.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/isa.h"

namespace tributary::wire {

// CRC-32 of the bytes; chain by passing the previous return value as `crc`.
std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t crc = 0);

// Takes and returns the running state: the CRC's complement.
using Crc32Function = std::uint32_t (*)(std::span<const std::byte> bytes, std::uint32_t state);
// The best implementation that needs no more than `isa`; nullptr when that is not available.
Crc32Function find_crc32(Isa isa);

namespace kernels {
std::uint32_t crc32_portable(std::span<const std::byte> bytes, std::uint32_t state);
#if defined(__x86_64__)
std::uint32_t crc32_pclmul(std::span<const std::byte> bytes, std::uint32_t state);
// Needs VPCLMULQDQ as well as AVX-512.
std::uint32_t crc32_vpclmul(std::span<const std::byte> bytes, std::uint32_t state);
#endif
}  // namespace kernels

}  // namespace tributary::wire
