// IPv6 packets with an IOAM trace to fill, as their source sends them (RFC 9486).
#pragma once

#include "tests/telemetry/wire/frames.h"

namespace tributary::telemetry::test {

// Where the trace option's data begin.
inline constexpr std::size_t kTrace = 48;

// IPv6, hop-by-hop with two bytes of padding before the option, trace type and space as given.
// The namespace is 123.
inline Bytes packet_of(std::uint32_t type, unsigned node_words, unsigned space_words) {
  Bytes p = from_hex("60000000 0000 00 3d");
  p.resize(40);
  const std::size_t bytes = 2 + 2 + 4 + 8 + space_words * std::size_t{4};
  const std::size_t total = (bytes + 7) / 8 * 8;
  p.push_back(std::byte{59});
  p.push_back(static_cast<std::byte>(total / 8 - 1));
  for (const unsigned byte : {1u, 0u, 0x31u, 2 + 8 + space_words * 4, 0u, 0u})
    p.push_back(static_cast<std::byte>(byte));
  append16(p, 123);
  append16(p, node_words << 11 | space_words);
  append16(p, type >> 16);
  append16(p, type & 0xFFFF);
  p.resize(40 + total);
  store(p, 4, static_cast<std::uint16_t>(total));
  return p;
}

}  // namespace tributary::telemetry::test
