// A RoCEv2 frame that carries a SEND from one UD queue pair to another: Ethernet, IPv4, UDP, BTH,
// DETH, payload, pad and ICRC.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "core/net/frame.h"
#include "core/net/roce.h"

namespace tributary::dataplane {

struct UdSend {
  wire::MacAddress source{};
  wire::MacAddress destination{};
  std::optional<std::uint16_t> vlan_tci;
  std::uint32_t source_ip = 0;
  std::uint32_t destination_ip = 0;
  std::uint8_t dscp_ecn = 0;
  std::uint32_t source_qpn = 0;
  std::uint32_t qpn = 0;
  std::uint32_t qkey = 0;
  std::uint32_t psn = 0;  // no receiver on a UD queue pair looks at it
};

// Where the payload begins.
constexpr std::size_t ud_payload_at(const std::optional<std::uint16_t>& vlan_tci) {
  return wire::kUdpPayloadOffset + (vlan_tci ? wire::kVlanBytes : 0) + wire::kBthBytes +
         wire::kDethBytes;
}

// Writes all but the payload, which stands in its place already. Returns the frame's length; 0 if
// `frame` is too small.
std::size_t write_ud_frame(const UdSend& send, std::size_t payload_bytes,
                           std::span<std::byte> frame);

}  // namespace tributary::dataplane
