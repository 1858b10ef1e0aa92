#include "core/wire/ecn.h"

#include <cstdint>
#include <cstring>

#include "core/net/byte_order.h"
#include "core/net/checksum.h"
#include "core/net/frame.h"

namespace tributary::wire {
namespace {

constexpr std::uint16_t kEcnBits = 3;
constexpr std::size_t kTypeAt = 12;
constexpr std::size_t kIpv4ChecksumAt = 10;
// The place of the two bits in the first 16 bits of the header.
constexpr unsigned kIpv4Shift = 0;
constexpr unsigned kIpv6Shift = 4;

std::uint16_t word_at(std::span<const std::byte> bytes, std::size_t at) {
  be16 word;
  std::memcpy(&word, bytes.data() + at, sizeof word);
  return word;
}

bool mark(std::span<std::byte> header, unsigned shift) {
  const std::uint16_t before = word_at(header, 0);
  const auto bits = static_cast<std::uint16_t>(kEcnBits << shift);
  if ((before & bits) == 0) return false;
  const be16 after = static_cast<std::uint16_t>(before | bits);
  std::memcpy(header.data(), &after, sizeof after);
  return true;
}

bool mark_ipv4(std::span<std::byte> header) {
  if (header.size() < kIpv4Bytes || std::to_integer<unsigned>(header[0]) >> 4 != 4) return false;
  std::uint16_t before = 0;
  std::uint16_t after = 0;
  std::uint16_t sum = 0;
  std::memcpy(&before, header.data(), sizeof before);
  if (!mark(header, kIpv4Shift)) return false;
  std::memcpy(&after, header.data(), sizeof after);
  std::memcpy(&sum, header.data() + kIpv4ChecksumAt, sizeof sum);
  // RFC 1624, equation 3.
  std::uint16_t rest =
      ones_complement_add(static_cast<std::uint16_t>(~sum), static_cast<std::uint16_t>(~before));
  rest = static_cast<std::uint16_t>(~ones_complement_add(rest, after));
  std::memcpy(header.data() + kIpv4ChecksumAt, &rest, sizeof rest);
  return true;
}

bool mark_ipv6(std::span<std::byte> header) {
  if (header.size() < kIpv6Bytes || std::to_integer<unsigned>(header[0]) >> 4 != 6) return false;
  return mark(header, kIpv6Shift);
}

}  // namespace

bool mark_congestion(std::span<std::byte> frame) {
  if (frame.size() < kEthernetBytes + kVlanBytes) return false;
  std::uint16_t type = word_at(frame, kTypeAt);
  std::size_t header = kEthernetBytes;
  if (type == kEtherTypeVlan) {
    type = word_at(frame, kTypeAt + kVlanBytes);
    header += kVlanBytes;
  }
  if (type == kEtherTypeIpv4) return mark_ipv4(frame.subspan(header));
  return type == kEtherTypeIpv6 && mark_ipv6(frame.subspan(header));
}

}  // namespace tributary::wire
