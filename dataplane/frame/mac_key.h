// A MAC address in a VLAN as one number, and its place in a hash table.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "core/net/byte_order.h"
#include "core/net/frame.h"

namespace tributary::dataplane {

inline constexpr wire::MacAddress kBroadcastMac = {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};

constexpr std::uint64_t mac_bits(const wire::MacAddress& mac) {
  // The parts in which compilers copy six bytes: a load that spans two stores waits for both.
  struct Parts {
    wire::be32 high;
    wire::be16 low;
  };
  const auto parts = std::bit_cast<Parts>(mac);
  return std::uint64_t{parts.high} << 16 | parts.low;
}
// The addresses that a frame begins with, from where they lie: copies of them have been stored in
// parts a moment ago.
struct MacPair {
  std::uint64_t destination;
  std::uint64_t source;
};
inline MacPair mac_pair(std::span<const std::byte> frame) {  // of kEthernetBytes at least
  constexpr std::uint64_t kAddress = (std::uint64_t{1} << 48) - 1;
  wire::be64 first;  // the destination, and two bytes
  wire::be64 last;   // two bytes, and the source
  std::memcpy(&first, frame.data(), sizeof first);
  std::memcpy(&last, frame.data() + 4, sizeof last);
  return {first >> 16, last & kAddress};
}
inline constexpr std::uint64_t kGroupBit = std::uint64_t{1} << 40;  // of mac_bits()
constexpr std::uint64_t mac_key(std::uint64_t bits, std::uint16_t vlan) {
  return std::uint64_t{vlan} << 48 | bits;
}
constexpr std::uint64_t mac_key(const wire::MacAddress& mac, std::uint16_t vlan) {
  return mac_key(mac_bits(mac), vlan);
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

// An odd multiplier for hashing that senders do not know, from a seed that may be small (finaliser
// of SplitMix64).
constexpr std::uint64_t hash_multiplier(std::uint64_t seed) {
  std::uint64_t z = seed + 0x9E3779B97F4A7C15ULL;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return (z ^ (z >> 31)) | 1;
}
// One of 2^(64 - shift) places: flat for the small differences that addresses have. A product's
// high bits alone would not be, for one multiplier in a hundred and addresses in a row.
constexpr std::size_t hash_mac_key(std::uint64_t key, std::uint64_t multiplier, unsigned shift) {
  const std::uint64_t z = key * multiplier;
  return static_cast<std::size_t>(((z ^ (z >> 32)) * 0x94D049BB133111EBULL) >> shift);
}

}  // namespace tributary::dataplane
