// The switch as a host: ARP and ICMP echo for its own address, answered in place, and datagrams
// that their receivers send back.
//
// Pure functions over frames; a frame that is answered goes back out of its ingress port.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "config/model/reserved_groups.h"
#include "core/net/byte_order.h"
#include "core/net/frame.h"

namespace tributary::dataplane {

// The switch's addresses and UDP ports, the same on every port.
struct Identity {
  wire::MacAddress mac{};
  std::uint32_t ipv4 = 0;  // host order
  std::uint16_t udp_first = 0;
  std::uint16_t udp_count = 0;    // one port per shard
  std::uint16_t udp_hosting = 0;  // where roots reach the completion engines hosted here; 0: none
  // Groups to which a switch above sends what is meant for this one, and its address.
  struct ParentGroup {
    std::uint32_t group_ipv4 = 0;
    std::uint32_t parent_ipv4 = 0;
  };
  std::vector<ParentGroup> parents = {};
  bool takes_fragments = false;
  config::ReservedGroups reserved = {};
  bool hears_arp = false;   // there are routers to be asked
  bool takes_rdma = false;  // some job does
  bool probes_links = false;
};

// True for IPv4 and ARP whose sender says that it has the switch's address.
inline bool is_from_own_address(const Identity& identity, const wire::EthernetView& frame) {
  std::size_t at = 12;  // of IPv4's source
  if (frame.ether_type != wire::kEtherTypeIpv4) {
    if (frame.ether_type != wire::kEtherTypeArp) return false;
    at = 14;
  }
  if (frame.payload.size() < at + sizeof(wire::be32)) return false;
  wire::be32 sender;
  std::memcpy(&sender, frame.payload.data() + at, sizeof sender);
  return sender == identity.ipv4;
}

// Hosts take tags of VLAN 0 off, however many (Linux: vlan_do_receive), so such tags hide nothing
// here: own_address if the frame behind them is from the switch's address, vlan_stacked behind more
// than kMostVlan0Tags. none where a tag of another VLAN follows: that is another network. `frame`
// is behind its first tag, or begins with a tag that is not 802.1Q's.
inline constexpr int kMostVlan0Tags = 8;
DropReason judge_stacked_tags(const Identity& identity, const wire::EthernetView& frame);

// True for a well-formed ARP request for the switch's address.
bool is_arp_request_for(const Identity& identity, const wire::EthernetView& frame);
// Turns such a frame into the reply.
void answer_arp(const Identity& identity, std::span<std::byte> frame,
                const wire::EthernetView& view);
// True for ARP that may tell of a router, where the switch has any.
bool is_arp_to_intercept(const Identity& identity, const wire::EthernetView& frame);

// True for an ICMP echo request to the switch's address, whole and with a good checksum.
bool is_echo_request_for(const Identity& identity, const wire::EthernetView& frame);
void answer_echo(std::span<std::byte> frame, const wire::EthernetView& view);

// ICMP port unreachable (RFC 792, type 3 code 3): a host's answer to a datagram whose UDP port no
// process has. It quotes the beginning of the datagram; Linux up to 548 bytes of it.
struct PortUnreachable {
  std::uint32_t reporter = 0;  // who sent the message, and to whom
  std::uint32_t receiver = 0;
  wire::UdpEndpoints endpoints;        // of the quoted datagram, as it was sent
  std::span<const std::byte> payload;  // of that, as far as it is quoted
};
// nullopt for any other packet, for fragments, wrong lengths and a wrong checksum of the message.
// The caller has checked the IP header's checksum.
std::optional<PortUnreachable> parse_port_unreachable(std::span<const std::byte> ip_packet);

}  // namespace tributary::dataplane
