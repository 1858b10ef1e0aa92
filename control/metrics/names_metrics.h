// Metrics of named data.
#pragma once

#include "control/metrics/metric_family.h"
#include "dataplane/switch/switch.h"

namespace tributary::control {

void collect_names(Families& out, dataplane::Switch& sw);

}  // namespace tributary::control
