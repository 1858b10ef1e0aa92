// Contradictions in how a job's sums are made, and jobs that do not fit the memory or the slots.
#pragma once

#include "config/model/switch_config.h"
#include "config/text/read_context.h"

namespace tributary::config {

void check_sums(const SwitchConfig& config, ReadContext& context);

}  // namespace tributary::config
