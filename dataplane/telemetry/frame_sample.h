// Chooses frames of other traffic by what no switch changes, so that all switches of a network
// choose the same ones (hash-based selection, RFC 5475): not by VLAN tags, TTL, DSCP or checksums
// of IP.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "telemetry/wire/report.h"

namespace tributary::dataplane {

// The frame from its IP header on, without padding, or all of it.
struct SampledPart {
  telemetry::InnerType type = telemetry::InnerType::ethernet;
  std::span<const std::byte> bytes;
};
SampledPart sampled_part(std::span<const std::byte> frame);

// Hash of the addresses, the length, and 32 bytes behind them at most: headers, and for small
// frames the payload.
std::uint32_t sample_hash(std::span<const std::byte> frame);

}  // namespace tributary::dataplane
