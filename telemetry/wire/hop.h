// One hop's metadata in INT (P4.org INT v2.1, section 4.7) and in telemetry reports: a value for
// each bit of the instruction bitmap, most significant bit first.
//
// A value that a node cannot give is all ones. Utilisation is in parts per million of the port's
// capacity. Hop latency is in ns between receive and transmit in the node; a device's own queue is
// outside it. Timestamps are the node's own clock: those of two nodes are never subtracted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tributary::telemetry {

enum Instruction : std::uint16_t {
  kNodeId = 0x8000,
  kPorts = 0x4000,
  kHopLatency = 0x2000,
  kQueue = 0x1000,
  kIngressTime = 0x0800,
  kEgressTime = 0x0400,
  kWidePorts = 0x0200,
  kUtilisation = 0x0100,
  kBuffer = 0x0080,
  kChecksumComplement = 0x0001,
};
// The instructions that an INT header may ask of a hop; the other bits are reserved.
inline constexpr std::uint16_t kKnownInstructions = 0xFF81;

inline constexpr std::uint16_t kUnknown16 = 0xFFFF;
inline constexpr std::uint32_t kUnknown24 = 0xFFFFFF;
inline constexpr std::uint32_t kUnknown32 = 0xFFFFFFFF;
inline constexpr std::uint64_t kUnknown64 = ~std::uint64_t{0};

struct Hop {
  std::uint32_t node = kUnknown32;
  std::uint16_t ingress_port = kUnknown16;
  std::uint16_t egress_port = kUnknown16;
  std::uint32_t latency_ns = kUnknown32;
  std::uint8_t queue = 0xFF;
  std::uint32_t queue_occupancy = kUnknown24;  // packets; 24 bits
  std::uint64_t ingress_ns = kUnknown64;
  std::uint64_t egress_ns = kUnknown64;
  std::uint32_t ingress_wide = kUnknown32;
  std::uint32_t egress_wide = kUnknown32;
  std::uint32_t utilisation_ppm = kUnknown32;
  std::uint32_t buffer = kUnknown32;  // id 8 bits, occupancy 24 bits
  bool operator==(const Hop&) const = default;
};

// Words of 4 bytes that a bitmap asks of each hop, the checksum complement included.
constexpr unsigned words_of(std::uint16_t bitmap) {
  unsigned words = 0;
  for (std::uint32_t bit = 0x8000; bit != 0; bit >>= 1)
    if ((bitmap & bit) != 0)
      words += (bit & (kIngressTime | kEgressTime | kWidePorts)) != 0 ? 2u : 1u;
  return words;
}

// Writes words_of(bitmap) words; reserved bits and the checksum complement as all ones.
void write_hop(const Hop& hop, std::uint16_t bitmap, std::span<std::byte> out);
// Reads what write_hop() writes; `words` has at least words_of(bitmap) words.
Hop read_hop(std::uint16_t bitmap, std::span<const std::byte> words);

}  // namespace tributary::telemetry
