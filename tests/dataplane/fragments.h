// A frame's datagram in IPv4 fragments, for tests of who puts them together.
#pragma once

#include <algorithm>
#include <vector>

#include "core/net/fragment.h"
#include "tests/dataplane/ring_switch.h"

namespace tributary::dataplane {

inline std::vector<Bytes> cut(const Bytes& frame, std::uint16_t id, std::size_t mtu = 1500) {
  const auto view = std::get<wire::EthernetView>(wire::parse_ethernet(frame));
  const std::size_t headers = frame.size() - view.payload.size();
  const std::size_t bytes = view.payload.size() - wire::kIpv4Bytes;
  const std::size_t each = wire::fragment_bytes(mtu);
  std::vector<Bytes> out;
  for (std::size_t at = 0; at < bytes; at += each) {
    Bytes piece(frame.begin(), frame.begin() + static_cast<long>(headers));
    piece.resize(headers + mtu);
    piece.resize(headers + wire::write_fragment4(view.payload, id, at, std::min(each, bytes - at),
                                                 std::span(piece).subspan(headers)));
    out.push_back(piece);
  }
  return out;
}

}  // namespace tributary::dataplane
