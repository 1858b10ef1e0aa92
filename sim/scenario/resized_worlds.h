// Worlds whose jobs get more and fewer ranks between two ops (rule 24).
#pragma once

#include "sim/scenario/draw.h"
#include "sim/scenario/scenario.h"

namespace tributary::sim {

void draw_resizes(Draw draw, Scenario& s);

}  // namespace tributary::sim
