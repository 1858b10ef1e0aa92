// Explicit congestion notification (RFC 3168): in the IP header of frames, and of aggregation
// packets (protocol rule 15).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/wire/header.h"

namespace tributary::wire {

// Values of the two bits: "the receiver reacts to marks" (ECT), and the mark (CE).
inline constexpr std::uint8_t kEct0 = 2;
inline constexpr std::uint8_t kCongestionExperienced = 3;

// ECT for the packet types whose receiver reacts to a mark; 0 for all others.
constexpr std::uint8_t ecn_of(PacketType type) {
  return type <= PacketType::escalation ? kEct0 : std::uint8_t{0};
}

// True for data that met a queue, on this hop or before. A resend never counts: the loss that
// caused it is over, and would count twice.
constexpr bool is_marked(const Packet& data) {
  const bool flag = (data.header.flags & kFlagCe) != 0;
  return (flag || data.congestion_experienced) && (data.header.flags & kFlagResend) == 0;
}

// Marks a frame's IP header, tagged or not: it met a queue ("congestion experienced"). Returns
// false, and changes nothing, if the frame is not IP, is cut short, or its sender does not support
// ECN (Not-ECT). `frame` may be only the first part of the frame.
bool mark_congestion(std::span<std::byte> frame);

}  // namespace tributary::wire
