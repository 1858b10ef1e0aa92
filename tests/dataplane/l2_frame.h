// Frames of no particular protocol, for tests of forwarding.
#pragma once

#include <optional>

#include "core/net/frame.h"
#include "tests/dataplane/ring_switch.h"

namespace tributary::dataplane {

inline constexpr wire::MacAddress kEverybody = {255, 255, 255, 255, 255, 255};

inline wire::MacAddress host(std::uint8_t n) {
  return {2, 0, 0, 0, 0, n};
}

inline void append_be16(Bytes& frame, std::uint16_t word) {
  frame.push_back(static_cast<std::byte>(word >> 8));
  frame.push_back(static_cast<std::byte>(word));
}

// `tci` is the whole tag: priority and VLAN.
inline Bytes l2_frame(const wire::MacAddress& to, const wire::MacAddress& from,
                      std::size_t bytes = 64, std::optional<std::uint16_t> tci = std::nullopt,
                      std::uint16_t ether_type = 0x88B5) {  // local experimental
  Bytes frame;
  for (const auto byte : to) frame.push_back(static_cast<std::byte>(byte));
  for (const auto byte : from) frame.push_back(static_cast<std::byte>(byte));
  if (tci) {
    append_be16(frame, wire::kEtherTypeVlan);
    append_be16(frame, *tci);
  }
  append_be16(frame, ether_type);
  // The same behind any tag.
  for (std::uint8_t n = 0; frame.size() < bytes; ++n) frame.push_back(static_cast<std::byte>(n));
  return frame;
}

}  // namespace tributary::dataplane
