// Checks of jobs that ranks open (A4) against the rest of a switch's configuration.
#pragma once

#include "config/model/switch_config.h"
#include "config/text/read_context.h"

namespace tributary::config {

void check_open_jobs(const SwitchConfig& config, ReadContext& context);

}  // namespace tributary::config
