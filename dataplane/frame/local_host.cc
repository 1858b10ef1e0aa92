#include "dataplane/frame/local_host.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "core/net/arp.h"
#include "core/net/byte_order.h"
#include "core/net/checksum.h"
#include "dataplane/frame/vlan.h"

namespace tributary::dataplane {
namespace {

using wire::be16;
using wire::be32;

struct Ipv4 {
  std::uint8_t version_ihl, dscp_ecn;
  be16 total_length, id, flags_fragment;
  std::uint8_t ttl, protocol;
  be16 checksum;
  be32 source, destination;
};
static_assert(sizeof(Ipv4) == wire::kIpv4Bytes);
struct Icmp {
  std::uint8_t type, code;
  std::uint16_t checksum;  // memory order
  be32 rest;
};
static_assert(sizeof(Icmp) == 8);
struct Udp {
  be16 source, destination, length, checksum;
};
static_assert(sizeof(Udp) == wire::kUdpBytes);
constexpr std::uint8_t kPlainHeader = 0x45;      // IPv4 without options
constexpr std::uint16_t kFragmentBits = 0x3FFF;  // more fragments, or an offset
constexpr std::uint8_t kProtocolIcmp = 1;
constexpr std::uint8_t kProtocolUdp = 17;
constexpr std::uint8_t kEchoRequest = 8;
constexpr std::uint8_t kEchoReply = 0;
constexpr std::uint8_t kUnreachable = 3;
constexpr std::uint8_t kUnreachablePort = 3;

template <typename T>
T read(std::span<const std::byte> bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

// Reads a header off the front; false where the bytes end before.
template <typename T>
bool take(std::span<const std::byte>& bytes, T& header) {
  if (bytes.size() < sizeof header) return false;
  header = read<T>(bytes);
  bytes = bytes.subspan(sizeof header);
  return true;
}

bool is_whole(const Ipv4& ip, std::uint8_t protocol) {
  return ip.version_ihl == kPlainHeader && ip.protocol == protocol &&
         (ip.flags_fragment & kFragmentBits) == 0;
}

std::size_t payload_offset(std::span<const std::byte> frame, const wire::EthernetView& view) {
  return static_cast<std::size_t>(view.payload.data() - frame.data());
}

// New destination and source of an answered frame.
void readdress(std::span<std::byte> frame, const wire::MacAddress& destination,
               const wire::MacAddress& source) {
  std::memcpy(frame.data(), destination.data(), destination.size());
  std::memcpy(frame.data() + destination.size(), source.data(), source.size());
}

}  // namespace

DropReason judge_stacked_tags(const Identity& identity, const wire::EthernetView& frame) {
  constexpr std::uint16_t kVlanId = 0x0FFF;
  wire::EthernetView inner = frame;
  for (int n = 0; is_vlan_tag(inner.ether_type); ++n) {
    if (n == kMostVlan0Tags) return DropReason::vlan_stacked;
    if (wire::take_vlan_tag(inner) != DropReason::none || (*inner.vlan_tci & kVlanId) != 0)
      return DropReason::none;
  }
  return is_from_own_address(identity, inner) ? DropReason::own_address : DropReason::none;
}

bool is_arp_request_for(const Identity& identity, const wire::EthernetView& frame) {
  if (frame.ether_type != wire::kEtherTypeArp) return false;
  const auto arp = wire::parse_arp(frame.payload);
  return arp && arp->is_request && arp->target_ip == identity.ipv4;
}

bool is_arp_to_intercept(const Identity& identity, const wire::EthernetView& frame) {
  return identity.hears_arp && frame.ether_type == wire::kEtherTypeArp && !frame.vlan_tci &&
         wire::parse_arp(frame.payload).has_value();
}

void answer_arp(const Identity& identity, std::span<std::byte> frame,
                const wire::EthernetView& view) {
  const auto request = wire::parse_arp(view.payload);
  std::array<std::byte, wire::kArpFrameBytes> reply;
  if (!request || wire::write_arp_reply(identity.mac, *request, reply) == 0) return;
  // Addresses and body into their places: a VLAN tag between them stays.
  const auto body = std::span(reply).subspan(wire::kEthernetBytes);
  std::memcpy(frame.data() + payload_offset(frame, view), body.data(), body.size());
  readdress(frame, request->sender_mac, identity.mac);
}

bool is_echo_request_for(const Identity& identity, const wire::EthernetView& frame) {
  if (frame.ether_type != wire::kEtherTypeIpv4 ||
      frame.payload.size() < sizeof(Ipv4) + sizeof(Icmp))
    return false;
  const auto ip = read<Ipv4>(frame.payload);
  const std::size_t total = ip.total_length;
  if (ip.version_ihl != 0x45 || ip.protocol != kProtocolIcmp || ip.destination != identity.ipv4 ||
      (ip.flags_fragment & 0x3FFF) != 0 || total > frame.payload.size() ||
      total < sizeof(Ipv4) + sizeof(Icmp))
    return false;
  const auto message = frame.payload.subspan(sizeof(Ipv4), total - sizeof(Ipv4));
  return read<Icmp>(message).type == kEchoRequest && wire::ones_complement_sum(message) == 0xFFFF;
}

void answer_echo(std::span<std::byte> frame, const wire::EthernetView& view) {
  const std::size_t at = payload_offset(frame, view);
  auto ip = read<Ipv4>(view.payload);
  auto icmp = read<Icmp>(view.payload.subspan(sizeof(Ipv4)));
  readdress(frame, view.source, view.destination);
  std::swap(ip.source, ip.destination);  // the header's checksum stays right
  // RFC 1624: the message's only changed word is type and code.
  std::uint16_t before = 0;
  std::uint16_t after = 0;
  std::memcpy(&before, &icmp, sizeof before);
  icmp.type = kEchoReply;
  std::memcpy(&after, &icmp, sizeof after);
  std::uint16_t sum = wire::ones_complement_add(static_cast<std::uint16_t>(~icmp.checksum),
                                                static_cast<std::uint16_t>(~before));
  sum = wire::ones_complement_add(sum, after);
  icmp.checksum = static_cast<std::uint16_t>(~sum);
  // A message that is all zero now has the other representation of zero as its checksum.
  if (icmp.checksum == 0) icmp.checksum = 0xFFFF;
  std::memcpy(frame.data() + at, &ip, sizeof ip);
  std::memcpy(frame.data() + at + sizeof ip, &icmp, sizeof icmp);
}

std::optional<PortUnreachable> parse_port_unreachable(std::span<const std::byte> ip_packet) {
  std::span<const std::byte> rest = ip_packet;
  Ipv4 outer;
  if (!take(rest, outer) || !is_whole(outer, kProtocolIcmp) || outer.total_length < sizeof outer ||
      outer.total_length > ip_packet.size())
    return std::nullopt;
  rest = rest.first(outer.total_length - sizeof outer);
  const std::span<const std::byte> message = rest;
  Icmp icmp;
  if (!take(rest, icmp) || icmp.type != kUnreachable || icmp.code != kUnreachablePort ||
      wire::ones_complement_sum(message) != 0xFFFF)
    return std::nullopt;
  Ipv4 inner;
  Udp udp;
  if (!take(rest, inner) || !is_whole(inner, kProtocolUdp) || !take(rest, udp) ||
      udp.length < sizeof udp || inner.total_length != sizeof inner + udp.length)
    return std::nullopt;
  // Bytes behind the quoted datagram are an extension of the message (RFC 4884).
  const std::size_t quoted = std::min<std::size_t>(rest.size(), udp.length - sizeof udp);
  return PortUnreachable{outer.source,
                         outer.destination,
                         {inner.source, inner.destination, udp.source, udp.destination},
                         rest.first(quoted)};
}

}  // namespace tributary::dataplane
