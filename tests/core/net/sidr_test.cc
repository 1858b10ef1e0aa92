#include "core/net/sidr.h"

#include <gtest/gtest.h>

#include <vector>

namespace tributary::wire {
namespace {

using Bytes = std::vector<std::byte>;

void put(Bytes& bytes, std::size_t at, std::initializer_list<int> values) {
  for (const int value : values) bytes.at(at++) = static_cast<std::byte>(value);
}

// Field positions of IBA volume 1, tables 119 and 120, written out independently of the code.
Bytes request() {
  Bytes mad(kMadBytes);
  put(mad, 0, {1, 7, 2, 3});                        // base version, class, class version, method
  put(mad, 8, {1, 2, 3, 4, 5, 6, 7, 8});            // transaction
  put(mad, 16, {0, 0x17});                          // SIDR_REQ
  put(mad, 24, {0xA, 0xB, 0xC, 0xD});               // request id
  put(mad, 28, {0xFF, 0xFF});                       // P_Key
  put(mad, 32, {0, 0, 0, 0, 1, 0x11, 0xB7, 0x98});  // RDMA_PS_UDP, port 47000
  put(mad, 40, {0, 0x40});                          // librdmacm's header: version 0, IPv4
  put(mad, 76, {'T', 'R', 'B', '1', 0, 0, 0, 5, 0, 0, 0, 3});
  return mad;
}

TEST(Sidr, ReadsARequest) {
  const Bytes mad = request();
  SidrRequest r;
  ASSERT_EQ(parse_sidr_request(mad, r), DropReason::none);
  EXPECT_EQ(r.transaction, 0x0102030405060708u);
  EXPECT_EQ(r.id, 0x0A0B0C0Du);
  EXPECT_EQ(r.service, rdma_cm_service(47000));
  RankRequest rank;
  ASSERT_TRUE(parse_rank_request(r.data, rank));
  EXPECT_EQ(rank.job, 5u);
  EXPECT_EQ(rank.rank, 3u);
  const auto written = write_rank_request(rank);
  EXPECT_TRUE(std::equal(written.begin(), written.end(), mad.begin() + 76));
}

TEST(Sidr, WritesAReply) {
  const std::array<std::byte, 2> data = {std::byte{0x55}, std::byte{0x66}};
  const auto mad = write_sidr_reply({.transaction = 0x0102030405060708,
                                     .id = 0x0A0B0C0D,
                                     .status = SidrStatus::rejected,
                                     .qpn = 0x800005,
                                     .service = rdma_cm_service(47000),
                                     .qkey = kRdmaCmQkey,
                                     .data = data});
  Bytes expected(kMadBytes);
  put(expected, 0, {1, 7, 2, 3});
  put(expected, 8, {1, 2, 3, 4, 5, 6, 7, 8});
  put(expected, 16, {0, 0x18});
  put(expected, 24, {0xA, 0xB, 0xC, 0xD, 2});
  put(expected, 32, {0x80, 0, 5});
  put(expected, 36, {0, 0, 0, 0, 1, 0x11, 0xB7, 0x98});
  put(expected, 44, {1, 0x23, 0x45, 0x67});
  put(expected, 120, {0x55, 0x66});
  EXPECT_EQ(Bytes(mad.begin(), mad.end()), expected);
}

TEST(Sidr, RefusesWhatBreaksTheRules) {
  SidrRequest r;
  const Bytes good = request();
  for (std::size_t length = 0; length < kMadBytes; ++length)
    EXPECT_EQ(parse_sidr_request(std::span(good).first(length), r), DropReason::cm_malformed);
  for (const std::size_t at : {0u, 1u, 2u, 3u, 40u, 41u}) {
    Bytes bad = good;
    bad[at] ^= std::byte{0x20};
    EXPECT_EQ(parse_sidr_request(bad, r), DropReason::cm_malformed) << "byte " << at;
  }
  Bytes other = good;
  other[17] = std::byte{0x10};
  EXPECT_EQ(parse_sidr_request(other, r), DropReason::unhandled)
      << "REQ, of a connected queue pair";
}

TEST(Sidr, RefusesAnotherProgramsPrivateData) {
  RankRequest rank;
  EXPECT_FALSE(parse_rank_request({}, rank));
  const auto good = write_rank_request({1, 2});
  EXPECT_FALSE(parse_rank_request(std::span(good).first(good.size() - 1), rank));
  auto bad = good;
  bad[0] ^= std::byte{1};
  EXPECT_FALSE(parse_rank_request(bad, rank));
}

}  // namespace
}  // namespace tributary::wire
