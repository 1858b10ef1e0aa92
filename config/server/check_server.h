// Checks of a parameter server's configuration that no single value can show.
#pragma once

#include "config/server/server_config.h"
#include "config/text/read_context.h"

namespace tributary::config {

void check(const ServerConfig& config, ReadContext& context);

// The largest IP packet of its jobs; 0 if there are none.
std::size_t largest_packet_bytes(const ServerConfig& config);

}  // namespace tributary::config
