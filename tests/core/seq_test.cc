#include "core/seq.h"

#include <gtest/gtest.h>

namespace tributary {
namespace {

TEST(Seq, OrdersAcrossTheWrap) {
  EXPECT_EQ(seq_diff(3, 0xFFFFFFFE), 5);
  EXPECT_EQ(seq_diff(0xFFFFFFFE, 3), -5);
  EXPECT_TRUE(seq_before(0xFFFFFFFF, 0));
  EXPECT_FALSE(seq_before(0, 0xFFFFFFFF));
  EXPECT_TRUE(seq_at_or_after(0, 0xFFFFFFFF));
}

TEST(Seq, EqualIsAtOrAfterAndNotBefore) {
  for (const std::uint32_t s : {0u, 1u, 0x7FFFFFFFu, 0x80000000u, 0xFFFFFFFFu}) {
    EXPECT_FALSE(seq_before(s, s));
    EXPECT_TRUE(seq_at_or_after(s, s));
  }
}

TEST(Seq, HoldsUpToHalfTheCircle) {
  EXPECT_TRUE(seq_before(0, 0x7FFFFFFF));
  EXPECT_TRUE(seq_before(0x90000000, 0x90000000u + 0x7FFFFFFF));
}

}  // namespace
}  // namespace tributary
