#include "core/net/window_terms.h"

#include <gtest/gtest.h>

namespace tributary::wire {
namespace {

TEST(WindowTerms, ARequestReadsAsItWasWritten) {
  const WindowRequest sent{.job = 5,
                           .rank = 3,
                           .ring_address = 0x0102030405060708,
                           .ring_rkey = 0x11223344,
                           .op_bytes = 1 << 20,
                           .dtype = 3,
                           .reduce_op = 1,
                           .ops = 16};
  const auto bytes = write_window_request(sent);
  EXPECT_EQ(bytes[0], std::byte{'T'});
  EXPECT_EQ(bytes[12], std::byte{1}) << "big-endian";
  EXPECT_EQ(bytes[28], std::byte{3});
  EXPECT_EQ(bytes[31], std::byte{16});
  WindowRequest read;
  ASSERT_TRUE(parse_window_request(bytes, read));
  EXPECT_EQ(read.job, sent.job);
  EXPECT_EQ(read.rank, sent.rank);
  EXPECT_EQ(read.ring_address, sent.ring_address);
  EXPECT_EQ(read.ring_rkey, sent.ring_rkey);
  EXPECT_EQ(read.op_bytes, sent.op_bytes);
  EXPECT_EQ(read.dtype, sent.dtype);
  EXPECT_EQ(read.reduce_op, sent.reduce_op);
  EXPECT_EQ(read.ops, sent.ops);
  EXPECT_FALSE(parse_window_request(std::span(bytes).first(31), read));
}

TEST(WindowTerms, AGrantReadsAsItWasWritten) {
  const auto bytes = write_window_grant({0x55667788, 0x0500000000, 2, 2048});
  WindowGrant read;
  ASSERT_TRUE(parse_window_grant(bytes, read));
  EXPECT_EQ(read.rkey, 0x55667788u);
  EXPECT_EQ(read.address, 0x0500000000u);
  EXPECT_EQ(read.ops, 2u);
  EXPECT_EQ(read.chunk_bytes, 2048u);
  auto strange = bytes;
  strange[3] = std::byte{'1'};
  EXPECT_FALSE(parse_window_grant(strange, read));
}

}  // namespace
}  // namespace tributary::wire
