// Frames for tests of in-band telemetry, and their checksums computed anew from all bytes.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "telemetry/wire/bytes.h"
#include "telemetry/wire/int_md.h"

namespace tributary::telemetry::test {

using Bytes = std::vector<std::byte>;

inline Bytes from_hex(std::string_view text) {
  Bytes out;
  unsigned value = 0;
  bool half = false;
  for (const char c : text) {
    if (c == ' ' || c == '\n') continue;
    value = value << 4 | static_cast<unsigned>(c <= '9' ? c - '0' : c - 'a' + 10);
    if (half) out.push_back(static_cast<std::byte>(value & 0xFF));
    half = !half;
  }
  return out;
}

inline void append16(Bytes& to, unsigned value) {
  to.push_back(static_cast<std::byte>(value >> 8 & 0xFF));
  to.push_back(static_cast<std::byte>(value & 0xFF));
}

// Folded sum of big-endian words, an odd byte padded with zero.
inline std::uint32_t sum_of(std::span<const std::byte> bytes) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    sum += std::to_integer<std::uint32_t>(bytes[i]) << (i % 2 == 0 ? 8 : 0);
  while (sum >> 16 != 0) sum = (sum & 0xFFFF) + (sum >> 16);
  return sum;
}

// The UDP checksum of a datagram, computed from all of its bytes.
inline std::uint16_t udp_checksum(std::span<const std::byte> frame, const UdpPlace& place) {
  Bytes covered;
  const std::size_t addresses = place.ip + (place.ipv6 ? 8u : 12u);
  const auto all = frame.subspan(addresses, place.ipv6 ? 32 : 8);
  covered.assign(all.begin(), all.end());
  append16(covered, static_cast<unsigned>(place.end - place.udp));
  append16(covered, 17);
  const auto datagram = frame.subspan(place.udp, place.end - place.udp);
  covered.insert(covered.end(), datagram.begin(), datagram.end());
  const std::size_t field = covered.size() - datagram.size() + 6;
  covered[field] = covered[field + 1] = std::byte{0};
  const auto checksum = static_cast<std::uint16_t>(~sum_of(covered));
  return checksum == 0 ? 0xFFFF : checksum;
}

struct FrameForm {
  bool ipv6 = false;
  unsigned tags = 0;
  std::size_t payload = 32;
  bool checksum = true;
  std::uint8_t dscp = 10;
  std::size_t padding = 0;  // behind the packet
};

inline Bytes make_frame(const FrameForm& form) {
  Bytes f(12, std::byte{2});
  for (unsigned tag = 0; tag < form.tags; ++tag) {
    append16(f, tag + 1 < form.tags ? 0x88A8 : 0x8100);
    append16(f, 0x2005 + tag);
  }
  append16(f, form.ipv6 ? 0x86DD : 0x0800);
  const std::size_t ip = f.size();
  const auto udp_bytes = static_cast<unsigned>(8 + form.payload);
  if (form.ipv6) {
    append16(f, 0x6000u | unsigned{form.dscp} << 6 | 2u << 4);
    append16(f, 0xBEEF);
    append16(f, udp_bytes);
    append16(f, 17 << 8 | 64);
    for (unsigned i = 0; i < 16; ++i) append16(f, 0xFD00 + i);
  } else {
    append16(f, 0x4500u | unsigned{form.dscp} << 2 | 2u);
    for (const unsigned word : {20 + udp_bytes, 0x1234u, 0x4000u, 64u << 8 | 17u, 0u})
      append16(f, word);
    for (const unsigned word : {0x0A00u, 0x0001u, 0x0A00u, 0x0002u}) append16(f, word);
    store(f, ip + 10, static_cast<std::uint16_t>(~sum_of(std::span(f).subspan(ip, 20))));
  }
  for (const unsigned word : {40000u, 9000u, udp_bytes, 0u}) append16(f, word);
  for (std::size_t i = 0; i < form.payload; ++i) f.push_back(static_cast<std::byte>(i * 37 + 11));
  f.insert(f.end(), form.padding, std::byte{0x5A});
  UdpPlace place;
  if (form.checksum && find_udp(f, place) == Outcome::done)
    store(f, place.udp + 6, udp_checksum(f, place));
  return f;
}

// Room for what is inserted.
struct Buffer {
  explicit Buffer(const Bytes& frame, std::size_t room = 2000) : bytes(frame) {
    bytes.resize(frame.size() + room);
    view = {bytes, frame.size(), 9000};
  }
  [[nodiscard]] Bytes now() const {
    return {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(view.length)};
  }

  Bytes bytes;
  Frame view;
};

}  // namespace tributary::telemetry::test
