// Metrics of access control and of multicast groups.
#pragma once

#include "control/metric_family.h"
#include "dataplane/switch.h"

namespace tributary::control {

void collect_forwarding(Families& out, dataplane::Switch& sw);

}  // namespace tributary::control
