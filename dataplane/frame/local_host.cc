#include "dataplane/frame/local_host.h"

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
constexpr std::uint8_t kProtocolIcmp = 1;
constexpr std::uint8_t kEchoRequest = 8;
constexpr std::uint8_t kEchoReply = 0;

template <typename T>
T read(std::span<const std::byte> bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
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

bool is_arp_to_hear(const Identity& identity, const wire::EthernetView& frame) {
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

}  // namespace tributary::dataplane
