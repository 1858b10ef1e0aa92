// ICMP messages about datagrams, for tests of what reads them.
#pragma once

#include <cstring>
#include <span>
#include <vector>

#include "core/net/checksum.h"
#include "core/net/frame.h"

namespace tributary::dataplane {

struct IcmpMessage {
  std::uint32_t reporter = 0;
  std::uint32_t receiver = 0;
  std::uint8_t type = 3;
  std::uint8_t code = 3;
  wire::UdpEndpoints sent;               // of the quoted datagram
  std::vector<std::byte> payload;        // of that, before it is cut
  std::size_t quoted = std::size_t(-1);  // bytes of the datagram behind its IP header
};

inline void append_be(std::vector<std::byte>& to, std::uint64_t value, int bytes) {
  while (bytes-- > 0) to.push_back(static_cast<std::byte>(value >> (8 * bytes)));
}

inline void append_ipv4(std::vector<std::byte>& to, std::size_t body, std::uint8_t protocol,
                        std::uint32_t source, std::uint32_t destination) {
  const std::size_t at = to.size();
  append_be(to, 0x4500, 2);
  append_be(to, wire::kIpv4Bytes + body, 2);
  append_be(to, 0, 4);
  append_be(to, std::uint64_t{64} << 8 | protocol, 2);
  append_be(to, 0, 2);
  append_be(to, source, 4);
  append_be(to, destination, 4);
  const auto sum = static_cast<std::uint16_t>(
      ~wire::ones_complement_sum(std::span(to).subspan(at, wire::kIpv4Bytes)));
  std::memcpy(&to[at + 10], &sum, sizeof sum);
}

// The IP packet.
inline std::vector<std::byte> icmp_packet(const IcmpMessage& m) {
  std::vector<std::byte> datagram;
  append_be(datagram, m.sent.source_port, 2);
  append_be(datagram, m.sent.destination_port, 2);
  append_be(datagram, wire::kUdpBytes + m.payload.size(), 2);
  append_be(datagram, 0x1234, 2);
  datagram.insert(datagram.end(), m.payload.begin(), m.payload.end());
  std::vector<std::byte> message;
  append_be(message, std::uint64_t{m.type} << 8 | m.code, 2);
  append_be(message, 0, 6);
  append_ipv4(message, datagram.size(), 17, m.sent.source_ip, m.sent.destination_ip);
  if (m.quoted < datagram.size()) datagram.resize(m.quoted);
  message.insert(message.end(), datagram.begin(), datagram.end());
  const auto sum = static_cast<std::uint16_t>(~wire::ones_complement_sum(message));
  std::memcpy(&message[2], &sum, sizeof sum);
  std::vector<std::byte> packet;
  append_ipv4(packet, message.size(), 1, m.reporter, m.receiver);
  packet.insert(packet.end(), message.begin(), message.end());
  return packet;
}

}  // namespace tributary::dataplane
