// Serial-number arithmetic for 32-bit sequence numbers (RFC 1982).
//
// Sequence numbers wrap; "less than" is meaningful only for numbers that are less
// than 2^31 apart, which every window in the project guarantees.
#pragma once

#include <cstdint>

namespace tributary {

// Signed distance a − b; positive when a is after b.
constexpr std::int32_t seq_diff(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::int32_t>(a - b);
}
constexpr bool seq_before(std::uint32_t a, std::uint32_t b) {
  return seq_diff(a, b) < 0;
}
constexpr bool seq_at_or_after(std::uint32_t a, std::uint32_t b) {
  return seq_diff(a, b) >= 0;
}

}  // namespace tributary
