// The size of an op as a rank states it in task information: the elements and, where addresses
// choose among switches (A3), the low bits of its memory's address. Switches compare the whole
// number, so ranks whose memory differs in these bits are told of it like ranks whose ops differ in
// length.
//
//   bit 63: an address is stated | 62..32: its low bits | 31..0: elements
//
// An op has less than 2^32 elements (worker/api/collective_call.cc).
#pragma once

#include <cstdint>
#include <optional>

namespace tributary::layout {

inline constexpr std::uint32_t kMostStatedBits = 31;

struct StatedTotal {
  std::uint64_t elements = 0;
  std::optional<std::uint32_t> address;  // below 2^kMostStatedBits
  bool operator==(const StatedTotal&) const = default;
};

constexpr std::uint64_t number_of(const StatedTotal& total) {
  if (!total.address) return total.elements;
  return std::uint64_t{1} << 63 | std::uint64_t{*total.address} << 32 | total.elements;
}

constexpr StatedTotal total_of(std::uint64_t number) {
  if (number >> 63 == 0) return {number, {}};
  return {number & 0xFFFFFFFF, static_cast<std::uint32_t>(number >> 32) & 0x7FFFFFFF};
}

}  // namespace tributary::layout
