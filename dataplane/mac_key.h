// A MAC address in a VLAN as one number, and its place in a hash table.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "core/wire/byte_order.h"
#include "core/wire/frame.h"

namespace tributary::dataplane {

constexpr std::uint64_t mac_bits(const wire::MacAddress& mac) {
  // The parts in which compilers copy six bytes: a load that spans two stores waits for both.
  struct Parts {
    wire::be32 high;
    wire::be16 low;
  };
  const auto parts = std::bit_cast<Parts>(mac);
  return std::uint64_t{parts.high} << 16 | parts.low;
}
inline constexpr std::uint64_t kGroupBit = std::uint64_t{1} << 40;  // of mac_bits()
constexpr std::uint64_t mac_key(const wire::MacAddress& mac, std::uint16_t vlan) {
  return std::uint64_t{vlan} << 48 | mac_bits(mac);
}
constexpr wire::MacAddress mac_of_key(std::uint64_t key) {
  wire::MacAddress mac{};
  for (std::size_t i = 0; i < mac.size(); ++i)
    mac[i] = static_cast<std::uint8_t>(key >> (8 * (mac.size() - 1 - i)));
  return mac;
}
constexpr std::uint16_t vlan_of_key(std::uint64_t key) {
  return static_cast<std::uint16_t>(key >> 48);
}

// Finaliser of SplitMix64 over a keyed value: flat for the small differences MACs have. `seed` is
// odd, and unknown to senders.
constexpr std::size_t hash_mac_key(std::uint64_t key, std::uint64_t seed) {
  std::uint64_t z = key * seed + 0x9E3779B97F4A7C15ULL;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return static_cast<std::size_t>(z ^ (z >> 31));
}

}  // namespace tributary::dataplane
