// Ethernet, 802.1Q, IPv4 and UDP around the aggregation header: checked parsing and building.
//
// parse_ethernet() suffices to switch a frame; parse_udp4() is asked only for frames that are
// addressed to this node, and checks everything above before a byte of payload is trusted.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <variant>

#include "core/drop_reason.h"
#include "core/net/byte_order.h"

namespace tributary::wire {

using MacAddress = std::array<std::uint8_t, 6>;
constexpr bool is_multicast(const MacAddress& mac) {
  return (mac[0] & 1) != 0;
}
constexpr bool is_zero(const MacAddress& mac) {
  return mac == MacAddress{};
}
// RFC 1112 section 6.4: 01:00:5e and the low 23 bits of the group.
MacAddress multicast_mac(std::uint32_t group_ipv4);

inline constexpr std::uint16_t kEtherTypeIpv4 = 0x0800;
inline constexpr std::uint16_t kEtherTypeArp = 0x0806;
inline constexpr std::uint16_t kEtherTypeVlan = 0x8100;
inline constexpr std::uint16_t kEtherTypeIpv6 = 0x86DD;
inline constexpr std::size_t kEthernetBytes = 14;
inline constexpr std::size_t kVlanBytes = 4;
inline constexpr std::size_t kIpv4Bytes = 20;
inline constexpr std::size_t kIpv6Bytes = 40;  // without extension headers
inline constexpr std::size_t kUdpBytes = 8;
// Untagged Ethernet + IPv4 + UDP: where the aggregation header starts.
inline constexpr std::size_t kUdpPayloadOffset = kEthernetBytes + kIpv4Bytes + kUdpBytes;

struct EthernetView {
  MacAddress destination{};
  MacAddress source{};
  std::uint16_t ether_type = 0;           // of the payload, after one VLAN tag
  std::optional<std::uint16_t> vlan_tci;  // priority, DEI and VLAN id
  std::span<const std::byte> payload;
};
// Takes the VLAN tag off the front of the payload and puts it into the view.
DropReason take_vlan_tag(EthernetView& view);
// Returns none, and `view` is the frame; or a drop reason, and `view` must not be used.
inline DropReason parse_ethernet(std::span<const std::byte> frame, EthernetView& view) {
  if (frame.size() < kEthernetBytes) return DropReason::frame_truncated;
  std::memcpy(&view.destination, frame.data(), sizeof view.destination);
  std::memcpy(&view.source, frame.data() + sizeof view.destination, sizeof view.source);
  be16 type;
  std::memcpy(&type, frame.data() + sizeof view.destination + sizeof view.source, sizeof type);
  view.ether_type = type;
  view.vlan_tci.reset();
  view.payload = frame.subspan(kEthernetBytes);
  return view.ether_type == kEtherTypeVlan ? take_vlan_tag(view) : DropReason::none;
}
std::variant<EthernetView, DropReason> parse_ethernet(std::span<const std::byte> frame);
// The frame that parse_ethernet() was given.
std::span<const std::byte> whole_frame(const EthernetView& view);

// IPv4 addresses and ports in host order.
struct UdpEndpoints {
  std::uint32_t source_ip = 0;
  std::uint32_t destination_ip = 0;
  std::uint16_t source_port = 0;
  std::uint16_t destination_port = 0;
  bool operator==(const UdpEndpoints&) const = default;
};

struct Udp4View {
  UdpEndpoints endpoints;
  std::uint16_t checksum = 0;  // as in the packet; 0: sender did not compute one
  bool congestion_experienced = false;
  // The receiver has found the checksum right. Not parsed: the receiver sets it.
  bool checksum_checked = false;
  std::span<const std::byte> payload;   // trimmed to the UDP length: no Ethernet padding
  std::span<const std::byte> datagram;  // UDP header and payload, what the checksum covers
};
// nullopt: valid IPv4, but not UDP. Refuses options, fragments, bad lengths and IP checksums.
std::variant<std::optional<Udp4View>, DropReason> parse_udp4(std::span<const std::byte> ip_packet);
// The same for the packet path: none if the packet is valid. `is_udp` then says whether `view`
// holds a UDP packet; in all other cases `view` may hold anything.
DropReason parse_udp4(std::span<const std::byte> ip_packet, Udp4View& view, bool& is_udp);

// True when the (non-zero) UDP checksum is right, pseudo header included.
bool udp4_checksum_ok(const Udp4View& view);
// True when a wrong checksum is the pseudo header's sum: the sender's kernel left it to a device
// that was to finish it (CHECKSUM_PARTIAL), and did not.
bool udp4_checksum_is_partial(const Udp4View& view);

// All parts of a frame but its payload.
struct FrameTemplate {
  MacAddress destination{};
  MacAddress source{};
  std::optional<std::uint16_t> vlan_tci;
  UdpEndpoints endpoints;
  std::uint8_t dscp_ecn = 0;
  bool udp_checksum = true;  // false: field is 0, integrity is in the payload
};
constexpr std::size_t frame_header_bytes(const FrameTemplate& t) {
  return kUdpPayloadOffset + (t.vlan_tci ? kVlanBytes : 0);
}
// Writes the headers in front of a UDP payload of `payload_bytes` that already stands at
// frame[frame_header_bytes(t)...]. Returns the frame's length; 0 if `frame` is too small.
std::size_t write_frame_headers(const FrameTemplate& t, std::span<std::byte> frame,
                                std::size_t payload_bytes);
// The same where the caller has ones_complement_sum() of the payload already.
std::size_t write_frame_headers(const FrameTemplate& t, std::span<std::byte> frame,
                                std::size_t payload_bytes, std::uint16_t payload_sum);

}  // namespace tributary::wire
