// Draws scenarios: a seed is a world. Every draw turns some kinds of faults off altogether, so that
// rare combinations of the others come to the fore, and keeps tables and windows tiny.
#pragma once

#include <cstdint>

#include "sim/scenario/scenario.h"

namespace tributary::sim {

Scenario draw_scenario(std::uint64_t seed);

}  // namespace tributary::sim
