// Contradictions between values of a scenario that are each fine by themselves.
#pragma once

#include "config/text/read_context.h"
#include "sim/scenario/scenario.h"

namespace tributary::sim {

void check_scenario(const Scenario& scenario, config::ReadContext& context);

}  // namespace tributary::sim
