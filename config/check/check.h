// Checks for contradictions between values that are each valid.
#pragma once

#include "config/model/switch_config.h"
#include "config/text/read_context.h"

namespace tributary::config {

// Reports mistakes to `context`; skips checks of values that could not be read.
void check(const SwitchConfig& config, ReadContext& context);

}  // namespace tributary::config
