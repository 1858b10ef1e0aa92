#include "telemetry/wire/report.h"

#include <cstring>

#include "telemetry/wire/bytes.h"

namespace tributary::telemetry {
namespace {

constexpr unsigned kVersion = 2;
constexpr std::size_t kMostWords = 255;
constexpr std::uint8_t kToTheEnd = 0xFF;
constexpr std::uint8_t kDropped = 0x80;
constexpr std::uint8_t kCongested = 0x40;
constexpr std::uint8_t kTracked = 0x20;
constexpr std::uint8_t kIntermediate = 0x10;

constexpr std::size_t kOpEndBytes = 12;

constexpr std::size_t padded(std::size_t bytes) {
  return (bytes + 3) / 4 * 4;
}

void read_flags(Report& report, std::uint8_t flags) {
  report.dropped = (flags & kDropped) != 0;
  report.congested = (flags & kCongested) != 0;
  report.tracked = (flags & kTracked) != 0;
  report.intermediate = (flags & kIntermediate) != 0;
}

std::uint8_t flags_of(const Report& report) {
  return static_cast<std::uint8_t>(
      (report.dropped ? kDropped : 0) | (report.congested ? kCongested : 0) |
      (report.tracked ? kTracked : 0) | (report.intermediate ? kIntermediate : 0));
}

std::uint16_t bits_of(const DomainValues& values) {
  if (values.link_latency) return kLinkLatency;
  return values.op_end ? kOpEnd : std::uint16_t{0};
}

std::size_t bytes_of(const DomainValues& values) {
  if (values.link_latency) return 4;
  return values.op_end ? kOpEndBytes : 0;
}

void write(const DomainValues& values, std::span<std::byte> out) {
  if (values.link_latency) return store(out, 0, *values.link_latency);
  if (!values.op_end) return;
  store(out, 0, values.op_end->job);
  store(out, 4, values.op_end->op);
  store(out, 8, values.op_end->epoch);
  out[10] = static_cast<std::byte>(values.op_end->plane);
  out[11] = static_cast<std::byte>(values.op_end->planes);
}

// The values that a report of this domain has for the bit alone; empty: none.
std::span<const std::byte> values_for(const Report& report, std::uint16_t bit, std::size_t bytes) {
  const std::size_t before = std::size_t{words_of(report.bitmap)} * 4;
  if (report.type != ReportType::in_band || report.domain != kOwnDomain ||
      report.domain_bitmap != bit || report.own.size() < before + bytes)
    return {};
  return report.own.subspan(before, bytes);
}

}  // namespace

Hop Report::hop(std::uint32_t node) const {
  Hop hop = type == ReportType::in_band ? read_hop(bitmap, own) : Hop{};
  hop.node = node;
  return hop;
}

std::optional<std::uint32_t> Report::link_latency() const {
  const auto values = values_for(*this, kLinkLatency, 4);
  if (values.empty()) return std::nullopt;
  return load<std::uint32_t>(values, 0);
}

std::optional<OpEnd> Report::op_end() const {
  const auto values = values_for(*this, kOpEnd, kOpEndBytes);
  if (values.empty()) return std::nullopt;
  return OpEnd{load<std::uint32_t>(values, 0), load<std::uint32_t>(values, 4),
               load<std::uint16_t>(values, 8), load8(values, 10), load8(values, 11)};
}

ReportWriter::ReportWriter(const ReportGroup& group, std::span<std::byte> buffer)
    : buffer_(buffer) {
  store(buffer_, 0,
        kVersion << 28 | (group.hardware & 0x3Fu) << 22 | (group.sequence & kSequenceMask));
  store(buffer_, 4, group.node);
}

bool ReportWriter::add(const Report& report, const Hop& hop, const DomainValues& of_domain) {
  const std::size_t main = report.type == ReportType::in_band ? kReportMainBytes : 0;
  const std::uint16_t bitmap = main != 0 ? report.bitmap : std::uint16_t{0};
  const std::uint16_t bits = main != 0 ? bits_of(of_domain) : std::uint16_t{0};
  const std::size_t hop_bytes = std::size_t{words_of(bitmap)} * 4;
  const std::size_t own = hop_bytes + (bits != 0 ? bytes_of(of_domain) : 0);
  const std::size_t body = main + own + padded(report.inner.size());
  // 255 means "to the end of the datagram", which no report after it could share.
  if (body / 4 >= kMostWords || buffer_.size() - used_ < kReportHeaderBytes + body) return false;
  const std::span<std::byte> out = buffer_.subspan(used_, kReportHeaderBytes + body);
  out[0] = static_cast<std::byte>(static_cast<unsigned>(report.type) << 4 |
                                  static_cast<unsigned>(report.inner_type));
  out[1] = static_cast<std::byte>(body / 4);
  out[2] = static_cast<std::byte>(own / 4);
  out[3] = static_cast<std::byte>(flags_of(report));
  if (main != 0) {
    store(out, 4, bitmap);
    store(out, 6, bits != 0 ? kOwnDomain : report.domain);
    store(out, 8, bits);
    store(out, 10, report.domain_status);
    write_hop(hop, bitmap, out.subspan(kReportHeaderBytes + kReportMainBytes, hop_bytes));
    if (bits != 0) write(of_domain, out.subspan(kReportHeaderBytes + kReportMainBytes + hop_bytes));
  }
  const std::size_t inner = kReportHeaderBytes + main + own;
  std::memset(out.data() + inner, 0, out.size() - inner);
  if (!report.inner.empty())
    std::memcpy(out.data() + inner, report.inner.data(), report.inner.size());
  used_ += out.size();
  return true;
}

ReportReader::ReportReader(std::span<const std::byte> datagram) {
  if (datagram.size() < kGroupBytes || load8(datagram, 0) >> 4 != kVersion) return;
  const auto first = load<std::uint32_t>(datagram, 0);
  group_ = {static_cast<std::uint8_t>(first >> 22 & 0x3F), first & kSequenceMask,
            load<std::uint32_t>(datagram, 4)};
  left_ = datagram.subspan(kGroupBytes);
}

bool ReportReader::next(Report& report) {
  if (left_.empty() || malformed_) return false;
  malformed_ = true;
  if (left_.size() < kReportHeaderBytes) return false;
  const std::uint8_t length = load8(left_, 1);
  const std::size_t own = std::size_t{load8(left_, 2)} * 4;
  std::size_t body = std::size_t{length} * 4;
  const std::size_t there = left_.size() - kReportHeaderBytes;
  if (there < body) return false;
  if (length == kToTheEnd) body = there;
  report = {};
  report.type = static_cast<ReportType>(load8(left_, 0) >> 4);
  report.inner_type = static_cast<InnerType>(load8(left_, 0) & 0xF);
  read_flags(report, load8(left_, 3));
  std::span<const std::byte> content = left_.subspan(kReportHeaderBytes, body);
  left_ = left_.subspan(kReportHeaderBytes + body);
  if (report.type == ReportType::in_band) {
    if (content.size() < kReportMainBytes + own) return false;
    report.bitmap = load<std::uint16_t>(content, 0);
    report.domain = load<std::uint16_t>(content, 2);
    report.domain_bitmap = load<std::uint16_t>(content, 4);
    report.domain_status = load<std::uint16_t>(content, 6);
    report.own = content.subspan(kReportMainBytes, own);
    // Node id is in the group header: its bit is reserved here, and must take no words.
    if (own < std::size_t{words_of(report.bitmap)} * 4) return false;
    content = content.subspan(kReportMainBytes + own);
  }
  report.inner = content;
  malformed_ = false;
  return true;
}

}  // namespace tributary::telemetry
