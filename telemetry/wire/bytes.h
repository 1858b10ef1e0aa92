// Big-endian numbers at any offset of a packet. The caller has checked the length.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "core/net/byte_order.h"

namespace tributary::telemetry {

template <std::unsigned_integral T>
T load(std::span<const std::byte> bytes, std::size_t at) {
  wire::BigEndian<T> value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}
template <std::unsigned_integral T>
void store(std::span<std::byte> bytes, std::size_t at, T value) {
  const wire::BigEndian<T> stored = value;
  std::memcpy(bytes.data() + at, &stored, sizeof stored);
}
inline std::uint8_t load8(std::span<const std::byte> bytes, std::size_t at) {
  return std::to_integer<std::uint8_t>(bytes[at]);
}

}  // namespace tributary::telemetry
