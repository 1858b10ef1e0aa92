// A memif worker's address of its switch:
//   memif:///SOCKET_PATH[?id=N&switch=IPV4&port=BASE_PORT&ip=OWN_IPV4]
//
// Each key may be left out: the switch has a free interface, and tells its address.
#pragma once

#include <cstdint>
#include <string>

#include "config/model/switch_config.h"
#include "core/net/frame.h"
#include "worker/transport/memif_format.h"

namespace tributary::worker {

struct MemifAddress {
  std::string socket;                // absolute path of the switch's memif socket
  std::uint32_t id = memif::kAnyId;  // interface id on that socket: names the switch port
  std::uint32_t switch_ipv4 = 0;     // host order, as own_ipv4; 0: the switch tells it
  std::uint32_t own_ipv4 = 0;        // default: derived_worker_ipv4()
  std::uint16_t base_port = config::kDefaultUdpBasePort;  // 0: the switch tells it
};

// Throws std::invalid_argument with the mistake and the allowed values.
MemifAddress parse_memif_address(const std::string& address, std::uint32_t job, std::uint32_t rank);

// 10.78.0.0/16, distinct for ranks of a job and for jobs that differ in their low 6 bits. Two
// workers of one switch must not share an address: give the second job's workers `ip=`.
constexpr std::uint32_t derived_worker_ipv4(std::uint32_t job, std::uint32_t rank) {
  return 0x0A4E0000u | ((job * config::kMaxWorkers + rank) & 0xFFFFu);
}

// 02:78 and the four address bytes; the switch's own begin with 02:74.
constexpr wire::MacAddress worker_mac(std::uint32_t ipv4) {
  wire::MacAddress mac = config::derived_mac(ipv4);
  mac[1] = 0x78;
  return mac;
}

std::string ipv4_text(std::uint32_t ipv4);
std::string mac_text(const wire::MacAddress& mac);

}  // namespace tributary::worker
