// Pinned paths: destinations of other traffic whose egress port the configuration says.
//
//   MAC address of the frame ─▶ IP address, longest prefix first ─▶ the forwarding database
//
// Static, built at construction, consulted for frames to one address before the database; frames to
// groups and floods are none of its business. Pure but for the view into a frame. Owner: the packet
// loop; a change of configuration makes another one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "config/model/switch_config.h"
#include "core/net/frame.h"

namespace tributary::dataplane {

class PathTable {
 public:
  static constexpr std::uint16_t kNoPort = 0xFFFF;

  // The ports of the list are at their places.
  explicit PathTable(const std::vector<config::PortConfig>& ports);

  [[nodiscard]] bool empty() const { return macs_.empty() && levels_.empty(); }
  // The port for a frame to the address with these mac_bits() and this view.
  [[nodiscard]] std::uint16_t port_of(std::uint64_t destination,
                                      const wire::EthernetView& view) const;

 private:
  using Address = std::array<std::uint64_t, 2>;  // an IPv4 address in the first 32 bits
  struct Hash {
    std::size_t operator()(const Address& address) const {
      return (address[0] ^ address[1] * 0x9E3779B97F4A7C15ULL) * 0xBF58476D1CE4E5B9ULL;
    }
  };
  // All prefixes of one length.
  struct Level {
    bool ipv6 = false;
    unsigned bits = 0;
    std::unordered_map<Address, std::uint16_t, Hash> ports;
  };
  void add(const config::IpPrefix& prefix, std::uint16_t port);
  static Address masked(Address address, unsigned bits);

  std::unordered_map<std::uint64_t, std::uint16_t> macs_;
  std::vector<Level> levels_;  // longest first
};

}  // namespace tributary::dataplane
