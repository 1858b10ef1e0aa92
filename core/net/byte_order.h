// Big-endian integers stored as bytes: alignment 1, usable inside packed wire structs.
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>

namespace tributary::wire {

template <std::unsigned_integral T>
class BigEndian {
 public:
  constexpr BigEndian() = default;
  // Implicit on purpose: wire fields read and assign like the integers they hold.
  constexpr BigEndian(T value)  // NOLINT(google-explicit-constructor)
      : bytes_(std::bit_cast<Bytes>(swapped(value))) {}
  constexpr operator T() const {  // NOLINT(google-explicit-constructor)
    return swapped(std::bit_cast<T>(bytes_));
  }

 private:
  using Bytes = std::array<std::uint8_t, sizeof(T)>;

  // One load or store and one instruction; compilers do not always see that in byte shifts.
  static constexpr T swapped(T value) {
    if constexpr (std::endian::native == std::endian::big) return value;
    if constexpr (sizeof(T) == 2) return __builtin_bswap16(value);
    if constexpr (sizeof(T) == 4) return __builtin_bswap32(value);
    if constexpr (sizeof(T) == 8) return __builtin_bswap64(value);
  }

  Bytes bytes_{};
};

using be16 = BigEndian<std::uint16_t>;
using be32 = BigEndian<std::uint32_t>;
using be64 = BigEndian<std::uint64_t>;

static_assert(sizeof(be16) == 2 && alignof(be16) == 1);
static_assert(sizeof(be32) == 4 && alignof(be32) == 1);
static_assert(sizeof(be64) == 8 && alignof(be64) == 1);

}  // namespace tributary::wire
