// In-band telemetry's figures as metrics, those of each lcore by themselves; none where it is off.
#pragma once

#include "control/metrics/metric_family.h"
#include "dataplane/switch/switch.h"

namespace tributary::control {

void collect_telemetry(Families& out, dataplane::Switch& sw);

}  // namespace tributary::control
