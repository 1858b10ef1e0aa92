// Rules for the keys of what a switch does with traffic that is not aggregation.
#pragma once

#include "config/read_context.h"
#include "config/switch_config.h"

namespace tributary::config {

void check_forwarding(const SwitchConfig& config, ReadContext& context);

}  // namespace tributary::config
