// Which port leads to a completion host.
#pragma once

#include <string>

#include "config/model/switch_config.h"

namespace tributary::config {

// The name of the host's port, or of the port to the router on the way to it; empty where the
// configuration says neither.
inline std::string port_toward(const SwitchConfig& config, const CompletionHost& host) {
  if (!host.port.empty()) return host.port;
  const RouteConfig* const route = route_through_router(config.routes, host.ipv4);
  return route == nullptr ? std::string() : route->port;
}

}  // namespace tributary::config
