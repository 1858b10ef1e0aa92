// The hops that a report describes: the reporter's own, then those of the INT stack in the
// truncated packet, newest first; and the packet's flow.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>

#include "telemetry/wire/int_md.h"
#include "telemetry/wire/report.h"

namespace tributary::telemetry {

inline constexpr std::size_t kMostHops = 16;

struct FlowKey {
  std::array<std::uint8_t, 16> source{};  // IPv4 as ::ffff:a.b.c.d
  std::array<std::uint8_t, 16> destination{};
  std::uint16_t source_port = 0;
  std::uint16_t destination_port = 0;  // the original one
  std::uint8_t protocol = 17;          // others than TCP, UDP and SCTP have no ports
  auto operator<=>(const FlowKey&) const = default;
};

struct ReportedPath {
  std::array<Hop, kMostHops> hops;  // newest first
  std::size_t count = 0;
  bool has_flow = false;
  bool has_source = false;  // the stack holds all hops from the INT source on
  bool is_single = false;   // of a packet without INT: each hop reports for itself
  FlowKey flow;
};

// Returns done, or the error in the truncated packet: the reporter's own hop is valid in either
// case. absent: the packet has no INT, as all but UDP, or the report has no packet.
Outcome path_of(const Report& report, std::uint32_t node, const Marking& marking,
                ReportedPath& path);

}  // namespace tributary::telemetry
