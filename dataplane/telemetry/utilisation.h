// How much of its capacity each port has used in the last millisecond or more.
// Owner: one packet loop, which counts what it sends itself.
#pragma once

#include <array>
#include <cstdint>

#include "config/model/switch_config.h"
#include "telemetry/wire/hop.h"

namespace tributary::dataplane {

class Utilisation {
 public:
  // In parts per million. `mbps`: the capacity; 0: it is unknown, and so is its use. `sent_bytes`:
  // by the port so far. `now_ns`: on a clock that never goes back.
  std::uint32_t of(std::uint16_t port, std::uint32_t mbps, std::uint64_t sent_bytes,
                   std::uint64_t now_ns);

 private:
  struct Meter {
    std::uint64_t since_ns = 0;  // 0: not yet begun
    std::uint64_t since_bytes = 0;
    std::uint32_t ppm = telemetry::kUnknown32;
  };

  std::array<Meter, config::kMaxPorts> meters_{};
};

}  // namespace tributary::dataplane
