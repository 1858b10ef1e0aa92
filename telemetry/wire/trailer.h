// Trailer of a signed datagram of telemetry reports. It is the datagram's last report, inner only,
// of domain-specific extension data, so that readers that know no signatures pass over it.
//
//   0  0x02      report type 0 (inner only), inner type 2 (domain-specific data)
//   1  11        words of 4 bytes behind this report header
//   2  0, 0      no own metadata, no flags
//   4  0x5452    domain, as of link metadata
//   6  0x0001    kind: signature by HMAC-SHA-256
//   8  sequence  64 bits; grows with each datagram of a node, at least the time in ns since 1970;
//                begins anew at the time where that was set back by more than 30 s
//  16  HMAC      32 bytes, over all bytes before it, from the group header on
//
// Computing the HMAC is the business of control/telemetry/report_key.h: this folder and the data
// plane link no cryptography.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "telemetry/wire/report.h"

namespace tributary::telemetry {

inline constexpr std::size_t kMacBytes = 32;
inline constexpr std::size_t kMacAt = 16;  // in the trailer
inline constexpr std::size_t kTrailerBytes = kMacAt + kMacBytes;

// Views of a datagram that ends with a trailer.
struct SignedDatagram {
  std::span<const std::byte> reports;  // group header and reports, without the trailer
  std::span<const std::byte> covered;  // by the HMAC
  std::span<const std::byte> mac;
  std::uint64_t sequence = 0;
};

// Writes the trailer without its HMAC, which stays as it is. `out` has kTrailerBytes.
void write_trailer(std::uint64_t sequence, std::span<std::byte> out);
// The datagram, if its last bytes are a trailer. Says nothing about the HMAC.
std::optional<SignedDatagram> read_trailer(std::span<const std::byte> datagram);
// True if the report is a trailer, for readers that have no key.
bool is_trailer(const Report& report);

}  // namespace tributary::telemetry
