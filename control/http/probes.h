// Pages for an orchestrator's probes: does the daemon live, and does it serve?
//
//   /healthz  200 while the daemon does its work; 503 says what does not: restart it
//   /readyz   200 while it can serve; 503 says what it lacks: send no clients there yet
#pragma once

#include <functional>
#include <string>

#include "control/http/http_server.h"

namespace tributary::control {

// Returns a line for each thing that is wrong, or nothing. Called by the HTTP server's thread.
using Probe = std::function<std::string()>;

// Both pages, by path.
HttpServer::Pages probe_pages(const Probe& health, const Probe& readiness);

}  // namespace tributary::control
