// Checks for in-band telemetry.
#pragma once

#include "config/model/switch_config.h"
#include "config/text/read_context.h"

namespace tributary::config {

void check_telemetry(const SwitchConfig& config, ReadContext& context);

}  // namespace tributary::config
