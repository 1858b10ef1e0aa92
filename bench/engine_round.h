// One round of an EngineTraffic through its engine, as a switch's loop would drive it, and where
// the time went.
#pragma once

#include "bench/engine_traffic.h"

namespace tributary::bench {

// Packets that pass through the stages together, as a switch receives them.
inline constexpr std::size_t kBurst = 32;

// Where the time of one round went, in ns of the thread.
struct StageTimes {
  double parse = 0;
  double prefetch = 0;
  double decide = 0;  // and say what is to be sent; of what is complete, the last sums, too
  double reduce = 0;  // all other sums
  double total = 0;
  double cycles_per_ns = 0;  // of the time-stamp counter
};

// Whether the loop looks for passed deadlines after each burst, as a switch does.
enum class Deadlines : std::uint8_t { never, each_burst };

StageTimes run_engine(EngineTraffic& traffic, Deadlines deadlines = Deadlines::never);

}  // namespace tributary::bench
