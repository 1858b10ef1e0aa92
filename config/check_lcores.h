// Rules of several packet loops: CPUs, queues and jobs that name one.
#pragma once

#include "config/read_context.h"
#include "config/switch_config.h"

namespace tributary::config {

void check_lcores(const SwitchConfig& config, ReadContext& context);

}  // namespace tributary::config
