// Probes of a switch (control/http/probes.h):
//
//   /healthz  503 names the packet loops that do not answer
//   /readyz   the same, and the ports that have no device
#pragma once

#include "control/http/probes.h"
#include "dataplane/switch/switch.h"

namespace tributary::control {

// `sw` outlives them.
HttpServer::Pages probe_pages(dataplane::Switch& sw);

}  // namespace tributary::control
