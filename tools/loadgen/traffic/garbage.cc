#include "tools/loadgen/traffic/garbage.h"

#include <cstring>

#include "core/net/frame.h"
#include "core/wire/header.h"
#include "core/wire/integrity.h"

namespace tributary::loadgen {
namespace {

constexpr std::size_t kIp = wire::kEthernetBytes;
constexpr std::size_t kUdp = kIp + wire::kIpv4Bytes;
constexpr std::size_t kHeader = wire::kUdpPayloadOffset;

// The frame's own checksums, made right again for what was written into its header.
std::size_t reseal(std::span<std::byte> frame) {
  const auto eth = std::get<wire::EthernetView>(wire::parse_ethernet(frame));
  const auto parsed = wire::parse_udp4(eth.payload);
  const auto* udp = std::get_if<std::optional<wire::Udp4View>>(&parsed);
  if (udp == nullptr || !*udp) return frame.size();
  wire::FrameTemplate t;
  t.destination = eth.destination;
  t.source = eth.source;
  t.endpoints = (*udp)->endpoints;
  t.udp_checksum = (*udp)->checksum != 0;
  const std::span datagram = frame.subspan(kHeader);
  wire::seal_crc32c(datagram);
  return wire::write_frame_headers(t, frame, datagram.size());
}

}  // namespace

std::size_t write_garbage(std::uint32_t kind, Prng& random, std::span<const std::byte> good,
                          std::span<std::byte> out) {
  std::memcpy(out.data(), good.data(), good.size());
  std::span<std::byte> frame = out.first(good.size());
  wire::HeaderV1 h;
  std::memcpy(&h, frame.data() + kHeader, sizeof h);
  switch (kind % kGarbageKinds) {
    case 0: h.version = 0; break;
    case 1: h.type = 200; break;
    case 2: h.flags = h.flags | 0x80000000u; break;
    case 3: h.job = ~std::uint32_t{h.job}; break;
    case 4: h.epoch = static_cast<std::uint16_t>(h.epoch + 7); break;
    case 5: h.seq = h.seq + 0x10000000u; break;  // beyond any window
    case 6:
      h.shard = 15;
      h.plane_stream = 0xFF;
      break;
    case 7: h.element_count = static_cast<std::uint16_t>(h.element_count + 1); break;
    case 8: h.dtype = 250; break;
    case 9:  // one bit of the data, and no checksum that knows
      frame.back() ^= std::byte{1};
      return frame.size();
    case 10:  // shorter than its IP header says
      return kUdp + random.below(static_cast<std::uint32_t>(wire::kHeaderBytes));
    default:  // no protocol of ours
      for (std::size_t i = 12; i < frame.size(); ++i)
        frame[i] = static_cast<std::byte>(random.below(256));
      frame[12] = std::byte{0x88};  // local experimental: never a VLAN tag, ARP or IPv4
      frame[13] = std::byte{0xB6};
      return frame.size();
  }
  std::memcpy(frame.data() + kHeader, &h, sizeof h);
  return reseal(frame);
}

}  // namespace tributary::loadgen
