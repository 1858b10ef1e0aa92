// Metrics about children that lag behind.
#pragma once

#include "control/metrics/metric_family.h"
#include "dataplane/switch/switch.h"

namespace tributary::control {

void collect_stragglers(Families& out, dataplane::Switch& sw);

}  // namespace tributary::control
