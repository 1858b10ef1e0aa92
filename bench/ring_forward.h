// Suite `ring`, plain frames: what forwarding costs when ports cost nothing.
#pragma once

#include "bench/harness.h"

namespace tributary::bench {

// Rows for frames of 64 bytes: the rate, beside that of a loop that only swaps addresses, and the
// cycles of each stage of the packet loop.
void run_ring_forward(const Options& options, Report& report);

}  // namespace tributary::bench
