// The DPDK port that a parameter server's file names, ready for its datagrams.
#pragma once

#include <memory>

#include "config/server/server_config.h"
#include "dataplane/udp/udp_port.h"

namespace tributary::psd {

// Starts DPDK: once per process. Throws std::runtime_error that names the port, what failed and
// what to try.
std::unique_ptr<dataplane::UdpPort> make_udp_port(const config::ServerConfig& config);

}  // namespace tributary::psd
