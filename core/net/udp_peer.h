// Converts between an Endpoint and its fields in the UDP front end: switch port, UDP port, IPv4
// address, VLAN tag and MAC address. Frames of a host behind a router show the router's MAC
// address, which may change, so such a peer has none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include "core/endpoint.h"
#include "core/net/frame.h"

namespace tributary::wire {

// A MAC address as an endpoint's station, and back.
constexpr std::uint64_t station_of(const MacAddress& mac) {
  std::uint64_t station = 0;
  for (const std::uint8_t byte : mac) station = station << 8 | byte;
  return station;
}
constexpr MacAddress mac_of(std::uint64_t station) {
  MacAddress mac{};
  for (std::size_t i = 0; i < mac.size(); ++i)
    mac[i] = static_cast<std::uint8_t>(station >> (8 * (mac.size() - 1 - i)));
  return mac;
}

struct UdpPeer {
  std::uint16_t port = 0;  // of the switch
  std::uint16_t udp_port = 0;
  std::uint32_t ipv4 = 0;
  std::optional<std::uint16_t> vlan_tci = {};
  MacAddress mac{};

  UdpPeer() = default;
  constexpr UdpPeer(std::uint16_t switch_port, std::uint16_t udp, std::uint32_t address,
                    std::optional<std::uint16_t> tag = {}, const MacAddress& station = {})
      : port(switch_port), udp_port(udp), ipv4(address), vlan_tci(tag), mac(station) {}
  explicit UdpPeer(const Endpoint& e)
      : port(e.port()),
        udp_port(static_cast<std::uint16_t>(e.flow())),
        ipv4(ipv4_of(e.node())),
        vlan_tci(e.segment()),
        mac(mac_of(e.station())) {}
  operator Endpoint() const {
    return Endpoint({.front_end = FrontEndId::udp,
                     .port = port,
                     .flow = udp_port,
                     .node = node_of_ipv4(ipv4),
                     .station = station_of(mac),
                     .segment = vlan_tci});
  }

  [[nodiscard]] bool is_routed() const { return is_zero(mac); }
  bool operator==(const UdpPeer&) const = default;
};

// By shard: a process whose shards have UDP ports that follow each other, from this peer's.
inline std::vector<Endpoint> peers_of_shards(UdpPeer first, std::size_t shards) {
  std::vector<Endpoint> peers;
  for (std::size_t shard = 0; shard < shards; ++shard, ++first.udp_port) peers.push_back(first);
  return peers;
}

}  // namespace tributary::wire
