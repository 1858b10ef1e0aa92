#include "core/net/arp.h"

#include <cstring>

#include "core/net/byte_order.h"

namespace tributary::wire {
namespace {

struct ArpFrame {
  MacAddress destination, source;
  be16 ether_type;
  be16 hardware, protocol;
  std::uint8_t hardware_bytes, protocol_bytes;
  be16 operation;
  MacAddress sender_mac;
  be32 sender_ip;
  MacAddress target_mac;
  be32 target_ip;
};
static_assert(sizeof(ArpFrame) == kArpFrameBytes && alignof(ArpFrame) == 1);

constexpr std::uint16_t kHardwareEthernet = 1;
constexpr std::uint16_t kRequest = 1;
constexpr std::uint16_t kReply = 2;
constexpr MacAddress kBroadcast = {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};

std::size_t write(const ArpFrame& arp, std::span<std::byte> frame) {
  if (frame.size() < sizeof arp) return 0;
  std::memcpy(frame.data(), &arp, sizeof arp);
  return sizeof arp;
}

ArpFrame frame_of(std::uint16_t operation, const MacAddress& to, const MacAddress& from) {
  ArpFrame arp{};
  arp.destination = to;
  arp.source = from;
  arp.ether_type = kEtherTypeArp;
  arp.hardware = kHardwareEthernet;
  arp.protocol = kEtherTypeIpv4;
  arp.hardware_bytes = sizeof(MacAddress);
  arp.protocol_bytes = sizeof(be32);
  arp.operation = operation;
  arp.sender_mac = from;
  return arp;
}

}  // namespace

std::optional<ArpView> parse_arp(std::span<const std::byte> packet) {
  ArpFrame arp{};
  if (packet.size() < sizeof arp - kEthernetBytes) return std::nullopt;
  std::memcpy(reinterpret_cast<std::byte*>(&arp) + kEthernetBytes, packet.data(),
              sizeof arp - kEthernetBytes);
  if (arp.hardware != kHardwareEthernet || arp.protocol != kEtherTypeIpv4 ||
      arp.hardware_bytes != sizeof(MacAddress) || arp.protocol_bytes != sizeof(be32))
    return std::nullopt;
  if (arp.operation != kRequest && arp.operation != kReply) return std::nullopt;
  if (is_zero(arp.sender_mac) || is_multicast(arp.sender_mac)) return std::nullopt;
  return ArpView{arp.operation == kRequest, arp.sender_mac, arp.sender_ip, arp.target_mac,
                 arp.target_ip};
}

std::size_t write_arp_request(const MacAddress& own_mac, std::uint32_t own_ip,
                              std::uint32_t wanted_ip, std::span<std::byte> frame) {
  ArpFrame arp = frame_of(kRequest, kBroadcast, own_mac);
  arp.sender_ip = own_ip;
  arp.target_ip = wanted_ip;
  return write(arp, frame);
}

std::size_t write_arp_reply(const MacAddress& own_mac, const ArpView& request,
                            std::span<std::byte> frame) {
  ArpFrame arp = frame_of(kReply, request.sender_mac, own_mac);
  arp.sender_ip = request.target_ip;
  arp.target_mac = request.sender_mac;
  arp.target_ip = request.sender_ip;
  return write(arp, frame);
}

}  // namespace tributary::wire
