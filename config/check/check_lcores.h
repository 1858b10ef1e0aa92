// Checks for several packet loops: CPUs, queues, and jobs that name one.
#pragma once

#include "config/model/switch_config.h"
#include "config/text/read_context.h"

namespace tributary::config {

void check_lcores(const SwitchConfig& config, ReadContext& context);

}  // namespace tributary::config
