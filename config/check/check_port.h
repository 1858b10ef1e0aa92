// Keys that name a port of the switch.
#pragma once

#include <string>

#include "config/model/switch_config.h"
#include "config/text/read_context.h"

namespace tributary::config {

// Reports at `path` when no port has that name.
void check_port_exists(const SwitchConfig& config, ReadContext& context, const std::string& path,
                       const std::string& name);

}  // namespace tributary::config
