// Checks for a switch's routes, and for the peers that they lead to.
#pragma once

#include "config/model/switch_config.h"
#include "config/text/read_context.h"

namespace tributary::config {

void check_routes(const SwitchConfig& config, ReadContext& context);

}  // namespace tributary::config
