// The sides without an engine that suite `engine` measures beside it: payloads that are copied, or
// summed by the kernels alone, to as many places as the engine has slots live (`slots`: one for
// each, in order). Bytes move in the engine's order, burst by burst; the kernels look as far ahead
// as it does. What the last contribution has left in each place is checked, outside of what is
// timed.
#pragma once

#include <cstddef>
#include <span>

#include "bench/engine_traffic.h"

namespace tributary::bench {

struct BareTimes {
  double total = 0;  // ns of a round
  double last = 0;   // of that, for the last contributions to their chunks
};

// One round each; `verified` becomes false where a place holds anything but the last payload, or
// the sum of all of them.
BareTimes run_copies(EngineTraffic& traffic, std::span<std::byte> slots, bool& verified);
BareTimes run_kernels(EngineTraffic& traffic, std::span<std::byte> slots, bool& verified);

}  // namespace tributary::bench
