// IOAM pre-allocated trace (RFC 9197) in the IPv6 hop-by-hop header (RFC 9486), as a transit node:
// fills the space that the source has left, and never adds space (RFC 8200 forbids to insert on the
// path). No checksum covers it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "telemetry/wire/hop.h"

namespace tributary::telemetry {

struct IoamNode {
  std::uint16_t name_space = 0;  // beside the default one, 0, which all nodes know
  std::uint32_t id = 0xFFFFFF;   // 24 bits
  std::uint64_t wide_id = ~std::uint64_t{0} >> 8;
  std::uint32_t data = kUnknown32;  // of the namespace
  std::uint64_t wide_data = kUnknown64;
};

enum class IoamOutcome : std::uint8_t {
  filled,
  absent,     // no IPv6, no trace option, or one that asks for nothing
  foreign,    // traces of other namespaces alone
  full,       // no space is left; the overflow flag is set
  malformed,  // lengths that cannot be; nothing is changed
};

// Returns what fill_ioam_trace() would, and changes nothing.
IoamOutcome judge_ioam_trace(std::span<const std::byte> packet, std::uint16_t name_space);

// Fills the first trace of the namespaces. `packet` begins with the IPv6 header. hop.egress_ns is
// the transmit time in ns since 1970, in UTC; its seconds and microseconds are written (RFC 9197's
// POSIX-based format, as by Linux). hop.ingress_wide and egress_wide are wide ids.
IoamOutcome fill_ioam_trace(std::span<std::byte> packet, const IoamNode& node, const Hop& hop);

}  // namespace tributary::telemetry
