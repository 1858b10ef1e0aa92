// Telemetry report v2.0 of P4.org: what a switch sends to the telemetry server in UDP.
//
//   group header 8 B │ report: header 4 B, INT main 8 B, own metadata, inner contents │ report …
//
// A report's own metadata is the reporter's (node id in the group header). The other hops' metadata
// is in the truncated packet, as the reporter found it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "telemetry/wire/hop.h"

namespace tributary::telemetry {

inline constexpr std::size_t kGroupBytes = 8;
inline constexpr std::size_t kReportHeaderBytes = 4;
inline constexpr std::size_t kReportMainBytes = 8;
inline constexpr std::uint32_t kSequenceMask = (1u << 22) - 1;

enum class ReportType : std::uint8_t { inner_only = 0, in_band = 1, ioam = 2 };
enum class InnerType : std::uint8_t {
  none = 0,
  tlv = 1,
  domain = 2,
  ethernet = 3,
  ipv4 = 4,
  ipv6 = 5
};

// Metadata of this domain, which is not one of P4.org's: of the link behind the reporter's egress
// port, or of an op.
inline constexpr std::uint16_t kOwnDomain = 0x5452;
inline constexpr std::uint16_t kLinkLatency = 0x8000;  // ns one way; all ones: it does not answer
inline constexpr std::uint16_t kOpEnd = 0x4000;        // end of transmission: three words

// The switch that ends a job's data has made the result of an op's last chunk, in one plane.
struct OpEnd {
  std::uint32_t job = 0;
  std::uint32_t op = 0;
  std::uint16_t epoch = 0;
  std::uint8_t plane = 0;
  std::uint8_t planes = 1;  // of the job
  bool operator==(const OpEnd&) const = default;
};

// Stand in a report behind the values of its hop; one of them at most.
struct DomainValues {
  std::optional<std::uint32_t> link_latency = {};
  std::optional<OpEnd> op_end = {};
};

struct ReportGroup {
  std::uint8_t hardware = 0;   // 6 bits: the sequence is of (node, hardware)
  std::uint32_t sequence = 0;  // 22 bits
  std::uint32_t node = 0;
  bool operator==(const ReportGroup&) const = default;
};

struct Report {
  ReportType type = ReportType::in_band;
  InnerType inner_type = InnerType::none;
  bool dropped = false;
  bool congested = false;
  bool tracked = false;
  bool intermediate = false;
  std::uint16_t bitmap = 0;  // of `own`; bit 15 is queue and drop reason
  std::uint16_t domain = 0;
  std::uint16_t domain_bitmap = 0;
  std::uint16_t domain_status = 0;
  std::span<const std::byte> own;    // metadata, whole words
  std::span<const std::byte> inner;  // whole words: a truncated packet is padded

  // The reporter's values, node id included.
  [[nodiscard]] Hop hop(std::uint32_t node) const;
  // nullopt: the report is of no link.
  [[nodiscard]] std::optional<std::uint32_t> link_latency() const;
  // nullopt: it is of no op.
  [[nodiscard]] std::optional<OpEnd> op_end() const;
};

// Fills a datagram with reports. Refuses one that does not fit; the caller then starts a new one.
class ReportWriter {
 public:
  // `buffer` has room for at least the group header.
  ReportWriter(const ReportGroup& group, std::span<std::byte> buffer);
  // `hop` is written as the bitmap asks, and what is of the domain behind it; report.own and the
  // report's domain are not used, and report.inner is padded.
  bool add(const Report& report, const Hop& hop, const DomainValues& of_domain = {});
  [[nodiscard]] std::size_t length() const { return used_; }
  [[nodiscard]] bool empty() const { return used_ == kGroupBytes; }

 private:
  std::span<std::byte> buffer_;
  std::size_t used_ = kGroupBytes;
};

// Walks over a datagram. Nothing is used before its length is checked.
class ReportReader {
 public:
  explicit ReportReader(std::span<const std::byte> datagram);
  // nullopt if the datagram is too short or of another version.
  [[nodiscard]] const std::optional<ReportGroup>& group() const { return group_; }
  // Returns false at the end, or if the next report is malformed.
  bool next(Report& report);
  [[nodiscard]] bool malformed() const { return malformed_; }

 private:
  std::optional<ReportGroup> group_;
  std::span<const std::byte> left_;
  bool malformed_ = false;
};

}  // namespace tributary::telemetry
