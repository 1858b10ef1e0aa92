// Whether, and how, sums of a drawn world wait (held_data.h); and worlds in which much does.
#pragma once

#include "sim/scenario/draw.h"
#include "sim/scenario/scenario.h"

namespace tributary::sim {

void draw_held(Draw draw, Scenario& scenario);

}  // namespace tributary::sim
