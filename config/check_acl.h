// Rules for the keys of access control.
#pragma once

#include "config/read_context.h"
#include "config/switch_config.h"

namespace tributary::config {

void check_acl(const SwitchConfig& config, ReadContext& context);

}  // namespace tributary::config
