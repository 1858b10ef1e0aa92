#include "core/net/frame.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "core/net/checksum.h"

namespace tributary::wire {
namespace {

using Bytes = std::vector<std::byte>;

FrameTemplate sample() {
  FrameTemplate t;
  t.destination = {2, 0, 0, 0, 0, 2};
  t.source = {2, 0, 0, 0, 0, 1};
  t.endpoints = {0x0A4D0001, 0x0A4D00FE, 40001, 47000};
  return t;
}

Bytes build(const FrameTemplate& t, std::size_t payload_bytes = 5) {
  Bytes frame(frame_header_bytes(t) + payload_bytes);
  for (std::size_t i = 0; i < payload_bytes; ++i)
    frame[frame_header_bytes(t) + i] = static_cast<std::byte>(i + 1);
  EXPECT_EQ(write_frame_headers(t, frame, payload_bytes), frame.size());
  return frame;
}

Bytes ip_packet(const Bytes& frame) {
  return {frame.begin() + kEthernetBytes, frame.end()};
}

// Makes the IP header's checksum right again after a change.
void seal_ip(Bytes& ip) {
  ip[10] = ip[11] = std::byte{0};
  const auto sum =
      static_cast<std::uint16_t>(~ones_complement_sum(std::span(ip).first(kIpv4Bytes)));
  std::memcpy(&ip[10], &sum, sizeof sum);
}

DropReason reason_of(std::span<const std::byte> ip) {
  const auto parsed = parse_udp4(ip);
  return std::holds_alternative<DropReason>(parsed) ? std::get<DropReason>(parsed)
                                                    : DropReason::none;
}

Udp4View view_of(std::span<const std::byte> ip) {
  const auto parsed = parse_udp4(ip);
  EXPECT_TRUE(std::holds_alternative<std::optional<Udp4View>>(parsed));
  return std::get<std::optional<Udp4View>>(parsed).value();
}

TEST(Ethernet, EveryTruncationIsRefused) {
  FrameTemplate t = sample();
  t.vlan_tci = 5;
  const Bytes whole = build(t);
  for (std::size_t n = 0; n < kEthernetBytes + kVlanBytes; ++n) {
    const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n));
    const auto parsed = parse_ethernet(cut);
    ASSERT_TRUE(std::holds_alternative<DropReason>(parsed)) << n;
    EXPECT_EQ(std::get<DropReason>(parsed), DropReason::frame_truncated);
  }
}

TEST(Ethernet, UntaggedAndTagged) {
  FrameTemplate t = sample();
  for (const std::optional<std::uint16_t> tci : {std::optional<std::uint16_t>{}, {0x6FFF}, {0}}) {
    t.vlan_tci = tci;
    const Bytes frame = build(t);
    const auto v = std::get<EthernetView>(parse_ethernet(frame));
    EXPECT_EQ(v.destination, t.destination);
    EXPECT_EQ(v.source, t.source);
    EXPECT_EQ(v.ether_type, kEtherTypeIpv4);
    EXPECT_EQ(v.vlan_tci, tci);
    EXPECT_EQ(v.payload.size(), kIpv4Bytes + kUdpBytes + 5);
  }
}

TEST(Ethernet, OnlyOneTagIsTaken) {
  FrameTemplate t = sample();
  t.vlan_tci = 5;
  Bytes frame = build(t);
  frame[16] = std::byte{0x81};  // the type behind the tag: a second tag
  const auto v = std::get<EthernetView>(parse_ethernet(frame));
  EXPECT_EQ(v.ether_type, kEtherTypeVlan);
  EXPECT_EQ(v.vlan_tci, 5);
}

TEST(Udp4, ReadsWhatWasWritten) {
  FrameTemplate t = sample();
  t.dscp_ecn = 0x2B;  // ECN field 3
  const Bytes ip = ip_packet(build(t, 7));
  const Udp4View v = view_of(ip);
  EXPECT_EQ(v.endpoints, t.endpoints);
  EXPECT_TRUE(v.congestion_experienced);
  EXPECT_EQ(v.payload.size(), 7u);
  EXPECT_EQ(v.payload[6], std::byte{7});
  EXPECT_EQ(v.datagram.size(), kUdpBytes + 7);
  EXPECT_TRUE(udp4_checksum_ok(v));
  t.dscp_ecn = 2;  // ECT(0): capable, nothing experienced
  EXPECT_FALSE(view_of(ip_packet(build(t))).congestion_experienced);
}

TEST(Udp4, EveryTruncationIsRefused) {
  const Bytes whole = ip_packet(build(sample()));
  for (std::size_t n = 0; n < whole.size(); ++n) {
    const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n));
    ASSERT_EQ(reason_of(cut), DropReason::frame_truncated) << n;
  }
}

TEST(Udp4, EthernetPaddingIsTrimmed) {
  Bytes ip = ip_packet(build(sample(), 3));
  ip.resize(46, std::byte{0xEE});
  const Udp4View v = view_of(ip);
  EXPECT_EQ(v.payload.size(), 3u);
  EXPECT_TRUE(udp4_checksum_ok(v));
}

