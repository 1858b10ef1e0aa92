// IPv4 fragments: what is read from a header, and what is written into one.
#include "core/net/fragment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/net/checksum.h"
#include "core/net/read.h"

namespace tributary::wire {
namespace {

using Bytes = std::vector<std::byte>;

// 10.0.0.1 to 10.0.0.2, DF, ECN-capable, so many payload bytes that count up.
Bytes packet_of(std::size_t payload, unsigned flags_offset = 0x4000) {
  Bytes packet(kIpv4Bytes + payload);
  const auto put = [&](std::size_t at, std::initializer_list<unsigned> bytes) {
    for (const unsigned b : bytes) packet[at++] = static_cast<std::byte>(b);
  };
  put(0, {0x45,
          0x02,
          static_cast<unsigned>(packet.size() >> 8),
          static_cast<unsigned>(packet.size() & 0xFF),
          0x12,
          0x34,
          flags_offset >> 8,
          flags_offset & 0xFF,
          64,
          17,
          0,
          0,
          10,
          0,
          0,
          1,
          10,
          0,
          0,
          2});
  const auto sum =
      static_cast<std::uint16_t>(~ones_complement_sum(std::span(packet).first(kIpv4Bytes)));
  std::memcpy(&packet[10], &sum, sizeof sum);
  for (std::size_t i = 0; i < payload; ++i)
    packet[kIpv4Bytes + i] = static_cast<std::byte>(i * 7 + i / 256);
  return packet;
}

std::vector<Bytes> cut(const Bytes& packet, std::size_t mtu, std::uint16_t id) {
  std::vector<Bytes> out;
  const std::size_t payload = packet.size() - kIpv4Bytes;
  for (std::size_t at = 0; at < payload; at += fragment_bytes(mtu)) {
    Bytes piece(mtu);
    piece.resize(
        write_fragment4(packet, id, at, std::min(fragment_bytes(mtu), payload - at), piece));
    out.push_back(piece);
  }
  return out;
}

TEST(Fragment, IsWhatHasAnOffsetOrOthersBehindIt) {
  EXPECT_FALSE(is_fragment4(packet_of(64)));
  EXPECT_TRUE(is_fragment4(packet_of(64, 0x2000)));
  EXPECT_TRUE(is_fragment4(packet_of(64, 0x0001)));
  EXPECT_FALSE(is_fragment4(Bytes(kIpv4Bytes - 1, std::byte{0xFF})));
  Fragment4View view;
  EXPECT_EQ(parse_fragment4(packet_of(64), view), DropReason::unhandled);
}

TEST(Fragment, HeaderIsReadAndPaddingIsNot) {
  Bytes packet = packet_of(64, 0x2000 | 185);
  packet.resize(packet.size() + 10);
  Fragment4View view;
  ASSERT_EQ(parse_fragment4(packet, view), DropReason::none);
  EXPECT_EQ(view.source_ip, 0x0A000001u);
  EXPECT_EQ(view.destination_ip, 0x0A000002u);
  EXPECT_EQ(view.id, 0x1234);
  EXPECT_EQ(view.protocol, 17);
  EXPECT_EQ(view.offset, 1480u);
  EXPECT_TRUE(view.more);
  EXPECT_FALSE(view.congestion_experienced);
  EXPECT_EQ(view.payload.size(), 64u);
}

TEST(Fragment, BadHeadersAreRefused) {
  Fragment4View view;
  const auto refused = [&](auto change) {
    Bytes packet = packet_of(64, 0x2000);
    change(packet);
    return parse_fragment4(packet, view);
  };
  EXPECT_EQ(refused([](Bytes& p) { p.resize(19); }), DropReason::frame_truncated);
  EXPECT_EQ(refused([](Bytes& p) { p.resize(p.size() - 1); }), DropReason::frame_truncated);
  EXPECT_EQ(refused([](Bytes& p) { p[0] = std::byte{0x46}; }), DropReason::frame_bad_ip);
  EXPECT_EQ(refused([](Bytes& p) { p[3] = std::byte{19}; }), DropReason::frame_bad_ip);
  EXPECT_EQ(refused([](Bytes& p) { p[8] ^= std::byte{1}; }), DropReason::frame_bad_ip);
}

TEST(Fragment, OfAPacketFitTheMtuAndSayWhereTheyBelong) {
  EXPECT_EQ(fragment_bytes(1500), 1480u);
  EXPECT_EQ(fragment_bytes(1499), 1472u);
  EXPECT_EQ(fragment_bytes(27), 0u);
  EXPECT_EQ(fragment_bytes(19), 0u);
  const Bytes packet = packet_of(3001);
  const auto pieces = cut(packet, 1500, 0xBEEF);
  ASSERT_EQ(pieces.size(), 3u);
  std::size_t offset = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    Fragment4View view;
    ASSERT_EQ(parse_fragment4(pieces[i], view), DropReason::none);
    EXPECT_EQ(view.offset, offset);
    EXPECT_EQ(view.id, 0xBEEF);
    EXPECT_EQ(view.more, i != 2);
    EXPECT_EQ(u16(pieces[i], 6) & 0x4000, 0) << "a fragment may be cut again";
    EXPECT_TRUE(std::equal(view.payload.begin(), view.payload.end(),
                           packet.begin() + static_cast<long>(kIpv4Bytes + offset)));
    offset += view.payload.size();
  }
  EXPECT_EQ(offset, 3001u);
}

TEST(Fragment, OnlyWholePacketsAreCut) {
  Bytes packet = packet_of(64);
  EXPECT_TRUE(may_be_cut(packet));
  EXPECT_FALSE(may_be_cut(packet_of(64, 0x2000)));
  packet.push_back({});
  EXPECT_FALSE(may_be_cut(packet)) << "padding would become data";
  EXPECT_FALSE(may_be_cut({}));
}

TEST(Fragment, JoinedTheyAreThePacketAgain) {
  const Bytes packet = packet_of(3001);
  const auto pieces = cut(packet, 1500, 9);
  for (const bool congestion : {false, true}) {
    Bytes joined = packet;
    std::copy_n(pieces[0].begin(), kIpv4Bytes, joined.begin());
    join_fragments4(joined, congestion);
    EXPECT_TRUE(may_be_cut(joined));
    EXPECT_EQ(u16(joined, 2), packet.size());
    EXPECT_EQ(u8(joined, 1) & 3, congestion ? 3 : 2);
  }
}

// RFC 3168, section 5.3.
TEST(Fragment, NobodyIsMarkedWhoDoesNotListen) {
  Bytes packet = packet_of(64, 0x2000);
  packet[1] = {};
  join_fragments4(packet, true);
  EXPECT_EQ(u8(packet, 1), 0);
}

}  // namespace
}  // namespace tributary::wire
