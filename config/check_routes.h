// Rules for a switch's routes, and for whom they lead to.
#pragma once

#include "config/read_context.h"
#include "config/switch_config.h"

namespace tributary::config {

void check_routes(const SwitchConfig& config, ReadContext& context);

}  // namespace tributary::config
