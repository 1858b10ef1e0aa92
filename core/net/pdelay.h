// Peer delay (IEEE 1588-2019, 11.4 and 13.9 to 13.10; one-step): how long a frame takes between
// the two ends of a cable.
//
//   t1  request  ────────▶ t2          delay = ((t4 - t1) - correction) / 2
//   t4 ◀──────── response  t3          correction = t3 - t2, by the responder's own clock
//
// Clocks of two nodes are never subtracted. Pure. Telemetry has a PTP domain of its own, so that
// frames of clocks that are synchronised by PTP are not taken for probes, nor the other way round.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "core/net/frame.h"

namespace tributary::wire {

inline constexpr std::uint16_t kEtherTypePtp = 0x88F7;
// One of the user-defined domains, 0 to 127.
inline constexpr std::uint8_t kProbeDomain = 116;
inline constexpr std::size_t kPdelayFrameBytes = kEthernetBytes + 54;

// A port of a node, table 7.5.2: what a response is addressed to.
struct PortIdentity {
  MacAddress mac{};
  std::uint16_t port = 0;
  bool operator==(const PortIdentity&) const = default;
};

struct PdelayMessage {
  bool response = false;
  std::uint16_t sequence = 0;
  PortIdentity from;
  PortIdentity requester;          // of a response
  std::int64_t correction_ns = 0;  // of a response: the responder's share of the round trip
};

// Whether a frame's payload is a request or response in telemetry's domain.
bool is_probe(std::span<const std::byte> body);
// nullopt if it is not, or is cut short, or its correction is negative or above a minute.
std::optional<PdelayMessage> parse_pdelay(std::span<const std::byte> body);
// A whole frame without a tag. Returns its length; 0 if `frame` is too small.
std::size_t write_pdelay(const PdelayMessage& message, std::span<std::byte> frame);

}  // namespace tributary::wire
