// Resources that a host grants to programs that move packets: privileges, memory, socket buffers.
#pragma once

#include <cstdint>
#include <string>

#include "tools/client/doctor/finding.h"

namespace tributary::client {

struct HostFacts {
  bool net_raw = false;                    // CAP_NET_RAW: af_packet ports
  bool net_admin = false;                  // CAP_NET_ADMIN: promiscuous mode, large socket buffers
  std::uint64_t receive_buffer_bytes = 0;  // net.core.rmem_max
  std::uint64_t huge_pages = 0;            // free ones
};

// `root`: where proc/ stands, "/" but for tests.
HostFacts look_at_host(const std::string& root = "/");
// Checks the needs of a worker; with `for_switch`, also those of a switch on this host.
Findings judge(const HostFacts& host, bool for_switch);

// A memif socket as a worker meets it.
Findings judge_memif_socket(const std::string& path);

}  // namespace tributary::client
