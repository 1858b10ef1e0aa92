// LLDP (IEEE 802.1AB): what a switch sends about itself through each port, and receives there.
#pragma once

#include <cstdint>

#include "core/time.h"

namespace tributary::config {

inline constexpr std::uint32_t kMaxLldpIntervalSeconds = 3600;
inline constexpr std::uint32_t kMaxLldpHold = 10;

struct LldpConfig {
  bool enabled = false;
  Duration interval = Duration::seconds(30);  // IEEE 802.1AB-2016, 9.2.5.7: msgTxInterval
  std::uint32_t hold = 4;                     // 9.2.5.6: msgTxHold
};

// How long neighbours keep what they last received (9.2.5.22). Fits the 16 bits of its field on the
// wire.
constexpr std::uint16_t lldp_ttl_seconds(const LldpConfig& config) {
  return static_cast<std::uint16_t>((config.interval * config.hold).to_ns() / 1'000'000'000 + 1);
}
static_assert(kMaxLldpIntervalSeconds * kMaxLldpHold < 0xFFFF);

}  // namespace tributary::config
