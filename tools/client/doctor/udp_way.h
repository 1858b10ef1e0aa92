// The way of a UDP worker on this host to its switch and back, tried with the job's own packets.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "tools/client/doctor/finding.h"
#include "tools/client/doctor/probe_drops.h"
#include "tools/client/doctor/switch_probe.h"

namespace tributary::client {

struct UdpWay {
  std::string address;  // as the user wrote it
  std::uint32_t ipv4 = 0;
  std::uint16_t port = 0;
  std::uint32_t job = 1;
  std::uint32_t rank = wire::kUnknownRank;  // none was given
  std::uint32_t chunk_bytes = 0;            // 0: the switch is asked
};

// "udp://IPV4[:PORT]"; nullopt for other texts. Fills address, ipv4 and port.
std::optional<UdpWay> parse_udp_way(const std::string& address);

// `drops`: the drops of a switch on this host, which has to be the one that is probed; empty where
// there is none. Never throws, but for what `drops` throws.
Findings check_udp_way(const UdpWay& way, const std::function<DropsLook()>& drops);

}  // namespace tributary::client
