#include "telemetry/wire/trailer.h"

#include "telemetry/wire/bytes.h"

namespace tributary::telemetry {
namespace {

constexpr std::uint16_t kSignature = 1;
constexpr std::size_t kDomainAt = kReportHeaderBytes;
constexpr std::size_t kKindAt = 6;
constexpr std::size_t kSequenceAt = 8;
constexpr std::uint32_t kHeader =
    static_cast<std::uint32_t>(InnerType::domain) << 24 |
    static_cast<std::uint32_t>((kTrailerBytes - kReportHeaderBytes) / 4) << 16;

static_assert(kTrailerBytes % 4 == 0 && kSequenceAt + sizeof(std::uint64_t) == kMacAt);

}  // namespace

void write_trailer(std::uint64_t sequence, std::span<std::byte> out) {
  store(out, 0, kHeader);
  store(out, kDomainAt, kOwnDomain);
  store(out, kKindAt, kSignature);
  store(out, kSequenceAt, sequence);
}

std::optional<SignedDatagram> read_trailer(std::span<const std::byte> datagram) {
  if (datagram.size() < kGroupBytes + kTrailerBytes) return std::nullopt;
  const auto trailer = datagram.last(kTrailerBytes);
  if (load<std::uint32_t>(trailer, 0) != kHeader ||
      load<std::uint16_t>(trailer, kDomainAt) != kOwnDomain ||
      load<std::uint16_t>(trailer, kKindAt) != kSignature)
    return std::nullopt;
  return SignedDatagram{datagram.first(datagram.size() - kTrailerBytes),
                        datagram.first(datagram.size() - kMacBytes), trailer.last(kMacBytes),
                        load<std::uint64_t>(trailer, kSequenceAt)};
}

bool is_trailer(const Report& report) {
  return report.type == ReportType::inner_only && report.inner_type == InnerType::domain &&
         report.inner.size() == kTrailerBytes - kReportHeaderBytes &&
         load<std::uint16_t>(report.inner, 0) == kOwnDomain &&
         load<std::uint16_t>(report.inner, kKindAt - kDomainAt) == kSignature;
}

}  // namespace tributary::telemetry
