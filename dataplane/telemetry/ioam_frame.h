// IOAM traces (RFC 9197, RFC 9486) in frames of other machines' IPv6 traffic, with up to two VLAN
// tags.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "telemetry/wire/ioam.h"

namespace tributary::dataplane {

// Bytes of a frame of which may_have_trace() can tell.
inline constexpr std::size_t kTraceLookBytes = 14 + 2 * 4 + 40;

// Whether a hop-by-hop header follows IPv6's, where a trace may stand.
bool may_have_trace(std::span<const std::byte> frame);

// Returns what fill_trace() would, of a frame that is whole, and changes nothing.
telemetry::IoamOutcome judge_trace(std::span<const std::byte> frame, std::uint16_t name_space);

// Adds `hop` of the node to the frame's trace. The times of a trace are UTC: hop.egress_ns is in ns
// since 1970.
telemetry::IoamOutcome fill_trace(std::span<std::byte> frame, std::uint16_t name_space,
                                  const telemetry::Hop& hop);

}  // namespace tributary::dataplane
