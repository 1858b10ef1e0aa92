#include "core/prng.h"

#include <gtest/gtest.h>

#include <array>

namespace tributary {
namespace {

// Reference values: the published algorithms, evaluated with arbitrary-precision integers.
TEST(Prng, StreamOfASeedIsTheSameEverywhere) {
  Prng p(42);
  EXPECT_EQ(p.next(), 0x15780b2e0c2ec716u);
  EXPECT_EQ(p.next(), 0x6104d9866d113a7eu);
  EXPECT_EQ(p.next(), 0xae17533239e499a1u);
  Prng zero(0);
  EXPECT_EQ(zero.next(), 0x99ec5f36cb75f2b4u);
}

TEST(Prng, BelowStaysBelowAndReachesEveryValue) {
  Prng p(1);
  std::array<int, 7> seen{};
  for (int i = 0; i < 7000; ++i) {
    const std::uint32_t v = p.below(7);
    ASSERT_LT(v, 7u);
    ++seen[v];
  }
  for (const int n : seen) EXPECT_NEAR(n, 1000, 150);
  EXPECT_EQ(p.below(0), 0u);
  EXPECT_EQ(p.below(1), 0u);
}

TEST(Prng, ChanceHitsItsRate) {
  Prng p(2);
  int hits = 0;
  for (int i = 0; i < 100'000; ++i) hits += p.chance_ppm(10'000) ? 1 : 0;
  EXPECT_NEAR(hits, 1000, 150);
  EXPECT_FALSE(p.chance_ppm(0));
  EXPECT_TRUE(p.chance_ppm(1'000'000));
}

}  // namespace
}  // namespace tributary
