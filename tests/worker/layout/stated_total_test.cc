#include "worker/layout/stated_total.h"

#include <gtest/gtest.h>

namespace tributary::layout {
namespace {

TEST(StatedTotal, WithoutAnAddressIsTheNumberOfElements) {
  EXPECT_EQ(number_of({1000, {}}), 1000u);
  EXPECT_EQ(total_of(1000), (StatedTotal{1000, {}}));
}

TEST(StatedTotal, A3_KeepsBothNumbers) {
  constexpr std::uint64_t kMostElements = 0xFFFFFFFF;
  for (const std::uint32_t address : {0u, 1u, 0x3000u, 0x7FFFFFFFu})
    for (const std::uint64_t elements : {std::uint64_t{0}, std::uint64_t{7}, kMostElements}) {
      const StatedTotal total{elements, address};
      EXPECT_EQ(total_of(number_of(total)), total);
    }
}

// Switches take 0 for a rank that states nothing.
TEST(StatedTotal, A3_IsNeverZeroWithAnAddress) {
  EXPECT_NE(number_of({0, 0u}), 0u);
  EXPECT_NE(number_of({0, 0u}), number_of({0, 1u}));
}

}  // namespace
}  // namespace tributary::layout
