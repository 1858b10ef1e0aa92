// IPv4 fragments (RFC 791): checked parsing, and cutting a packet into them.
//
// Offsets and lengths are bytes of the packet behind its IP header, here and everywhere. Headers
// with options are refused, as parse_udp4() does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/drop_reason.h"
#include "core/net/frame.h"

namespace tributary::wire {

inline constexpr std::size_t kFragmentUnit = 8;  // fragments begin at multiples of this
// The most bytes that an IPv4 packet has behind its header.
inline constexpr std::size_t kMostPacketBytes = 0xFFFF - kIpv4Bytes;

struct Fragment4View {
  std::uint32_t source_ip = 0;
  std::uint32_t destination_ip = 0;
  std::uint16_t id = 0;
  std::uint8_t protocol = 0;
  bool more = false;  // more fragments follow it
  bool congestion_experienced = false;
  std::uint32_t offset = 0;
  std::span<const std::byte> payload;  // without Ethernet padding
};

// Looks at one field only; parse_fragment4() checks the rest.
bool is_fragment4(std::span<const std::byte> ip_packet);
// Returns none if `view` is a fragment with a correct header. Its place may still be nonsense.
DropReason parse_fragment4(std::span<const std::byte> ip_packet, Fragment4View& view);

// Payload bytes of every fragment but the last, in IP packets of at most `mtu` bytes; 0: none fits.
constexpr std::size_t fragment_bytes(std::size_t mtu) {
  return mtu < kIpv4Bytes ? 0 : (mtu - kIpv4Bytes) / kFragmentUnit * kFragmentUnit;
}
// True for a complete IPv4 packet without options whose length field is right.
bool may_be_cut(std::span<const std::byte> ip_packet);
// One fragment of such a packet: its header and `bytes` from `offset`. `to` has room for them.
// Returns the fragment's length.
std::size_t write_fragment4(std::span<const std::byte> ip_packet, std::uint16_t id,
                            std::size_t offset, std::size_t bytes, std::span<std::byte> to);

// Makes the header of a first fragment that of the whole packet, whose payload stands behind it.
// `congestion`: some fragment was marked (RFC 3168, section 5.3).
void join_fragments4(std::span<std::byte> ip_packet, bool congestion);

}  // namespace tributary::wire
