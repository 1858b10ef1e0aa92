// A packet loop's report of one sampled packet, or of a link, for the control thread that sends it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "core/spsc_ring.h"
#include "telemetry/wire/hop.h"
#include "telemetry/wire/report.h"

namespace tributary::dataplane {

struct ReportRecord {
  // Headers up to INT, and as many hops as a path may have.
  static constexpr std::size_t kMostInner = 704;

  telemetry::Hop own;
  std::uint16_t bitmap = 0;   // of `own`; 0: it tells of itself downstream
  bool intermediate = false;  // the packet's way goes on
  bool dropped = false;       // the packet's way ended here
  // Set: of the link behind the egress port (kUnknown32: it does not answer), or of an op's end,
  // and of no packet.
  telemetry::DomainValues of_domain;
  telemetry::InnerType inner_type = telemetry::InnerType::none;
  std::uint16_t inner_bytes = 0;
  std::array<std::byte, kMostInner> bytes;  // the packet as it was, cut behind its metadata

  ReportRecord() = default;
  ReportRecord(const ReportRecord& other) { *this = other; }
  // Most records have no packet: only the bytes in use are copied.
  ReportRecord& operator=(const ReportRecord& other) {
    own = other.own;
    bitmap = other.bitmap;
    intermediate = other.intermediate;
    dropped = other.dropped;
    of_domain = other.of_domain;
    inner_type = other.inner_type;
    inner_bytes = other.inner_bytes;
    std::memmove(bytes.data(), other.bytes.data(), other.inner_bytes);
    return *this;
  }

  [[nodiscard]] std::span<const std::byte> inner() const {
    return std::span(bytes).first(inner_bytes);
  }
};

// Producer: a packet loop; consumer: the control thread.
using ReportRing = SpscRing<ReportRecord>;
inline constexpr std::size_t kReportRingSize = 1024;

}  // namespace tributary::dataplane
