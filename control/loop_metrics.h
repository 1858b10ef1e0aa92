// The packet loops' figures as metrics, those of each lcore by themselves.
#pragma once

#include "control/metric_family.h"
#include "dataplane/switch.h"

namespace tributary::control {

void collect_loops(Families& out, dataplane::Switch& sw);

}  // namespace tributary::control
