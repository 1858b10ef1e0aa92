// Checks for how a job's sums are made, and that jobs fit the memory and the slots.
#pragma once

#include "config/model/switch_config.h"
#include "config/text/read_context.h"

namespace tributary::config {

void check_sums(const SwitchConfig& config, ReadContext& context);

}  // namespace tributary::config
