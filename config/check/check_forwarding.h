// Checks for the keys of traffic that is not aggregation.
#pragma once

#include "config/model/switch_config.h"
#include "config/text/read_context.h"

namespace tributary::config {

void check_forwarding(const SwitchConfig& config, ReadContext& context);

}  // namespace tributary::config
