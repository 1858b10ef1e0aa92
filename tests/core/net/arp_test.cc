#include "core/net/arp.h"

#include <gtest/gtest.h>

#include <array>

namespace tributary::wire {
namespace {

constexpr MacAddress kOwn = {0x02, 1, 2, 3, 4, 5};
constexpr MacAddress kPeer = {0x02, 9, 8, 7, 6, 5};
constexpr std::uint32_t kOwnIp = 0x0A4E0001;
constexpr std::uint32_t kPeerIp = 0x0A4D00FE;

using Frame = std::array<std::byte, kArpFrameBytes>;

ArpView parsed(const Frame& frame) {
  const auto eth = std::get<EthernetView>(parse_ethernet(frame));
  EXPECT_EQ(eth.ether_type, kEtherTypeArp);
  return parse_arp(eth.payload).value();
}

// Field positions of RFC 826, written out independently of the code.
TEST(Arp, RequestHasTheStandardLayout) {
  Frame frame{};
  ASSERT_EQ(write_arp_request(kOwn, kOwnIp, kPeerIp, frame), kArpFrameBytes);
  const std::array<int, kArpFrameBytes> expected = {
      0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x02, 1,    2, 3,   4, 5, 0x08, 0x06,  // Ethernet
      0,    1,    0x08, 0,    6,    4,    0,    1,                               // request
      0x02, 1,    2,    3,    4,    5,    0x0A, 0x4E, 0, 1,                      // sender
      0,    0,    0,    0,    0,    0,    0x0A, 0x4D, 0, 0xFE};                  // target
  for (std::size_t i = 0; i < frame.size(); ++i)
    EXPECT_EQ(std::to_integer<int>(frame[i]), expected[i]) << "offset " << i;
}

TEST(Arp, ReplyAnswersTheRequest) {
  Frame frame{};
  write_arp_request(kOwn, kOwnIp, kPeerIp, frame);
  const ArpView request = parsed(frame);
  EXPECT_TRUE(request.is_request);
  EXPECT_EQ(request.target_ip, kPeerIp);

  ASSERT_EQ(write_arp_reply(kPeer, request, frame), kArpFrameBytes);
  const auto eth = std::get<EthernetView>(parse_ethernet(frame));
  EXPECT_EQ(eth.destination, kOwn);
  EXPECT_EQ(eth.source, kPeer);
  const ArpView reply = parsed(frame);
  EXPECT_FALSE(reply.is_request);
  EXPECT_EQ(reply.sender_mac, kPeer);
  EXPECT_EQ(reply.sender_ip, kPeerIp);
  EXPECT_EQ(reply.target_mac, kOwn);
  EXPECT_EQ(reply.target_ip, kOwnIp);
}

TEST(Arp, RefusesWhatIsNotArpForIpv4) {
  Frame good{};
  write_arp_request(kOwn, kOwnIp, kPeerIp, good);
  const std::span packet = std::span(good).subspan(kEthernetBytes);
  EXPECT_TRUE(parse_arp(packet));
  for (std::size_t length = 0; length < packet.size(); ++length)
    EXPECT_FALSE(parse_arp(packet.first(length))) << length;
  for (const std::size_t offset : {0, 1, 2, 3, 4, 5, 6, 7}) {
    Frame bad = good;
    bad[kEthernetBytes + offset] ^= std::byte{0x44};
    EXPECT_FALSE(parse_arp(std::span(bad).subspan(kEthernetBytes))) << "offset " << offset;
  }
  Frame multicast = good;
  multicast[kEthernetBytes + 8] |= std::byte{1};
  EXPECT_FALSE(parse_arp(std::span(multicast).subspan(kEthernetBytes)));
}

TEST(Arp, WritesNothingIntoASmallBuffer) {
  std::array<std::byte, kArpFrameBytes - 1> small{};
  EXPECT_EQ(write_arp_request(kOwn, kOwnIp, kPeerIp, small), 0u);
}

}  // namespace
}  // namespace tributary::wire
