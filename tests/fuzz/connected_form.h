// Makes a frame for a connected queue pair right: the numbers that the switch has drawn, which a
// fuzzer cannot guess. PSNs and addresses of the frame count from what the switch expects.
#pragma once

#include <vector>

#include "core/net/frame.h"
#include "core/net/roce.h"
#include "dataplane/rdma/connected/connection.h"
#include "tests/fuzz/repair.h"

namespace tributary::fuzz {

inline std::uint64_t number_at(std::span<const std::byte> bytes, std::size_t at, std::size_t size) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < size; ++i) value = value << 8 | byte_at(bytes, at + i);
  return value;
}
inline void put_number(std::span<std::byte> bytes, std::size_t at, std::size_t size,
                       std::uint64_t value) {
  for (std::size_t i = size; i-- > 0; value >>= 8) bytes[at + i] = static_cast<std::byte>(value);
}

// `frame` is without a VLAN tag. `connection`: nullptr, and its ICRC alone is made right.
inline void make_connected(std::span<std::byte> frame, const dataplane::Connection* connection) {
  constexpr std::size_t kAt = wire::kUdpPayloadOffset;
  constexpr std::size_t kReceiver = kAt + wire::kBthBytes + wire::kDethBytes + 28;
  if (frame.size() < kAt + wire::kBthBytes + wire::kIcrcBytes) return;
  if (number_at(frame, kAt - wire::kUdpBytes + 2, 2) != wire::kRocePort) return;
  if (connection != nullptr) {
    const dataplane::Connection& c = *connection;
    const auto* const shape = wire::roce_shape(byte_at(frame, kAt));
    const std::size_t reth = kAt + wire::kBthBytes;
    if (number_at(frame, kAt + 5, 3) == wire::kGeneralServicesQp) {
      if (frame.size() >= kReceiver + 4) put_number(frame, kReceiver, 4, c.qpn);
    } else {
      put_number(frame, kAt + 5, 3, c.qpn);
      const std::uint32_t first = shape && shape->aeth ? c.results.oldest()
                                  : c.is_unreliable()  ? c.datagrams.expected()
                                                       : c.requests.expected();
      put_number(frame, kAt + 9, 3, first + number_at(frame, kAt + 9, 3));
      if (shape && shape->reth && frame.size() >= reth + wire::kRethBytes) {
        put_number(frame, reth, 8, c.terms.base + number_at(frame, reth, 8));
        put_number(frame, reth + 8, 4, c.terms.rkey);
      }
    }
  }
  if (byte_at(frame, wire::kEthernetBytes) == 0x45) {
    const auto ip = frame.subspan(wire::kEthernetBytes);
    const std::size_t total = number_at(ip, 2, 2);
    if (total <= ip.size() && total >= wire::kIpv4Bytes + wire::kUdpBytes + wire::kIcrcBytes)
      wire::seal_icrc(ip.first(total));
  }
}

}  // namespace tributary::fuzz
