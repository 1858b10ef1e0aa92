// IGMP and MLD messages, for tests of snooping.
#pragma once

#include <vector>

#include "tests/dataplane/ip_frame.h"

namespace tributary::dataplane {

inline constexpr std::uint32_t kTestGroup4 = 0xE0010203;  // 224.1.2.3
inline constexpr std::size_t kIgmpAt = wire::kEthernetBytes + 24;
inline constexpr std::size_t kMldAt = wire::kEthernetBytes + 48;

struct ListedGroup {
  std::uint8_t type = 0;
  std::uint32_t group = 0;  // of IPv6, the last four bytes
  std::size_t sources = 0;
};

inline void put_be16(Bytes& frame, std::size_t at, std::uint16_t value) {
  frame[at] = static_cast<std::byte>(value >> 8);
  frame[at + 1] = static_cast<std::byte>(value);
}
inline void put_be32(Bytes& frame, std::size_t at, std::uint32_t value) {
  put_be16(frame, at, static_cast<std::uint16_t>(value >> 16));
  put_be16(frame, at + 2, static_cast<std::uint16_t>(value));
}

// Sets the checksum of what stands there.
inline void seal_igmp(Bytes& frame) {
  put_be16(frame, kIgmpAt + 2, 0);
  const auto sum =
      static_cast<std::uint16_t>(~wire::ones_complement_sum(std::span(frame).subspan(kIgmpAt)));
  std::memcpy(&frame[kIgmpAt + 2], &sum, sizeof sum);
}
inline void seal_mld(Bytes& frame) {
  put_be16(frame, kMldAt + 2, 0);
  const auto body = std::span(frame).subspan(kMldAt);
  Bytes pseudo;
  append_be16(pseudo, static_cast<std::uint16_t>(body.size()));
  append_be16(pseudo, 58);
  std::uint16_t sum =
      wire::ones_complement_sum(std::span(frame).subspan(wire::kEthernetBytes + 8, 32));
  sum = wire::ones_complement_add(sum, wire::ones_complement_sum(pseudo));
  sum =
      static_cast<std::uint16_t>(~wire::ones_complement_add(sum, wire::ones_complement_sum(body)));
  std::memcpy(&frame[kMldAt + 2], &sum, sizeof sum);
}

inline Bytes igmp_frame(std::uint8_t type, std::uint32_t group, std::uint32_t from = 0x0A000001,
                        std::size_t payload = 8) {
  Bytes frame = ipv4_frame({.protocol = 2, .options = 4, .source = from, .payload = payload},
                           wire::multicast_mac(group));
  put_be16(frame, kIgmpAt, static_cast<std::uint16_t>(type << 8));
  put_be32(frame, kIgmpAt + 4, group);
  seal_igmp(frame);
  return frame;
}
inline Bytes igmp3_frame(const std::vector<ListedGroup>& groups) {
  std::size_t bytes = 8;
  for (const auto& g : groups) bytes += 8 + 4 * g.sources;
  Bytes frame = igmp_frame(0x22, static_cast<std::uint32_t>(groups.size()), 0x0A000001, bytes);
  std::size_t at = kIgmpAt + 8;
  for (const auto& g : groups) {
    put_be16(frame, at, static_cast<std::uint16_t>(g.type << 8));
    put_be16(frame, at + 2, static_cast<std::uint16_t>(g.sources));
    put_be32(frame, at + 4, g.group);
    at += 8 + 4 * g.sources;
  }
  seal_igmp(frame);
  return frame;
}
// Asks for so many groups, from 224.3.0.0 + `first` on.
inline Bytes long_report(std::size_t groups, std::uint32_t first = 0) {
  std::vector<ListedGroup> listed;
  for (std::uint32_t n = first; n < first + groups; ++n) listed.push_back({4, 0xE0030000 + n, 0});
  return igmp3_frame(listed);
}

inline Bytes mld_message(std::uint8_t type, std::size_t bytes) {
  // Hop-by-hop options with a router alert.
  Bytes frame =
      ipv6_frame({.protocol = 0, .extensions = {58, 0, 5, 2, 0, 0, 1, 0}, .payload = bytes},
                 wire::MacAddress{0x33, 0x33, 0, 0, 0, 0x16});
  put_be16(frame, kMldAt, static_cast<std::uint16_t>(type << 8));
  return frame;
}
// An MLD message for group ff05::77 and the like; 0: for none.
inline Bytes mld_frame(std::uint8_t type, std::uint32_t group) {
  Bytes frame = mld_message(type, 24);
  if (group != 0) put_be16(frame, kMldAt + 8, 0xFF05);
  put_be32(frame, kMldAt + 20, group);
  seal_mld(frame);
  return frame;
}
inline Bytes mld2_frame(const std::vector<ListedGroup>& groups) {
  std::size_t bytes = 8;
  for (const auto& g : groups) bytes += 20 + 16 * g.sources;
  Bytes frame = mld_message(143, bytes);
  put_be16(frame, kMldAt + 6, static_cast<std::uint16_t>(groups.size()));
  std::size_t at = kMldAt + 8;
  for (const auto& g : groups) {
    put_be16(frame, at, static_cast<std::uint16_t>(g.type << 8));
    put_be16(frame, at + 2, static_cast<std::uint16_t>(g.sources));
    put_be16(frame, at + 4, 0xFF05);
    put_be32(frame, at + 16, g.group);
    at += 20 + 16 * g.sources;
  }
  seal_mld(frame);
  return frame;
}

}  // namespace tributary::dataplane
