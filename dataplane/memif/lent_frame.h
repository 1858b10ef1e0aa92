// Frames of which a packet buffer has the head alone: the rest lies in the memory of the client
// that sent it (memif_rx_ring.h), which may change it at any time.
//
// Only a worker's plain elements are summed from there. Nothing about them decides anything: a
// value that changes while it is read spoils the sum of the rank that changed it, as any wrong
// value of its own would. Every other frame is made whole before it is looked at.
#pragma once

#include <rte_mbuf.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "core/net/byte_order.h"
#include "core/net/frame.h"
#include "core/wire/header.h"

namespace tributary::dataplane {

// The part of a lent frame that its buffer has.
inline constexpr std::size_t kLentHeadBytes = 128;

// A contribution of plain elements that begin where the aggregation header ends: neither a VLAN
// tag, IP options, a fragment, a UDP checksum nor extensions. `head`: kLentHeadBytes.
inline bool is_bare_contribution(std::span<const std::byte> head) {
  constexpr std::size_t kIp = wire::kEthernetBytes;
  constexpr std::size_t kUdp = kIp + wire::kIpv4Bytes;
  constexpr int kProtocolUdp = 17;
  static_assert(wire::kUdpPayloadOffset + wire::kHeaderBytes <= kLentHeadBytes);
  const auto byte = [&](std::size_t at) { return static_cast<std::uint8_t>(head[at]); };
  const auto word = [&](std::size_t at) { return (byte(at) << 8) | byte(at + 1); };
  wire::HeaderV1 header;
  std::memcpy(&header, head.data() + wire::kUdpPayloadOffset, sizeof header);
  const bool bare_udp = word(12) == wire::kEtherTypeIpv4 && byte(kIp) == 0x45 &&
                        (word(kIp + 6) & 0x3FFF) == 0 && byte(kIp + 9) == kProtocolUdp &&
                        word(kUdp + 6) == 0;
  return bare_udp && header.type == static_cast<std::uint8_t>(wire::PacketType::contribution) &&
         header.encoding == static_cast<std::uint8_t>(wire::Encoding::plain) &&
         header.extension_words == 0;
}

// Copies what the buffer lacks.
inline void fetch_rest(rte_mbuf& frame, const std::byte* in_place) {
  std::memcpy(rte_pktmbuf_mtod(&frame, std::byte*) + kLentHeadBytes, in_place + kLentHeadBytes,
              frame.data_len - kLentHeadBytes);
}

}  // namespace tributary::dataplane
