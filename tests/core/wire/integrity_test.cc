// Rule 18: every packet is covered by the UDP checksum or by the CRC32C extension.
#include "core/wire/integrity.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/wire/extension.h"

namespace tributary::wire {
namespace {

using Bytes = std::vector<std::byte>;

struct Options {
  bool crc = true;
  bool udp_checksum = false;
};

Bytes build(Options o) {
  std::array<std::byte, 64> area{};
  ExtensionWriter w(area);
  EXPECT_TRUE(w.add(TaskInformation{7, 8, 9}));
  if (o.crc) {
    EXPECT_TRUE(w.add_crc32c_placeholder());
  }
  FrameTemplate t;
  t.source = {2, 0, 0, 0, 0, 1};
  t.endpoints = {1, 2, 3, 4};
  t.udp_checksum = o.udp_checksum;
  Header h;
  h.dtype = DType::int32;
  h.element_count = 3;
  const std::size_t bytes = serialized_bytes(w.bytes().size()) + 12;
  Bytes frame(frame_header_bytes(t) + bytes, std::byte{0x5A});
  const auto packet = std::span(frame).subspan(frame_header_bytes(t));
  EXPECT_GT(serialize(h, w.bytes(), packet), 0u);
  EXPECT_EQ(seal_crc32c(packet), o.crc);
  EXPECT_EQ(write_frame_headers(t, frame, bytes), frame.size());
  return frame;
}

// What the parsers say of a frame, up to the integrity check.
DropReason verdict(std::span<const std::byte> frame) {
  const auto eth = std::get<EthernetView>(parse_ethernet(frame));
  const auto ip = parse_udp4(eth.payload);
  if (std::holds_alternative<DropReason>(ip)) return std::get<DropReason>(ip);
  const auto& udp = std::get<std::optional<Udp4View>>(ip);
  const auto packet = parse(udp->payload);
  if (std::holds_alternative<DropReason>(packet)) return std::get<DropReason>(packet);
  return check_integrity(*udp, std::get<Packet>(packet));
}

TEST(Integrity, EitherCoverSuffices) {
  EXPECT_EQ(verdict(build({.crc = true, .udp_checksum = false})), DropReason::none);
  EXPECT_EQ(verdict(build({.crc = false, .udp_checksum = true})), DropReason::none);
  EXPECT_EQ(verdict(build({.crc = true, .udp_checksum = true})), DropReason::none);
}

TEST(Integrity, NeitherIsRefused) {
  EXPECT_EQ(verdict(build({.crc = false, .udp_checksum = false})), DropReason::no_integrity);
}

TEST(Integrity, EveryBitOfThePacketIsCoveredByTheCrc) {
  const Bytes good = build({.crc = true, .udp_checksum = false});
  for (std::size_t bit = kUdpPayloadOffset * 8; bit < good.size() * 8; ++bit) {
    Bytes bad = good;
    bad[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
    ASSERT_NE(verdict(bad), DropReason::none) << "bit " << bit;
  }
}

TEST(Integrity, EveryBitOfThePacketIsCoveredByTheChecksum) {
  const Bytes good = build({.crc = false, .udp_checksum = true});
  for (std::size_t bit = kUdpPayloadOffset * 8; bit < good.size() * 8; ++bit) {
    Bytes bad = good;
    bad[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
    ASSERT_NE(verdict(bad), DropReason::none) << "bit " << bit;
  }
}

TEST(Integrity, WrongCrcIsCountedAsSuch) {
  Bytes bad = build({.crc = true, .udp_checksum = false});
  bad.back() ^= std::byte{1};
  EXPECT_EQ(verdict(bad), DropReason::crc32c);
  bad = build({.crc = false, .udp_checksum = true});
  bad.back() ^= std::byte{1};
  EXPECT_EQ(verdict(bad), DropReason::checksum);
}

// CHECKSUM_PARTIAL: the sum over the pseudo header alone, as a kernel leaves it to its device.
TEST(Integrity, AChecksumThatWasLeftToADeviceIsToldApart) {
  Bytes bad = build({.crc = false, .udp_checksum = true});
  const auto word = [&](std::size_t at) {
    return std::to_integer<std::uint32_t>(bad[at]) << 8 |
           std::to_integer<std::uint32_t>(bad[at + 1]);
  };
  constexpr std::size_t kIp = kEthernetBytes;
  constexpr std::size_t kUdp = kIp + kIpv4Bytes;
  std::uint32_t sum =
      word(kIp + 12) + word(kIp + 14) + word(kIp + 16) + word(kIp + 18) + 17 + word(kUdp + 4);
  while (sum > 0xFFFF) sum = (sum & 0xFFFF) + (sum >> 16);
  bad[kUdp + 6] = std::byte(sum >> 8);
  bad[kUdp + 7] = std::byte(sum & 0xFF);
  EXPECT_EQ(verdict(bad), DropReason::checksum_offloaded);
}

TEST(Integrity, CrcOfGarbageIsAbsentNotRead) {
  for (std::size_t n = 0; n < 80; ++n) {
    Bytes garbage(n, std::byte{0xFF});
    EXPECT_FALSE(packet_crc32c(garbage)) << n;
    EXPECT_FALSE(seal_crc32c(garbage)) << n;
  }
}

}  // namespace
}  // namespace tributary::wire
