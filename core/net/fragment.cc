#include "core/net/fragment.h"

#include <cstring>

#include "core/net/byte_order.h"
#include "core/net/checksum.h"
#include "core/net/read.h"

namespace tributary::wire {
namespace {

// Offsets of fields in an IPv4 header.
enum : std::size_t {
  kDscpEcn = 1,
  kTotalLength = 2,
  kId = 4,
  kFlagsOffset = 6,
  kProtocol = 9,
  kChecksum = 10,
  kSource = 12,
  kDestination = 16,
};
constexpr std::uint8_t kVersionIhl = 0x45;
constexpr std::uint16_t kMoreFragments = 0x2000;
constexpr std::uint16_t kOffsetMask = 0x1FFF;
constexpr std::byte kCongestion{3};

std::uint32_t u32(std::span<const std::byte> bytes, std::size_t at) {
  return std::uint32_t{u16(bytes, at)} << 16 | u16(bytes, at + 2);
}

void put16(std::span<std::byte> bytes, std::size_t at, std::size_t value) {
  const be16 field(static_cast<std::uint16_t>(value));
  std::memcpy(&bytes[at], &field, sizeof field);
}

void put_checksum(std::span<std::byte> packet) {
  put16(packet, kChecksum, 0);
  const auto sum = static_cast<std::uint16_t>(~ones_complement_sum(packet.first(kIpv4Bytes)));
  std::memcpy(&packet[kChecksum], &sum, sizeof sum);
}

// Returns none for a header without options whose announced length is all there.
DropReason check_header(std::span<const std::byte> packet) {
  if (packet.size() < kIpv4Bytes) return DropReason::frame_truncated;
  const std::size_t total = u16(packet, kTotalLength);
  if (u8(packet, 0) != kVersionIhl || total < kIpv4Bytes) return DropReason::frame_bad_ip;
  if (total > packet.size()) return DropReason::frame_truncated;
  return ones_complement_sum(packet.first(kIpv4Bytes)) == 0xFFFF ? DropReason::none
                                                                 : DropReason::frame_bad_ip;
}

}  // namespace

bool is_fragment4(std::span<const std::byte> packet) {
  return packet.size() >= kIpv4Bytes &&
         (u16(packet, kFlagsOffset) & (kMoreFragments | kOffsetMask)) != 0;
}

DropReason parse_fragment4(std::span<const std::byte> packet, Fragment4View& view) {
  if (const DropReason bad = check_header(packet); bad != DropReason::none) return bad;
  if (!is_fragment4(packet)) return DropReason::unhandled;
  view.source_ip = u32(packet, kSource);
  view.destination_ip = u32(packet, kDestination);
  view.id = u16(packet, kId);
  view.protocol = u8(packet, kProtocol);
  view.more = (u16(packet, kFlagsOffset) & kMoreFragments) != 0;
  view.congestion_experienced = (packet[kDscpEcn] & kCongestion) == kCongestion;
  view.offset = (u16(packet, kFlagsOffset) & kOffsetMask) * std::uint32_t{kFragmentUnit};
  view.payload = packet.subspan(kIpv4Bytes, u16(packet, kTotalLength) - kIpv4Bytes);
  return DropReason::none;
}

bool may_be_cut(std::span<const std::byte> packet) {
  return check_header(packet) == DropReason::none && !is_fragment4(packet) &&
         u16(packet, kTotalLength) == packet.size();
}

std::size_t write_fragment4(std::span<const std::byte> packet, std::uint16_t id, std::size_t offset,
                            std::size_t bytes, std::span<std::byte> to) {
  std::memcpy(to.data(), packet.data(), kIpv4Bytes);
  std::memcpy(&to[kIpv4Bytes], &packet[kIpv4Bytes + offset], bytes);
  const bool more = kIpv4Bytes + offset + bytes < packet.size();
  put16(to, kTotalLength, kIpv4Bytes + bytes);
  put16(to, kId, id);
  put16(to, kFlagsOffset, offset / kFragmentUnit | (more ? kMoreFragments : 0u));
  put_checksum(to);
  return kIpv4Bytes + bytes;
}

void join_fragments4(std::span<std::byte> packet, bool congestion) {
  put16(packet, kTotalLength, packet.size());
  put16(packet, kFlagsOffset, 0);
  // A packet whose sender does not support ECN (Not-ECT) must not be marked.
  if (congestion && (packet[kDscpEcn] & kCongestion) != std::byte{0})
    packet[kDscpEcn] |= kCongestion;
  put_checksum(packet);
}

}  // namespace tributary::wire
