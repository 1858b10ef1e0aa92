// Checks of jobs with named data: memory for it, and segments that fit packets and cache.
#pragma once

#include "config/model/switch_config.h"
#include "config/text/read_context.h"

namespace tributary::config {

void check_names(const SwitchConfig& config, ReadContext& context);

}  // namespace tributary::config
