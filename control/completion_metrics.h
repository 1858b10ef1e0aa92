// The completion engine's figures as metrics.
#pragma once

#include "control/metric_family.h"
#include "dataplane/switch.h"

namespace tributary::control {

void collect_completion(Families& out, dataplane::Switch& sw);

}  // namespace tributary::control
