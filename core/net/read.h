// Reads big-endian numbers of a packet where they lie. The caller has checked that the packet is
// long enough.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tributary::wire {

constexpr std::uint8_t u8(std::span<const std::byte> bytes, std::size_t at) {
  return std::to_integer<std::uint8_t>(bytes[at]);
}
constexpr std::uint16_t u16(std::span<const std::byte> bytes, std::size_t at) {
  return static_cast<std::uint16_t>(u8(bytes, at) << 8 | u8(bytes, at + 1));
}

}  // namespace tributary::wire
