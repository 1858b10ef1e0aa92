// IGMP and MLD snooping: multicast goes to the ports that asked for it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/time.h"

namespace tributary::config {

inline constexpr std::uint32_t kMaxGroups = 65536;

struct SnoopingConfig {
  bool enabled = false;
  std::uint32_t groups = 1024;                      // in all VLANs; power of two
  Duration membership = Duration::seconds(260);     // RFC 3376 section 8.4
  Duration router_ageing = Duration::seconds(255);  // section 8.5: other querier present
  Duration leave_delay = Duration::seconds(2);      // section 8.8 times its robustness
  std::vector<std::string> router_ports;            // besides those that queries come in through
  std::vector<std::string> host_ports;              // that no query may come in through
  bool flood_unknown = true;                        // groups that no port has asked for
};

}  // namespace tributary::config
