#include "sim/network/draft.h"

#include <cstring>

#include "core/net/byte_order.h"
#include "core/net/checksum.h"
#include "core/wire/integrity.h"
#include "sim/network/packet_view.h"

namespace tributary::sim {
namespace {

constexpr std::size_t kIpOffset = wire::kEthernetBytes;
constexpr std::size_t kIpChecksumOffset = kIpOffset + 10;
constexpr std::size_t kUdpOffset = kIpOffset + wire::kIpv4Bytes;
constexpr std::size_t kUdpChecksumOffset = kUdpOffset + 6;

template <typename T>
T peek(std::span<const std::byte> frame, std::size_t at) {
  T value;
  std::memcpy(&value, frame.data() + at, sizeof value);
  return value;
}

}  // namespace

std::optional<Draft> take_apart(std::span<const std::byte> frame) {
  const auto parts = view_parts(frame);
  if (!parts) return std::nullopt;
  Draft d;
  d.around = {parts->ethernet.destination,
              parts->ethernet.source,
              parts->ethernet.vlan_tci,
              parts->udp.endpoints,
              0,
              parts->udp.checksum != 0};
  d.header = parts->packet.header;
  d.extensions.assign(parts->packet.extensions.begin(), parts->packet.extensions.end());
  d.payload.assign(parts->packet.payload.begin(), parts->packet.payload.end());
  return d;
}

FrameRef put_together(FramePool& pool, const Draft& d) {
  FrameRef frame = pool.take();
  auto& bytes = frame.writable().bytes;
  const std::size_t start = wire::frame_header_bytes(d.around);
  const std::size_t head = wire::serialized_bytes(d.extensions.size());
  bytes.resize(start + head + d.payload.size());
  const auto packet = std::span(bytes).subspan(start);
  wire::serialize(d.header, d.extensions, packet);
  if (!d.payload.empty()) std::memcpy(packet.data() + head, d.payload.data(), d.payload.size());
  wire::seal_crc32c(packet);
  wire::write_frame_headers(d.around, bytes, packet.size());
  return frame;
}

void fix_packet_checksums(std::span<std::byte> frame) {
  if (frame.size() < kPacketOffset) return;
  wire::seal_crc32c(frame.subspan(kPacketOffset));
  if (peek<std::uint16_t>(frame, kUdpChecksumOffset) == 0) return;
  wire::FrameTemplate t;
  std::memcpy(t.destination.data(), frame.data(), 6);
  std::memcpy(t.source.data(), frame.data() + 6, 6);
  t.endpoints = {peek<wire::be32>(frame, kIpOffset + 12), peek<wire::be32>(frame, kIpOffset + 16),
                 peek<wire::be16>(frame, kUdpOffset), peek<wire::be16>(frame, kUdpOffset + 2)};
  wire::write_frame_headers(t, frame, frame.size() - kPacketOffset);
}

void fix_ip_checksum(std::span<std::byte> frame) {
  constexpr std::uint16_t kZero = 0;
  std::memcpy(frame.data() + kIpChecksumOffset, &kZero, sizeof kZero);
  const auto sum = static_cast<std::uint16_t>(
      ~wire::ones_complement_sum(frame.subspan(kIpOffset, wire::kIpv4Bytes)));
  std::memcpy(frame.data() + kIpChecksumOffset, &sum, sizeof sum);
}

}  // namespace tributary::sim
