// Checks what no single value of a parameter server's configuration can show.
#pragma once

#include "config/read_context.h"
#include "config/server_config.h"

namespace tributary::config {

void check(const ServerConfig& config, ReadContext& context);

}  // namespace tributary::config
