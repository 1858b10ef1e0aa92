// IPv4 and IPv6 frames of any shape, for tests of what reads them.
#pragma once

#include <vector>

#include "core/net/byte_order.h"
#include "core/net/checksum.h"
#include "tests/dataplane/l2_frame.h"

namespace tributary::dataplane {

struct IpOptions {
  std::uint8_t protocol = 17;
  std::uint16_t fragment = 0;  // flags and offset
  std::size_t options = 0;     // bytes of IPv4 options
  std::vector<std::uint8_t> extensions = {};
  std::uint32_t source = 0x0A000001;
  std::uint32_t destination = 0x0A000002;
  std::uint16_t destination_port = 2222;
  std::size_t payload = 16;  // of which the first bytes are ports, 1111 first
  std::optional<std::uint16_t> tci = std::nullopt;
};

inline void append_payload(Bytes& frame, const IpOptions& o) {
  Bytes body;
  append_be16(body, 1111);
  append_be16(body, o.destination_port);
  body.resize(o.payload);
  frame.insert(frame.end(), body.begin(), body.end());
}

inline Bytes ipv4_frame(const IpOptions& o, const wire::MacAddress& to = kEverybody,
                        const wire::MacAddress& from = host(1)) {
  Bytes frame = l2_frame(to, from, 0, o.tci, 0x0800);
  const std::size_t at = frame.size();
  const std::size_t header = 20 + o.options;
  append_be16(frame, static_cast<std::uint16_t>(0x4000 | (header / 4) << 8));
  append_be16(frame, static_cast<std::uint16_t>(header + o.payload));
  append_be16(frame, 0);
  append_be16(frame, o.fragment);
  append_be16(frame, static_cast<std::uint16_t>(1 << 8 | o.protocol));
  append_be16(frame, 0);
  for (const std::uint32_t word : {o.source, o.destination}) {
    append_be16(frame, static_cast<std::uint16_t>(word >> 16));
    append_be16(frame, static_cast<std::uint16_t>(word));
  }
  frame.resize(at + header, std::byte{1});  // "no operation"
  const auto sum =
      static_cast<std::uint16_t>(~wire::ones_complement_sum(std::span(frame).subspan(at, header)));
  std::memcpy(&frame[at + 10], &sum, sizeof sum);
  append_payload(frame, o);
  return frame;
}

// From 2001:db8::1 to 2001:db8::2.
inline Bytes ipv6_frame(const IpOptions& o, const wire::MacAddress& to = kEverybody,
                        const wire::MacAddress& from = host(1)) {
  Bytes frame = l2_frame(to, from, 0, o.tci, 0x86DD);
  append_be16(frame, 0x6000);
  append_be16(frame, 0);
  append_be16(frame, static_cast<std::uint16_t>(o.extensions.size() + o.payload));
  append_be16(frame, static_cast<std::uint16_t>(o.protocol << 8 | 1));
  for (const int last : {1, 2}) {
    append_be16(frame, 0x2001);
    append_be16(frame, 0x0DB8);
    frame.resize(frame.size() + 11);
    frame.push_back(static_cast<std::byte>(last));
  }
  for (const auto byte : o.extensions) frame.push_back(static_cast<std::byte>(byte));
  append_payload(frame, o);
  return frame;
}

}  // namespace tributary::dataplane
