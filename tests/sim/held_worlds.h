// Whether, and how, sums of a drawn world wait (held_data.h); and worlds in which much does.
#pragma once

#include "tests/sim/draw.h"
#include "tests/sim/scenario.h"

namespace tributary::sim {

void draw_held(Draw draw, Scenario& scenario);

}  // namespace tributary::sim
