// Contradictions between values that are each fine by themselves.
#pragma once

#include "config/read_context.h"
#include "config/switch_config.h"

namespace tributary::config {

// Reports what it finds to `context`; skips what depends on values that could not be read.
void check(const SwitchConfig& config, ReadContext& context);

}  // namespace tributary::config
