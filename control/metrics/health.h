// Pages for an orchestrator's probes: is the switch alive, and does it serve?
//
//   /healthz  200 while every packet loop answers; 503 names those that do not: restart the daemon
//   /readyz   the same, and 503 while a port has no device, by name: send no workers there yet
#pragma once

#include "control/http/http_server.h"
#include "dataplane/switch/switch.h"

namespace tributary::control {

HttpPage health_page(dataplane::Switch& sw);
HttpPage readiness_page(dataplane::Switch& sw);
// Both, by path. `sw` outlives them.
HttpServer::Pages probe_pages(dataplane::Switch& sw);

}  // namespace tributary::control
