// Rule 18: every aggregation packet is covered by the UDP checksum or by the CRC32C extension, but
// between a switch and a worker's library that share memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/drop_reason.h"
#include "core/net/frame.h"
#include "core/wire/header.h"

namespace tributary::wire {

// `always`: the UDP checksum also where a packet goes through memory alone.
enum class Integrity : std::uint8_t { udp_checksum = 0, crc32c = 1, always = 2 };

// CRC32C over header, extensions (the CRC's own data taken as 0) and payload of a serialised
// packet that has a CRC32C extension; nullopt when it has none.
std::optional<std::uint32_t> packet_crc32c(std::span<const std::byte> packet);

// Fills the CRC32C placeholder of a complete serialised packet. False when there is none.
bool seal_crc32c(std::span<std::byte> packet);

// DropReason::none when the packet is covered and intact. `udp` is the packet's own datagram;
// `packet` the parsed header in it. A CRC32C is end to end and always checked; a UDP checksum is
// checked only if the receiver has not done so.
DropReason check_integrity(const Udp4View& udp, const Packet& packet);

}  // namespace tributary::wire
