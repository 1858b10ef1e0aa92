#include "dataplane/host/tsc_clock.h"

#include <rte_cycles.h>

#include <chrono>

namespace tributary::dataplane {

double tsc_hz() {
  return static_cast<double>(rte_get_tsc_hz());
}

TscClock::TscClock()
    : start_tsc_(rte_rdtsc()),
      start_ns_(
          std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count()),
      ns_per_cycle_q32_((1'000'000'000ULL << 32) / rte_get_tsc_hz()) {}

Instant TscClock::now() const {
  __extension__ using Wide = unsigned __int128;
  const Wide scaled = Wide{rte_rdtsc() - start_tsc_} * ns_per_cycle_q32_;
  return Instant::from_ns(start_ns_ + static_cast<std::int64_t>(scaled >> 32));
}

}  // namespace tributary::dataplane
