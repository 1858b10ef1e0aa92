#include "dataplane/telemetry/utilisation.h"

#include <algorithm>

namespace tributary::dataplane {

std::uint32_t Utilisation::of(std::uint16_t port, std::uint32_t mbps, std::uint64_t sent_bytes,
                              std::uint64_t now_ns) {
  constexpr std::uint64_t kLeastNs = 1'000'000;
  if (mbps == 0) return telemetry::kUnknown32;
  Meter& meter = meters_[port];
  const std::uint64_t ns = now_ns - meter.since_ns;
  if (ns < kLeastNs) return meter.ppm;
  if (meter.since_ns != 0 && sent_bytes >= meter.since_bytes) {
    const double bits = static_cast<double>(sent_bytes - meter.since_bytes) * 8;
    const double capacity = static_cast<double>(ns) * mbps * 1e-3;
    meter.ppm = static_cast<std::uint32_t>(std::min(bits / capacity, 1.0) * 1e6);
  }
  meter.since_ns = now_ns;
  meter.since_bytes = sent_bytes;
  return meter.ppm;
}

}  // namespace tributary::dataplane
