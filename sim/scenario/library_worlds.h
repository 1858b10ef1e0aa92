// Worlds of ranks on the whole library, whose ops no switch that dies may fail (rule 23).
#pragma once

#include <cstdint>

#include "sim/scenario/scenario.h"

namespace tributary::sim {

// The world of that seed, without what ends ops for good: ranks that die or disagree,
// deadlines that abort, results without late ranks; parameter servers with models live on. Switches
// die in each of them, and come back.
Scenario draw_library_world(std::uint64_t seed);

}  // namespace tributary::sim
