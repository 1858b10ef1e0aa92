// The endpoints that the UDP front end gives to engines for the switches that a configuration names
// (aggregator/chunk/address_book.h). A switch behind a router has no MAC address, as in what
// UdpFrontEnd::read() makes of its frames. Without state.
#pragma once

#include <cstdint>
#include <vector>

#include "aggregator/chunk/address_book.h"
#include "core/net/udp_peer.h"

namespace tributary::dataplane {

class UdpAddressBook final : public aggregator::AddressBook {
 public:
  [[nodiscard]] Endpoint parent(const config::ParentConfig& parent,
                                std::uint16_t uplink) const override {
    return wire::UdpPeer(uplink, 0, parent.ipv4, {}, parent.mac);
  }
  // The root's UDP base port is that of the whole tree.
  [[nodiscard]] std::vector<Endpoint> root(const config::SwitchConfig& config,
                                           const config::JobConfig& job,
                                           std::uint16_t uplink) const override {
    return wire::peers_of_shards(
        {uplink, config.udp_base_port, job.hosting->root_ipv4, {}, job.hosting->root_mac},
        job.shards);
  }
};

inline constinit const UdpAddressBook kUdpAddresses{};

}  // namespace tributary::dataplane
