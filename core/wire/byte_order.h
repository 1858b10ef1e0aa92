// Big-endian integers stored as bytes: alignment 1, usable inside packed wire structs.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>

namespace tributary::wire {

template <std::unsigned_integral T>
class BigEndian {
 public:
  constexpr BigEndian() = default;
  // Implicit on purpose: wire fields read and assign like the integers they hold.
  constexpr BigEndian(T value) {  // NOLINT(google-explicit-constructor)
    for (std::size_t i = 0; i < sizeof(T); ++i)
      bytes_[i] = static_cast<std::uint8_t>(value >> (8 * (sizeof(T) - 1 - i)));
  }
  constexpr operator T() const {  // NOLINT(google-explicit-constructor)
    T value = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i) value = static_cast<T>((value << 8) | bytes_[i]);
    return value;
  }

 private:
  std::array<std::uint8_t, sizeof(T)> bytes_{};
};

using be16 = BigEndian<std::uint16_t>;
using be32 = BigEndian<std::uint32_t>;
using be64 = BigEndian<std::uint64_t>;

static_assert(sizeof(be16) == 2 && alignof(be16) == 1);
static_assert(sizeof(be32) == 4 && alignof(be32) == 1);
static_assert(sizeof(be64) == 8 && alignof(be64) == 1);

}  // namespace tributary::wire
