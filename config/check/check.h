// Contradictions between values that are each fine by themselves.
#pragma once

#include "config/model/switch_config.h"
#include "config/text/read_context.h"

namespace tributary::config {

// Reports what it finds to `context`; skips what depends on values that could not be read.
void check(const SwitchConfig& config, ReadContext& context);

}  // namespace tributary::config
