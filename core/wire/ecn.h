// Explicit congestion notification (RFC 3168): in the IP header of frames, and of aggregation
// packets (protocol rule 15).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/wire/header.h"

namespace tributary::wire {

// Values of the two bits: "my receiver listens to marks", and the mark.
inline constexpr std::uint8_t kEct0 = 2;
inline constexpr std::uint8_t kCongestionExperienced = 3;

// Whoever gets such a packet does something about a mark on it.
constexpr std::uint8_t ecn_of(PacketType type) {
  return type <= PacketType::escalation ? kEct0 : std::uint8_t{0};
}

// Data that met a queue, on this hop or before. What is sent again says nothing: it is there
// because of a loss that is over, and would count that queue a second time.
constexpr bool is_marked(const Packet& data) {
  const bool flag = (data.header.flags & kFlagCe) != 0;
  return (flag || data.congestion_experienced) && (data.header.flags & kFlagResend) == 0;
}

// Says in the IP header of a frame, tagged or not, that it met a queue: "congestion experienced".
// False, and nothing is changed: it is no IP, cut short, or its sender does not listen (Not-ECT).
// `frame` may be the first piece of it.
bool mark_congestion(std::span<std::byte> frame);

}  // namespace tributary::wire
