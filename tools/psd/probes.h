// Probes of a parameter server (control/http/probes.h):
//
//   /healthz  503 while the packet loop does not answer
//   /readyz   the same, and while the server's DPDK port has no link
#pragma once

#include "control/http/probes.h"
#include "dataplane/udp/udp_port.h"
#include "tools/psd/server_loop.h"

namespace tributary::psd {

// `port`: the loop's link, where that is a DPDK port. Both outlive the pages.
control::HttpServer::Pages probe_pages(ServerLoop& loop, const dataplane::UdpPort* port);

}  // namespace tributary::psd
