#include "core/net/byte_order.h"

#include <gtest/gtest.h>

#include <cstring>

namespace tributary::wire {
namespace {

TEST(BigEndian, MostSignificantByteComesFirst) {
  const be32 v = 0x01020304u;
  std::array<std::uint8_t, 4> bytes{};
  std::memcpy(bytes.data(), &v, sizeof v);
  EXPECT_EQ(bytes, (std::array<std::uint8_t, 4>{1, 2, 3, 4}));
}

TEST(BigEndian, ReadsBackWhatWasWritten) {
  for (const std::uint64_t v : {0ull, 1ull, 0x8000000000000000ull, ~0ull, 0x0123456789ABCDEFull}) {
    EXPECT_EQ(be64(v), v);
    EXPECT_EQ(be32(static_cast<std::uint32_t>(v)), static_cast<std::uint32_t>(v));
    EXPECT_EQ(be16(static_cast<std::uint16_t>(v)), static_cast<std::uint16_t>(v));
  }
  EXPECT_EQ(be16(), 0u);
}

}  // namespace
}  // namespace tributary::wire
