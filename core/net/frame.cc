#include "core/net/frame.h"

#include <bit>
#include <cstring>

#include "core/net/byte_order.h"
#include "core/net/checksum.h"

namespace tributary::wire {
namespace {

// A number in memory order, not converted: checksums are kept the same way. At any address.
struct MemoryOrder16 {
  using Bytes = std::array<std::uint8_t, 2>;
  explicit MemoryOrder16(const Bytes& b) : bytes(b) {}
  MemoryOrder16(std::uint16_t value)  // NOLINT(google-explicit-constructor)
      : bytes(std::bit_cast<Bytes>(value)) {}
  operator std::uint16_t() const {  // NOLINT(google-explicit-constructor)
    return std::bit_cast<std::uint16_t>(bytes);
  }
  Bytes bytes;
};

struct EthernetHeader {
  MacAddress destination, source;
  be16 ether_type;
};
static_assert(sizeof(EthernetHeader) == kEthernetBytes);

struct Ipv4Header {
  std::uint8_t version_ihl, dscp_ecn;
  be16 total_length, id, flags_fragment;
  std::uint8_t ttl, protocol;
  MemoryOrder16 checksum;
  be32 source, destination;
};
static_assert(sizeof(Ipv4Header) == kIpv4Bytes && alignof(Ipv4Header) == 1);

struct UdpHeader {
  be16 source, destination, length;
  MemoryOrder16 checksum;
};
static_assert(sizeof(UdpHeader) == kUdpBytes && alignof(UdpHeader) == 1);

constexpr std::uint8_t kProtocolUdp = 17;
constexpr std::uint16_t kDontFragment = 0x4000;
constexpr std::uint16_t kFragmentMask = 0x3FFF;  // more-fragments and offset

template <typename T>
T read(std::span<const std::byte> bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

// Sums headers in registers: bytes that are put together on the stack and summed from there would
// wait for their own stores. Words count in memory order.
template <typename Word, typename Bytes>
std::uint64_t word_of(const Bytes& bytes) {
  return std::bit_cast<Word>(bytes);
}
std::uint16_t pseudo_header_sum(const UdpEndpoints& e, std::size_t udp_length) {
  return ones_complement_fold(word_of<std::uint32_t>(be32(e.source_ip)) +
                              word_of<std::uint32_t>(be32(e.destination_ip)) +
                              word_of<std::uint16_t>(be16(kProtocolUdp)) +
                              word_of<std::uint16_t>(be16(static_cast<std::uint16_t>(udp_length))));
}

std::uint16_t sum_of(const Ipv4Header& ip) {
  const auto pair = [](std::uint8_t first, std::uint8_t second) {
    return std::uint64_t{MemoryOrder16(MemoryOrder16::Bytes{first, second})};
  };
  return ones_complement_fold(
      pair(ip.version_ihl, ip.dscp_ecn) + word_of<std::uint16_t>(ip.total_length) +
      word_of<std::uint16_t>(ip.id) + word_of<std::uint16_t>(ip.flags_fragment) +
      pair(ip.ttl, ip.protocol) + ip.checksum + word_of<std::uint32_t>(ip.source) +
      word_of<std::uint32_t>(ip.destination));
}
std::uint16_t sum_of(const UdpHeader& udp) {
  return ones_complement_fold(word_of<std::uint16_t>(udp.source) +
                              word_of<std::uint16_t>(udp.destination) +
                              word_of<std::uint16_t>(udp.length) + udp.checksum);
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
  return DropReason::none;
}

std::variant<EthernetView, DropReason> parse_ethernet(std::span<const std::byte> frame) {
  EthernetView view;
  const DropReason bad = parse_ethernet(frame, view);
  if (bad != DropReason::none) return bad;
  return view;
}

std::span<const std::byte> whole_frame(const EthernetView& view) {
  const std::size_t header = kEthernetBytes + (view.vlan_tci ? kVlanBytes : 0);
  return {view.payload.data() - header, view.payload.size() + header};
}

// Reads fields where they lie, like those of the aggregation header.
DropReason parse_udp4(std::span<const std::byte> packet, Udp4View& view, bool& is_udp) {
  is_udp = false;
  if (packet.size() < kIpv4Bytes) return DropReason::frame_truncated;
  const Ipv4Header& ip = *reinterpret_cast<const Ipv4Header*>(packet.data());
  const std::uint16_t total = ip.total_length;
  if (ip.version_ihl != 0x45 || total < kIpv4Bytes) return DropReason::frame_bad_ip;
  if (total > packet.size()) return DropReason::frame_truncated;
  if (sum_of(ip) != 0xFFFF) return DropReason::frame_bad_ip;
  if (ip.protocol != kProtocolUdp) return DropReason::none;
  if ((ip.flags_fragment & kFragmentMask) != 0) return DropReason::frame_fragment;

  const auto datagram = packet.subspan(kIpv4Bytes, total - kIpv4Bytes);
  if (datagram.size() < kUdpBytes) return DropReason::frame_truncated;
  const UdpHeader& udp = *reinterpret_cast<const UdpHeader*>(datagram.data());
  if (udp.length != datagram.size()) return DropReason::frame_bad_udp;
  view.endpoints.source_ip = ip.source;
  view.endpoints.destination_ip = ip.destination;
  view.endpoints.source_port = udp.source;
  view.endpoints.destination_port = udp.destination;
  view.checksum = udp.checksum;
  view.congestion_experienced = (ip.dscp_ecn & 3) == 3;
  view.checksum_checked = false;
  view.payload = datagram.subspan(kUdpBytes);
  view.datagram = datagram;
  is_udp = true;
  return DropReason::none;
}

std::variant<std::optional<Udp4View>, DropReason> parse_udp4(std::span<const std::byte> packet) {
  Udp4View view;
  bool is_udp = false;
  const DropReason bad = parse_udp4(packet, view, is_udp);
  if (bad != DropReason::none) return bad;
  return is_udp ? std::optional(view) : std::nullopt;
}

bool udp4_checksum_is_partial(const Udp4View& view) {
  return view.checksum == pseudo_header_sum(view.endpoints, view.datagram.size());
}

bool udp4_checksum_ok(const Udp4View& view) {
  return ones_complement_add(pseudo_header_sum(view.endpoints, view.datagram.size()),
                             ones_complement_sum(view.datagram)) == 0xFFFF;
}

namespace {

// As above: a header put together on the stack and copied from there would wait for its own stores.
// `payload_sum()` is called only where there is a checksum.
template <typename Sum>
std::size_t write_headers(const FrameTemplate& t, std::span<std::byte> frame,
                          std::size_t payload_bytes, Sum&& payload_sum) {
  const std::size_t headers = frame_header_bytes(t);
  const std::size_t udp_length = kUdpBytes + payload_bytes;
  if (frame.size() < headers + payload_bytes || udp_length + kIpv4Bytes > 0xFFFF) return 0;

  std::byte* at = frame.data();
  EthernetHeader& eth = *reinterpret_cast<EthernetHeader*>(at);
  eth.destination = t.destination;
  eth.source = t.source;
  eth.ether_type = t.vlan_tci ? kEtherTypeVlan : kEtherTypeIpv4;
  at += sizeof eth;
  if (t.vlan_tci) {
    const std::array<be16, 2> tag = {be16(*t.vlan_tci), be16(kEtherTypeIpv4)};
    std::memcpy(at, tag.data(), sizeof tag);
    at += sizeof tag;
  }

  Ipv4Header& ip = *reinterpret_cast<Ipv4Header*>(at);
  ip.version_ihl = 0x45;
  ip.dscp_ecn = t.dscp_ecn;
  ip.total_length = static_cast<std::uint16_t>(kIpv4Bytes + udp_length);
  ip.id = 0u;
  ip.flags_fragment = kDontFragment;
  ip.ttl = 64;
  ip.protocol = kProtocolUdp;
  ip.checksum = 0;
  ip.source = t.endpoints.source_ip;
  ip.destination = t.endpoints.destination_ip;
  ip.checksum = static_cast<std::uint16_t>(~sum_of(ip));
  at += sizeof ip;

  UdpHeader& udp = *reinterpret_cast<UdpHeader*>(at);
  udp.source = t.endpoints.source_port;
  udp.destination = t.endpoints.destination_port;
  udp.length = static_cast<std::uint16_t>(udp_length);
  udp.checksum = 0;
  if (t.udp_checksum) {
    std::uint16_t sum =
        ones_complement_add(pseudo_header_sum(t.endpoints, udp_length), sum_of(udp));
    sum = ones_complement_add(sum, payload_sum());
    // RFC 768: 0 means "none".
    udp.checksum = static_cast<std::uint16_t>(sum == 0xFFFF ? 0xFFFF : ~sum);
  }
  return headers + payload_bytes;
}

}  // namespace

std::size_t write_frame_headers(const FrameTemplate& t, std::span<std::byte> frame,
                                std::size_t payload_bytes) {
  const std::size_t headers = frame_header_bytes(t);
  return write_headers(t, frame, payload_bytes,
                       [&] { return ones_complement_sum(frame.subspan(headers, payload_bytes)); });
}

std::size_t write_frame_headers(const FrameTemplate& t, std::span<std::byte> frame,
                                std::size_t payload_bytes, std::uint16_t payload_sum) {
  return write_headers(t, frame, payload_bytes, [payload_sum] { return payload_sum; });
}

}  // namespace tributary::wire
