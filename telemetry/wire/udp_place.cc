#include "telemetry/wire/udp_place.h"

#include "core/net/checksum.h"
#include "core/net/frame.h"
#include "telemetry/wire/bytes.h"

namespace tributary::telemetry {
namespace {

using wire::ones_complement_add;

constexpr std::uint16_t kEtherTypeServiceVlan = 0x88A8;
constexpr std::uint8_t kUdp = 17;
constexpr std::size_t kIpv4Length = 2;
constexpr std::size_t kIpv4Fragment = 6;
constexpr std::size_t kIpv4Checksum = 10;
constexpr std::size_t kIpv6Length = 4;
constexpr std::size_t kUdpPort = 2;
constexpr std::size_t kUdpLength = 4;
constexpr std::size_t kUdpChecksum = 6;

constexpr std::uint16_t inverted(std::uint16_t value) {
  return static_cast<std::uint16_t>(~value);
}

void add_to_udp_checksum(std::span<std::byte> frame, const UdpPlace& place, std::uint16_t sum) {
  const std::size_t at = place.udp + kUdpChecksum;
  const auto before = load<std::uint16_t>(frame, at);
  if (before == 0) return;
  const std::uint16_t after = inverted(ones_complement_add(inverted(before), sum));
  store<std::uint16_t>(frame, at, after == 0 ? 0xFFFF : after);
}

// RFC 1624, equation 3.
void amend_ipv4_checksum(std::span<std::byte> frame, std::size_t ip, std::uint16_t before,
                         std::uint16_t after) {
  const auto old = load<std::uint16_t>(frame, ip + kIpv4Checksum);
  const std::uint16_t rest = ones_complement_add(inverted(old), inverted(before));
  store<std::uint16_t>(frame, ip + kIpv4Checksum, inverted(ones_complement_add(rest, after)));
}

Outcome find_in_ipv4(std::span<const std::byte> frame, bool whole, UdpPlace& place) {
  const std::size_t ip = place.ip;
  if (frame.size() < ip + wire::kIpv4Bytes + wire::kUdpBytes) return Outcome::truncated;
  if (load8(frame, ip) != 0x45 || load8(frame, ip + 9) != kUdp ||
      (load<std::uint16_t>(frame, ip + kIpv4Fragment) & 0x3FFF) != 0)
    return Outcome::not_udp;
  if (wire::ones_complement_sum(frame.subspan(ip, wire::kIpv4Bytes)) != 0xFFFF)
    return Outcome::bad_checksum;
  place.udp = ip + wire::kIpv4Bytes;
  place.end = ip + load<std::uint16_t>(frame, ip + kIpv4Length);
  return whole && place.end > frame.size() ? Outcome::truncated : Outcome::done;
}

Outcome find_in_ipv6(std::span<const std::byte> frame, bool whole, UdpPlace& place) {
  const std::size_t ip = place.ip;
  if (frame.size() < ip + wire::kIpv6Bytes + wire::kUdpBytes) return Outcome::truncated;
  if (load8(frame, ip + 6) != kUdp) return Outcome::not_udp;
  place.ipv6 = true;
  place.udp = ip + wire::kIpv6Bytes;
  place.end = place.udp + load<std::uint16_t>(frame, ip + kIpv6Length);
  return whole && place.end > frame.size() ? Outcome::truncated : Outcome::done;
}

}  // namespace

const char* text_of(Outcome outcome) {
  constexpr const char* kTexts[] = {"done",
                                    "not UDP",
                                    "truncated packet",
                                    "wrong IPv4 header checksum",
                                    "no INT",
                                    "INT already",
                                    "impossible INT stack",
                                    "no room",
                                    "exceeds the MTU",
                                    "hop count used up",
                                    "instructions that cannot be answered"};
  return kTexts[static_cast<std::size_t>(outcome)];
}

Outcome find_udp_at(std::span<const std::byte> frame, std::size_t ip, bool whole, UdpPlace& place) {
  if (frame.size() <= ip) return Outcome::truncated;
  place = {};
  place.ip = ip;
  const unsigned version = load8(frame, ip) >> 4;
  if (version != 4 && version != 6) return Outcome::not_udp;
  const Outcome outcome =
      version == 4 ? find_in_ipv4(frame, whole, place) : find_in_ipv6(frame, whole, place);
  if (outcome != Outcome::done) return outcome;
  const auto udp_bytes = load<std::uint16_t>(frame, place.udp + kUdpLength);
  if (udp_bytes < wire::kUdpBytes || udp_bytes != place.end - place.udp) return Outcome::truncated;
  return Outcome::done;
}

Outcome find_udp(std::span<const std::byte> frame, UdpPlace& place) {
  if (frame.size() < wire::kEthernetBytes) return Outcome::truncated;
  std::size_t ip = wire::kEthernetBytes;
  auto type = load<std::uint16_t>(frame, ip - 2);
  for (int tags = 0; tags < 2 && (type == wire::kEtherTypeVlan || type == kEtherTypeServiceVlan);
       ++tags) {
    ip += wire::kVlanBytes;
    if (frame.size() < ip) return Outcome::truncated;
    type = load<std::uint16_t>(frame, ip - 2);
  }
  if (type != wire::kEtherTypeIpv4 && type != wire::kEtherTypeIpv6) return Outcome::not_udp;
  const Outcome outcome = find_udp_at(frame, ip, true, place);
  if (outcome == Outcome::done && place.ipv6 != (type == wire::kEtherTypeIpv6))
    return Outcome::not_udp;
  return outcome;
}

std::uint8_t dscp_of(std::span<const std::byte> frame, const UdpPlace& place) {
  const auto word = load<std::uint16_t>(frame, place.ip);
  return static_cast<std::uint8_t>((place.ipv6 ? word >> 6 : word >> 2) & 0x3F);
}

void set_dscp(std::span<std::byte> frame, const UdpPlace& place, std::uint8_t dscp) {
  const auto before = load<std::uint16_t>(frame, place.ip);
  const unsigned shift = place.ipv6 ? 6 : 2;
  const auto after =
      static_cast<std::uint16_t>((before & ~(0x3Fu << shift)) | unsigned{dscp} << shift);
  store(frame, place.ip, after);
  if (!place.ipv6) amend_ipv4_checksum(frame, place.ip, before, after);
}

void set_destination_port(std::span<std::byte> frame, const UdpPlace& place, std::uint16_t port) {
  const auto before = load<std::uint16_t>(frame, place.udp + kUdpPort);
  store(frame, place.udp + kUdpPort, port);
  amend_udp_checksum(frame, place, before, port);
}

void amend_udp_checksum(std::span<std::byte> frame, const UdpPlace& place, std::uint16_t before,
                        std::uint16_t after, unsigned times) {
  std::uint16_t change = ones_complement_add(inverted(before), after);
  if (times == 2) change = ones_complement_add(change, change);
  add_to_udp_checksum(frame, place, change);
}

void amend_udp_checksum(std::span<std::byte> frame, const UdpPlace& place,
                        std::span<const std::byte> bytes, bool added) {
  // The sum is of words in memory order; the checksum is read as big-endian.
  const std::uint16_t in_memory = wire::ones_complement_sum(bytes);
  std::uint16_t sum = 0;
  std::byte raw[2];
  std::memcpy(raw, &in_memory, sizeof raw);
  sum = load<std::uint16_t>(raw, 0);
  add_to_udp_checksum(frame, place, added ? sum : inverted(sum));
}

bool change_lengths(std::span<std::byte> frame, UdpPlace& place, std::ptrdiff_t bytes) {
  const std::size_t at = place.ip + (place.ipv6 ? kIpv6Length : kIpv4Length);
  const auto ip_before = load<std::uint16_t>(frame, at);
  const auto udp_before = load<std::uint16_t>(frame, place.udp + kUdpLength);
  if (ip_before + bytes > 0xFFFF || udp_before + bytes > 0xFFFF) return false;
  const auto ip_after = static_cast<std::uint16_t>(ip_before + bytes);
  const auto udp_after = static_cast<std::uint16_t>(udp_before + bytes);
  store(frame, at, ip_after);
  if (!place.ipv6) amend_ipv4_checksum(frame, place.ip, ip_before, ip_after);
  store(frame, place.udp + kUdpLength, udp_after);
  amend_udp_checksum(frame, place, udp_before, udp_after, 2);
  place.end = static_cast<std::size_t>(static_cast<std::ptrdiff_t>(place.end) + bytes);
  return true;
}

}  // namespace tributary::telemetry
