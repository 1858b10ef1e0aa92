// Checks what no single value of a parameter server's configuration can show.
#pragma once

#include "config/server/server_config.h"
#include "config/text/read_context.h"

namespace tributary::config {

void check(const ServerConfig& config, ReadContext& context);

// Of its jobs: the largest IP packet; 0 where there are none.
std::size_t largest_packet_bytes(const ServerConfig& config);

}  // namespace tributary::config
