// Rules for the keys of access control.
#pragma once

#include "config/model/switch_config.h"
#include "config/text/read_context.h"

namespace tributary::config {

void check_acl(const SwitchConfig& config, ReadContext& context);

}  // namespace tributary::config
