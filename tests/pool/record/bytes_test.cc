// Bounds of what is read.
#include "pool/record/bytes.h"

#include <gtest/gtest.h>

namespace tributary::pool {
namespace {

TEST(PoolBytes, ReadsWhatWasWritten) {
  ByteWriter out;
  out.number(std::uint16_t{0x1234});
  out.text("pool");
  out.number(std::uint64_t{7});
  ByteReader in(out.bytes());
  EXPECT_EQ(in.number<std::uint16_t>(), 0x1234);
  EXPECT_EQ(in.text(4), "pool");
  EXPECT_EQ(in.number<std::uint64_t>(), 7u);
  EXPECT_TRUE(in.done());
  EXPECT_EQ(out.bytes()[0], std::byte{0x34}) << "little endian";
}

TEST(PoolBytes, TheEndIsNoticedAndStays) {
  ByteWriter out;
  out.number(std::uint32_t{5});
  ByteReader in(out.bytes());
  EXPECT_EQ(in.text(100), "") << "five bytes that are not there";
  EXPECT_FALSE(in.good());
  EXPECT_EQ(in.number<std::uint8_t>(), 0);
  EXPECT_FALSE(in.done());
}

TEST(PoolBytes, LongerTextThanAllowedIsRefused) {
  ByteWriter out;
  out.text("pool");
  ByteReader in(out.bytes());
  EXPECT_EQ(in.text(3), "");
  EXPECT_FALSE(in.good());
}

}  // namespace
}  // namespace tributary::pool
