// Makes the checksums of a mutated frame right again, so that inputs get past them: a fuzzer
// cannot guess 16 bits, an attacker can compute them. Deliberately not the product's code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tributary::fuzz {

inline std::uint8_t byte_at(std::span<const std::byte> bytes, std::size_t i) {
  return std::to_integer<std::uint8_t>(bytes[i]);
}

// RFC 1071, word by word; not complemented, in host order of big-endian words.
inline std::uint32_t plain_sum(std::span<const std::byte> bytes, std::uint32_t sum = 0) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    sum += static_cast<std::uint32_t>(byte_at(bytes, i)) << (i % 2 == 0 ? 8 : 0);
    sum = (sum & 0xFFFF) + (sum >> 16);
  }
  return sum;
}

inline void put_sum(std::span<std::byte> at, std::uint32_t sum) {
  const auto value = static_cast<std::uint16_t>(~sum);
  at[0] = static_cast<std::byte>(value >> 8);
  at[1] = static_cast<std::byte>(value & 0xFF);
}

// Repairs an IPv4 packet with a 20-byte header; leaves anything else alone.
inline void repair_ipv4(std::span<std::byte> packet) {
  constexpr std::size_t kHeader = 20;
  if (packet.size() < kHeader || packet[0] != std::byte{0x45}) return;
  packet[10] = packet[11] = std::byte{0};
  put_sum(packet.subspan(10), plain_sum(packet.first(kHeader)));
  const std::size_t total = byte_at(packet, 2) * 256u + byte_at(packet, 3);
  if (total < kHeader + 8 || total > packet.size()) return;
  const auto message = packet.subspan(kHeader, total - kHeader);
  if (packet[9] == std::byte{1}) {  // ICMP
    message[2] = message[3] = std::byte{0};
    put_sum(message.subspan(2), plain_sum(message));
  }
  if (packet[9] != std::byte{17} || (message[6] == std::byte{0} && message[7] == std::byte{0}))
    return;
  message[6] = message[7] = std::byte{0};
  const std::uint32_t pseudo =
      plain_sum(packet.subspan(12, 8), 17 + static_cast<std::uint32_t>(message.size()));
  put_sum(message.subspan(6), plain_sum(message, (pseudo & 0xFFFF) + (pseudo >> 16)));
  if (message[6] == std::byte{0} && message[7] == std::byte{0})
    message[6] = message[7] = std::byte{0xFF};
}

// Repairs an Ethernet frame, tagged or not.
inline void repair_frame(std::span<std::byte> frame) {
  std::size_t at = 14;
  if (frame.size() < at) return;
  if (frame[12] == std::byte{0x81} && frame[13] == std::byte{0}) at += 4;
  if (frame.size() < at || frame[at - 2] != std::byte{8} || frame[at - 1] != std::byte{0}) return;
  repair_ipv4(frame.subspan(at));
}

}  // namespace tributary::fuzz
