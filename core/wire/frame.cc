#include "core/wire/frame.h"

#include <cstring>

#include "core/wire/byte_order.h"
#include "core/wire/checksum.h"

namespace tributary::wire {
namespace {

struct EthernetHeader {
  MacAddress destination, source;
  be16 ether_type;
};
static_assert(sizeof(EthernetHeader) == kEthernetBytes);

struct Ipv4Header {
  std::uint8_t version_ihl, dscp_ecn;
  be16 total_length, id, flags_fragment;
  std::uint8_t ttl, protocol;
  std::uint16_t checksum;  // memory order
  be32 source, destination;
};
static_assert(sizeof(Ipv4Header) == kIpv4Bytes);

struct UdpHeader {
  be16 source, destination, length;
  std::uint16_t checksum;  // memory order
};
static_assert(sizeof(UdpHeader) == kUdpBytes);

constexpr std::uint8_t kProtocolUdp = 17;
constexpr std::uint16_t kDontFragment = 0x4000;
constexpr std::uint16_t kFragmentMask = 0x3FFF;  // more-fragments and offset

template <typename T>
T read(std::span<const std::byte> bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

template <typename T>
std::uint16_t sum_of(const T& object) {
  return ones_complement_sum(std::as_bytes(std::span(&object, 1)));
}

std::uint16_t pseudo_header_sum(const UdpEndpoints& e, std::size_t udp_length) {
  struct {
    be32 source, destination;
    be16 protocol, length;
  } const pseudo{be32(e.source_ip), be32(e.destination_ip), be16(kProtocolUdp),
                 be16(static_cast<std::uint16_t>(udp_length))};
  static_assert(sizeof pseudo == 12);
  return sum_of(pseudo);
}

}  // namespace

MacAddress multicast_mac(std::uint32_t group) {
  return {0x01,
          0x00,
          0x5e,
          static_cast<std::uint8_t>((group >> 16) & 0x7F),
          static_cast<std::uint8_t>(group >> 8),
          static_cast<std::uint8_t>(group)};
}

DropReason take_vlan_tag(EthernetView& view) {
  if (view.payload.size() < kVlanBytes) return DropReason::frame_truncated;
  view.vlan_tci = read<be16>(view.payload);
  view.ether_type = read<be16>(view.payload.subspan(2));
  view.payload = view.payload.subspan(kVlanBytes);
  return DropReason::count_;
}

std::variant<EthernetView, DropReason> parse_ethernet(std::span<const std::byte> frame) {
  EthernetView view;
  const DropReason bad = parse_ethernet(frame, view);
  if (bad != DropReason::count_) return bad;
  return view;
}

std::span<const std::byte> whole_frame(const EthernetView& view) {
  const std::size_t header = kEthernetBytes + (view.vlan_tci ? kVlanBytes : 0);
  return {view.payload.data() - header, view.payload.size() + header};
}

std::variant<std::optional<Udp4View>, DropReason> parse_udp4(std::span<const std::byte> packet) {
  if (packet.size() < kIpv4Bytes) return DropReason::frame_truncated;
  const auto ip = read<Ipv4Header>(packet);
  const std::uint16_t total = ip.total_length;
  if (ip.version_ihl != 0x45 || total < kIpv4Bytes) return DropReason::frame_bad_ip;
  if (total > packet.size()) return DropReason::frame_truncated;
  if (sum_of(ip) != 0xFFFF) return DropReason::frame_bad_ip;
  if (ip.protocol != kProtocolUdp) return std::optional<Udp4View>{};
  if ((ip.flags_fragment & kFragmentMask) != 0) return DropReason::frame_fragment;

  const auto datagram = packet.subspan(kIpv4Bytes, total - kIpv4Bytes);
  if (datagram.size() < kUdpBytes) return DropReason::frame_truncated;
  const auto udp = read<UdpHeader>(datagram);
  if (udp.length != datagram.size()) return DropReason::frame_bad_udp;
  return std::optional(Udp4View{{ip.source, ip.destination, udp.source, udp.destination},
                                udp.checksum,
                                (ip.dscp_ecn & 3) == 3,
                                datagram.subspan(kUdpBytes),
                                datagram});
}

bool udp4_checksum_ok(const Udp4View& view) {
  return ones_complement_add(pseudo_header_sum(view.endpoints, view.datagram.size()),
                             ones_complement_sum(view.datagram)) == 0xFFFF;
}

std::size_t write_frame_headers(const FrameTemplate& t, std::span<std::byte> frame,
                                std::size_t payload_bytes,
                                std::optional<std::uint16_t> payload_sum) {
  const std::size_t headers = frame_header_bytes(t);
  const std::size_t udp_length = kUdpBytes + payload_bytes;
  if (frame.size() < headers + payload_bytes || udp_length + kIpv4Bytes > 0xFFFF) return 0;

  std::byte* at = frame.data();
  const EthernetHeader eth{t.destination, t.source,
                           be16(t.vlan_tci ? kEtherTypeVlan : kEtherTypeIpv4)};
  std::memcpy(at, &eth, sizeof eth);
  at += sizeof eth;
  if (t.vlan_tci) {
    const std::array<be16, 2> tag = {be16(*t.vlan_tci), be16(kEtherTypeIpv4)};
    std::memcpy(at, tag.data(), sizeof tag);
    at += sizeof tag;
  }

  Ipv4Header ip{0x45,
                t.dscp_ecn,
                be16(static_cast<std::uint16_t>(kIpv4Bytes + udp_length)),
                be16(0u),
                be16(kDontFragment),
                64,
                kProtocolUdp,
                0,
                be32(t.endpoints.source_ip),
                be32(t.endpoints.destination_ip)};
  ip.checksum = static_cast<std::uint16_t>(~sum_of(ip));
  std::memcpy(at, &ip, sizeof ip);
  at += sizeof ip;

  UdpHeader udp{be16(t.endpoints.source_port), be16(t.endpoints.destination_port),
                be16(static_cast<std::uint16_t>(udp_length)), 0};
  if (t.udp_checksum) {
    const std::uint16_t payload =
        payload_sum ? *payload_sum : ones_complement_sum(frame.subspan(headers, payload_bytes));
    std::uint16_t sum =
        ones_complement_add(pseudo_header_sum(t.endpoints, udp_length), sum_of(udp));
    sum = ones_complement_add(sum, payload);
    udp.checksum = static_cast<std::uint16_t>(~sum);
    if (udp.checksum == 0) udp.checksum = 0xFFFF;  // RFC 768: 0 means "none"
  }
  std::memcpy(at, &udp, sizeof udp);
  return headers + payload_bytes;
}

}  // namespace tributary::wire
