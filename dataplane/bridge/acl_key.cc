#include "dataplane/bridge/acl_key.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/net/read.h"
#include "dataplane/frame/vlan.h"

namespace tributary::dataplane {
namespace {

using wire::be16;
using wire::be32;

constexpr int kMostExtensions = 8;
constexpr int kMostTags = 8;  // behind the first one

// IP protocols and IPv6 extension headers.
enum : std::uint8_t {
  kHopByHop = 0,
  kTcp = 6,
  kUdp = 17,
  kRouting = 43,
  kFragment = 44,
  kAuthentication = 51,
  kDestinationOptions = 60,
  kSctp = 132,
  kMobility = 135,
  kUdpLite = 136,
  kHip = 139,
  kShim6 = 140,
};

// The packet, of which only the first bytes may be here.
struct Packet {
  std::span<const std::byte> here;
  std::size_t bytes = 0;  // all of it

  [[nodiscard]] std::uint8_t u8(std::size_t at) const { return wire::u8(here, at); }
  [[nodiscard]] std::uint16_t u16(std::size_t at) const { return wire::u16(here, at); }
  // Why so many bytes at `at` cannot be read; none when they can.
  [[nodiscard]] DropReason lack(std::size_t at, std::size_t wanted) const {
    if (at + wanted > bytes) return DropReason::frame_truncated;
    return at + wanted > here.size() ? DropReason::frame_bad_ip : DropReason::none;
  }
};

bool has_ports(std::uint8_t protocol) {
  return protocol == kTcp || protocol == kUdp || protocol == kSctp || protocol == kUdpLite;
}

DropReason read_ports(const Packet& packet, std::size_t at, AclKey& key) {
  if (!has_ports(key.protocol)) return DropReason::none;
  if (const DropReason lack = packet.lack(at, 4); lack != DropReason::none) return lack;
  key.source_port = packet.u16(at);
  key.destination_port = packet.u16(at + 2);
  return DropReason::none;
}

DropReason read_ipv4(Packet packet, AclKey& key) {
  if (const auto lack = packet.lack(0, wire::kIpv4Bytes); lack != DropReason::none) return lack;
  const std::size_t header = (packet.u8(0) & 15u) * 4;
  const std::size_t total = packet.u16(2);
  if (packet.u8(0) >> 4 != 4 || header < wire::kIpv4Bytes || total < header)
    return DropReason::frame_bad_ip;
  if (total > packet.bytes) return DropReason::frame_truncated;
  packet.bytes = total;
  key.protocol = packet.u8(9);
  std::memcpy(&key.source[0], &packet.here[12], 4);
  std::memcpy(&key.destination[0], &packet.here[16], 4);
  const bool first = (packet.u16(6) & 0x1FFF) == 0;
  return first ? read_ports(packet, header, key) : DropReason::none;
}

// Length of an extension header; 0: it is none.
std::size_t extension_bytes(std::uint8_t protocol, std::uint8_t length_field) {
  switch (protocol) {
    case kHopByHop:
    case kRouting:
    case kDestinationOptions:
    case kMobility:
    case kHip:
    case kShim6: return (length_field + 1u) * 8;
    case kFragment: return 8;
    case kAuthentication: return (length_field + 2u) * 4;
    default: return 0;
  }
}

DropReason read_ipv6(Packet packet, AclKey& key) {
  if (const auto lack = packet.lack(0, wire::kIpv6Bytes); lack != DropReason::none) return lack;
  const std::size_t total = wire::kIpv6Bytes + packet.u16(4);
  if (packet.u8(0) >> 4 != 6) return DropReason::frame_bad_ip;
  if (total > packet.bytes) return DropReason::frame_truncated;
  packet.bytes = total;
  key.protocol = packet.u8(6);
  std::memcpy(key.source, &packet.here[8], sizeof key.source);
  std::memcpy(key.destination, &packet.here[24], sizeof key.destination);
  std::size_t at = wire::kIpv6Bytes;
  for (int n = 0; extension_bytes(key.protocol, 0) != 0; ++n) {
    if (n == kMostExtensions) return DropReason::frame_bad_ip;
    if (const auto lack = packet.lack(at, 8); lack != DropReason::none) return lack;
    const bool later = key.protocol == kFragment && (packet.u16(at + 2) & 0xFFF8) != 0;
    const std::size_t bytes = extension_bytes(key.protocol, packet.u8(at + 1));
    key.protocol = packet.u8(at);
    if (later) return DropReason::none;
    at += bytes;
  }
  return read_ports(packet, at, key);
}

}  // namespace

AclFields read_acl_key(const wire::EthernetView& frame, std::size_t missing, AclKey& key) {
  key = {};
  std::uint16_t type = frame.ether_type;
  Packet packet{frame.payload, frame.payload.size() + missing};
  // Hosts look behind several tags, and so must rules.
  for (int n = 0; is_vlan_tag(type); ++n) {
    if (n == kMostTags) return {AclKind::other, DropReason::vlan_stacked};
    if (const DropReason lack = packet.lack(0, wire::kVlanBytes); lack != DropReason::none)
      return {AclKind::other, lack};
    type = packet.u16(2);
    packet.here = packet.here.subspan(wire::kVlanBytes);
    packet.bytes -= wire::kVlanBytes;
  }
  key.ether_type = type;
  if (type == wire::kEtherTypeIpv4) return {AclKind::ipv4, read_ipv4(packet, key)};
  if (type == wire::kEtherTypeIpv6) return {AclKind::ipv6, read_ipv6(packet, key)};
  return {};
}

}  // namespace tributary::dataplane
