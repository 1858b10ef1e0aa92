// Aggregation header v1: 54 bytes, big-endian fields, then extensions, then payload.
//
// In an untagged IPv4/UDP frame the header starts at offset 42 and the payload, without
// extensions, at 96. docs/protocol.md holds the same table; a test compares the two.
//
//   parse() is the only way in: no part of a packet is used before it is checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <variant>

#include "core/drop_reason.h"
#include "core/net/byte_order.h"
#include "core/wire/types.h"

namespace tributary::wire {

struct HeaderV1 {
  std::uint8_t version;
  std::uint8_t type;
  be32 flags;
  be32 job;
  be16 epoch;
  std::uint8_t attempt;
  std::uint8_t seed_generation;
  be32 op;
  be32 chunk;
  be32 seq;
  be32 slot;
  be32 origin;
  be16 child;
  be16 fan_in;
  be32 covered;
  std::uint8_t dtype;
  std::uint8_t reduce_op;
  be16 element_count;
  be16 scale_exponent;  // two's complement
  std::uint8_t encoding;
  std::uint8_t collective_ttl;  // high nibble collective, low nibble ttl
  std::uint8_t shard;
  std::uint8_t plane_stream;  // high nibble plane, low nibble stream
  std::uint8_t reason;
  std::uint8_t extension_words;  // 4-byte units
};
inline constexpr std::size_t kHeaderBytes = 54;
inline constexpr std::size_t kMaxExtensionBytes = 255 * 4;
static_assert(sizeof(HeaderV1) == kHeaderBytes && alignof(HeaderV1) == 1);

// The header in host order, as engines read and write it. Fields are grouped as on the wire, so
// that 16 bytes at a time change places and byte order. The fields that tell the kind of packet
// stand together, so that one comparison tells whether two packets are of a kind.
struct Header {
  std::uint32_t flags = 0;
  std::uint32_t job = 0;
  std::uint16_t epoch = 0;
  std::uint8_t attempt = 0;
  std::uint8_t seed_generation = 0;
  std::uint32_t op = 0;

  std::uint32_t chunk = 0;
  std::uint32_t seq = 0;
  std::uint32_t slot = 0;
  std::uint32_t origin = 0;

  std::uint16_t child = 0;
  std::uint16_t fan_in = 0;
  std::uint32_t covered = 0;
  std::uint16_t element_count = 0;
  std::int16_t scale_exponent = 0;
  DType dtype = DType::none;
  ReduceOp reduce_op = ReduceOp::sum;
  Encoding encoding = Encoding::plain;
  PacketType type = PacketType::contribution;

  Collective collective = Collective::allreduce;
  std::uint8_t plane = 0;
  std::uint8_t stream = 0;
  Reason reason = Reason::none;
  std::uint8_t shard = 0;
  std::uint8_t ttl = 0;
  std::uint16_t unused = 0;  // no padding: headers are compared and copied as words

  // Element count, scale exponent, dtype, reduce op, encoding and type.
  [[nodiscard]] std::uint64_t kind() const { return word(&element_count); }
  // Collective, plane, stream, reason, shard and ttl.
  [[nodiscard]] std::uint64_t scope() const { return word(&collective); }

  bool operator==(const Header&) const = default;

 private:
  static std::uint64_t word(const void* at) {
    std::uint64_t value = 0;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
};
static_assert(sizeof(Header) == 56);

// A checked packet; spans point into the buffer given to parse().
struct Packet {
  Header header;
  std::span<const std::byte> extensions;
  std::span<const std::byte> payload;
  // The IP header has a CE mark (RFC 3168); the receiver sets it after parse().
  bool congestion_experienced = false;
};

// Checks, in this order: length, version, type, flags, dtype, reduce op, encoding, collective,
// extension area (well-formed, no unknown critical one), payload length = elements × size (or × 4
// in an AGGREGATE or ESCALATION of a type of 1 or 2 bytes: a sum in what it is accumulated in).
// `bytes` is the UDP payload. Control packets (no elements) may carry an empty payload only.
std::variant<Packet, DropReason> parse(std::span<const std::byte> bytes);
// The same for the packet path: returns DropReason::none if `packet` is filled and valid; else
// `packet` may hold anything.
DropReason parse(std::span<const std::byte> bytes, Packet& packet);
// The job and plane that a packet names, before anything else in it is checked: only good for
// choosing which lcore parses it. nullopt if there is no complete header.
struct JobPlane {
  std::uint32_t job = 0;
  std::uint8_t plane = 0;
};
std::optional<JobPlane> peek_job(std::span<const std::byte> bytes);

// Writes header and extensions (padded to 8 bytes); returns the bytes written, which is where
// the payload starts. `out` must hold kHeaderBytes + padded extensions; returns 0 otherwise.
std::size_t serialize(const Header& header, std::span<const std::byte> extensions,
                      std::span<std::byte> out);

// Bytes that `serialize` will write for this many extension bytes.
constexpr std::size_t serialized_bytes(std::size_t extension_bytes) {
  return kHeaderBytes + (extension_bytes + 7) / 8 * 8;
}

}  // namespace tributary::wire
