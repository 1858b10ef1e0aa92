#include "core/wire/ecn.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "core/net/checksum.h"
#include "core/net/frame.h"
#include "core/prng.h"

namespace tributary::wire {
namespace {

using Bytes = std::vector<std::byte>;

// An IP header behind addresses, and a tag if there is to be one; `ecn`: its two bits.
Bytes ipv4(unsigned ecn, bool tagged, std::uint16_t id = 7) {
  Bytes frame(kUdpPayloadOffset + 22);
  FrameTemplate t{{2, 1}, {2, 2}, std::nullopt, {1, 2, 3, 4}};
  t.dscp_ecn = static_cast<std::uint8_t>(0xB8 | ecn);  // expedited forwarding
  if (tagged) t.vlan_tci = id;
  frame.resize(write_frame_headers(t, frame, 18));
  return frame;
}
Bytes ipv6(unsigned ecn, bool tagged) {
  Bytes frame(kEthernetBytes + kIpv6Bytes);
  frame[12] = std::byte{0x86};
  frame[13] = std::byte{0xDD};
  frame[14] = std::byte{0x6B};
  frame[15] = static_cast<std::byte>(0x80 | ecn << 4 | 5);
  if (tagged) {
    const std::array tag = {std::byte{0x81}, std::byte{0}, std::byte{0}, std::byte{9}};
    frame.insert(frame.begin() + 12, tag.begin(), tag.end());
  }
  return frame;
}

TEST(Ecn, WhoListensIsTold) {
  for (const bool tagged : {false, true}) {
    const std::size_t header = kEthernetBytes + (tagged ? kVlanBytes : 0);
    for (const unsigned ecn : {1u, 2u, 3u}) {
      Bytes frame = ipv4(ecn, tagged);
      EXPECT_TRUE(mark_congestion(frame));
      EXPECT_EQ(frame, ipv4(3, tagged)) << "the checksum too";
      frame = ipv6(ecn, tagged);
      EXPECT_TRUE(mark_congestion(frame));
      EXPECT_EQ(frame, ipv6(3, tagged));
      EXPECT_EQ(std::to_integer<int>(frame[header + 1]) & 0x0F, 5) << "the flow label is as it was";
    }
  }
}

TEST(Ecn, WhoDoesNotListenIsLeftAlone) {
  for (const bool tagged : {false, true})
    for (const Bytes& frame : {ipv4(0, tagged), ipv6(0, tagged)}) {
      Bytes same = frame;
      EXPECT_FALSE(mark_congestion(same));
      EXPECT_EQ(same, frame);
    }
}

TEST(Ecn, ChecksumsStayRightWhateverTheyWere) {
  Prng prng(3);
  for (int i = 0; i < 10'000; ++i) {
    Bytes frame = ipv4(1 + static_cast<unsigned>(prng.next() % 2), false);
    const auto header = std::span(frame).subspan(kEthernetBytes, kIpv4Bytes);
    for (const std::size_t at : {4u, 5u, 12u, 13u, 14u, 15u})
      header[at] = static_cast<std::byte>(prng.next());
    header[10] = header[11] = std::byte{0};
    const auto sum = static_cast<std::uint16_t>(~ones_complement_sum(header));
    std::memcpy(&header[10], &sum, sizeof sum);
    ASSERT_TRUE(mark_congestion(frame));
    ASSERT_EQ(ones_complement_sum(header), 0xFFFF) << i;
  }
}

TEST(Ecn, WhatIsNoWholeHeaderIsLeftAlone) {
  for (const bool tagged : {false, true})
    for (const Bytes& whole : {ipv4(1, tagged), ipv6(1, tagged)}) {
      const std::size_t bytes = kEthernetBytes + (tagged ? kVlanBytes : 0) +
                                (whole.size() == ipv4(1, tagged).size() ? kIpv4Bytes : kIpv6Bytes);
      for (std::size_t size = 0; size < bytes; ++size) {
        Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
        EXPECT_FALSE(mark_congestion(cut)) << size;
      }
    }
  Bytes arp = ipv4(1, false);
  arp[13] = std::byte{6};
  EXPECT_FALSE(mark_congestion(arp));
  Bytes strange = ipv4(1, false);
  strange[14] = std::byte{0x65};
  EXPECT_FALSE(mark_congestion(strange));
}

// Rule 15: the flag of who made the packet, and the mark of what it met since.
TEST(Ecn, Rule15_DataIsMarkedByFlagOrHeader) {
  Packet packet;
  EXPECT_FALSE(is_marked(packet));
  packet.congestion_experienced = true;
  EXPECT_TRUE(is_marked(packet));
  packet.header.flags = kFlagCe;
  EXPECT_TRUE(is_marked(packet));
  packet.congestion_experienced = false;
  EXPECT_TRUE(is_marked(packet));
  packet.header.flags |= kFlagResend;
  EXPECT_FALSE(is_marked(packet));
  packet.congestion_experienced = true;
  EXPECT_FALSE(is_marked(packet));
}

TEST(Ecn, Rule15_WhatNobodyActsOnIsNotCapable) {
  for (const PacketType type : {PacketType::contribution, PacketType::aggregate, PacketType::result,
                                PacketType::escalation})
    EXPECT_EQ(ecn_of(type), kEct0) << name_of(type);
  for (const PacketType type : {PacketType::probe, PacketType::pending, PacketType::unknown,
                                PacketType::ack, PacketType::join, PacketType::abort})
    EXPECT_EQ(ecn_of(type), 0) << name_of(type);
}

TEST(Ecn, Rule15_ParsingKnowsOfNoIpHeader) {
  std::array<std::byte, kHeaderBytes> bytes{};
  ASSERT_EQ(serialize(Header{}, {}, bytes), kHeaderBytes);
  Packet packet;
  packet.congestion_experienced = true;  // of the one that was there before
  ASSERT_EQ(parse(bytes, packet), DropReason::none);
  EXPECT_FALSE(packet.congestion_experienced);
}

}  // namespace
}  // namespace tributary::wire
