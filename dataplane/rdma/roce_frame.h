// A RoCEv2 frame over IPv4: Ethernet, IPv4, UDP, transport headers, payload, pad and ICRC.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "core/net/frame.h"
#include "core/net/roce.h"

namespace tributary::dataplane {

struct RocePath {
  wire::MacAddress source{};
  wire::MacAddress destination{};
  std::optional<std::uint16_t> vlan_tci = {};
  std::uint32_t source_ip = 0;
  std::uint32_t destination_ip = 0;
  std::uint8_t dscp_ecn = 0;
  std::uint32_t source_qpn = 0;  // spreads flows over links, with the destination's
};

// Where the payload begins behind headers of so many bytes.
constexpr std::size_t roce_payload_at(const std::optional<std::uint16_t>& vlan_tci,
                                      std::size_t header_bytes) {
  return wire::kUdpPayloadOffset + (vlan_tci ? wire::kVlanBytes : 0) + header_bytes;
}

// Writes all but the payload, which stands in its place already; the pad is worked out. Returns the
// frame's length; 0 if `frame` is too small or the opcode is none.
std::size_t write_roce_frame(const RocePath& path, const wire::RoceHeaders& headers,
                             std::size_t payload_bytes, std::span<std::byte> frame);

}  // namespace tributary::dataplane