TEST(Udp4, BadIpHeadersAreRefused) {
  const Bytes good = ip_packet(build(sample()));
  const auto changed = [&](std::size_t at, int value, bool seal = true) {
    Bytes ip = good;
    ip[at] = static_cast<std::byte>(value);
    if (seal) seal_ip(ip);
    return reason_of(ip);
  };
  EXPECT_EQ(changed(0, 0x65), DropReason::frame_bad_ip);      // version 6
  EXPECT_EQ(changed(0, 0x46), DropReason::frame_bad_ip);      // options
  EXPECT_EQ(changed(0, 0x44), DropReason::frame_bad_ip);      // header shorter than 20 bytes
  EXPECT_EQ(changed(3, 19), DropReason::frame_bad_ip);        // total length below its header
  EXPECT_EQ(changed(2, 0xFF), DropReason::frame_truncated);   // total length beyond the frame
  EXPECT_EQ(changed(8, 1, false), DropReason::frame_bad_ip);  // checksum
  EXPECT_EQ(changed(6, 0x20), DropReason::frame_fragment);    // more fragments
  EXPECT_EQ(changed(7, 0x01), DropReason::frame_fragment);    // offset
  EXPECT_EQ(changed(6, 0x80), DropReason::none);              // the reserved bit is not ours
}

TEST(Udp4, LyingUdpLengthsAreRefused) {
  for (const int length : {0, 7, 8, 12, 14, 255}) {  // right: 13
    Bytes ip = ip_packet(build(sample()));
    ip[25] = static_cast<std::byte>(length);
    EXPECT_EQ(reason_of(ip), DropReason::frame_bad_udp) << length;
  }
}

TEST(Udp4, IpPacketTooShortForUdpIsRefused) {
  Bytes ip = ip_packet(build(sample()));
  ip[3] = std::byte{kIpv4Bytes + 7};
  seal_ip(ip);
  EXPECT_EQ(reason_of(ip), DropReason::frame_truncated);
}

TEST(Udp4, OtherProtocolsAreNotErrors) {
  Bytes ip = ip_packet(build(sample()));
  ip[9] = std::byte{6};
  seal_ip(ip);
  const auto parsed = parse_udp4(ip);
  ASSERT_TRUE(std::holds_alternative<std::optional<Udp4View>>(parsed));
  EXPECT_FALSE(std::get<std::optional<Udp4View>>(parsed));
}

TEST(Udp4, ChecksumCoversPortsAddressesAndData) {
  const Bytes good = ip_packet(build(sample()));
  ASSERT_TRUE(udp4_checksum_ok(view_of(good)));
  for (const std::size_t at :
       {15u, 19u, 20u, 23u, 28u, 32u}) {  // addresses, ports, first and last byte
    Bytes ip = good;
    ip[at] ^= std::byte{0x10};
    seal_ip(ip);
    EXPECT_FALSE(udp4_checksum_ok(view_of(ip))) << at;
  }
}

TEST(WriteFrame, ChecksumOfZeroIsSentAsAllOnes) {
  // RFC 768: 0 means "none". Some payload word makes the sum come out as 0; find it.
  const FrameTemplate t = sample();
  for (std::uint32_t word = 0; word <= 0xFFFF; ++word) {
    Bytes frame(frame_header_bytes(t) + 2);
    frame[frame.size() - 2] = static_cast<std::byte>(word >> 8);
    frame[frame.size() - 1] = static_cast<std::byte>(word);
    ASSERT_EQ(write_frame_headers(t, frame, 2), frame.size());
    const Bytes ip = ip_packet(frame);
    const Udp4View v = view_of(ip);
    ASSERT_NE(v.checksum, 0);
    ASSERT_TRUE(udp4_checksum_ok(v)) << word;
  }
}

TEST(WriteFrame, NoChecksumWhenIntegrityIsInThePayload) {
  FrameTemplate t = sample();
  t.udp_checksum = false;
  EXPECT_EQ(view_of(ip_packet(build(t))).checksum, 0);
}

TEST(WriteFrame, GivenPayloadSumIsUsed) {
  const FrameTemplate t = sample();
  Bytes frame = build(t, 6);
  const Bytes expected = frame;
  const std::uint16_t sum = ones_complement_sum(std::span(frame).last(6));
  ASSERT_EQ(write_frame_headers(t, frame, 6, sum), frame.size());
  EXPECT_EQ(frame, expected);
}

TEST(WriteFrame, RefusesWhatDoesNotFit) {
  const FrameTemplate t = sample();
  Bytes frame(frame_header_bytes(t) + 9);
  EXPECT_EQ(write_frame_headers(t, frame, 10), 0u);
  Bytes huge(70'000);
  EXPECT_EQ(write_frame_headers(t, huge, 65'508), 0u);
  EXPECT_EQ(write_frame_headers(t, huge, 65'507), frame_header_bytes(t) + 65'507);
}

TEST(Mac, MulticastOfAGroupTakesTheLow23Bits) {
  EXPECT_EQ(multicast_mac(0xEFC30001), (MacAddress{0x01, 0, 0x5E, 0x43, 0x00, 0x01}));
  EXPECT_EQ(multicast_mac(0xE0FFFFFF), (MacAddress{0x01, 0, 0x5E, 0x7F, 0xFF, 0xFF}));
  EXPECT_TRUE(is_multicast({0x01, 0, 0, 0, 0, 0}));
  EXPECT_FALSE(is_multicast({0x02, 0, 0, 0, 0, 0}));
  EXPECT_TRUE(is_zero({}));
  EXPECT_FALSE(is_zero({0, 0, 0, 0, 0, 1}));
}

}  // namespace
}  // namespace tributary::wire
