#include "tools/loadgen/histogram.h"

#include <gtest/gtest.h>

namespace tributary::loadgen {
namespace {

TEST(Histogram, EmptyIsZero) {
  const Histogram h;
  EXPECT_EQ(h.percentile(0.5), Duration());
  EXPECT_EQ(h.max(), Duration());
}

TEST(Histogram, SmallValuesAreExact) {
  Histogram h;
  for (int ns = 1; ns <= 60; ++ns) h.add(Duration::ns(ns));
  EXPECT_EQ(h.percentile(0.5), Duration::ns(30));
  EXPECT_EQ(h.percentile(1), Duration::ns(60));
  EXPECT_EQ(h.count(), 60u);
}

TEST(Histogram, LargeOnesAreWithinOneIn32AndNeverBelow) {
  for (std::int64_t ns = 1; ns < 1'000'000'000'000; ns = ns * 5 / 4 + 1) {
    Histogram h;
    h.add(Duration::ns(ns));
    h.add(Duration::seconds(1'000));
    const std::int64_t got = h.percentile(0.5).to_ns();
    EXPECT_GE(got, ns);
    EXPECT_LE(got, ns + ns / 32 + 1);
  }
}

TEST(Histogram, TheLargestIsExactAndBoundsThePercentiles) {
  Histogram h;
  h.add(Duration::ns(1'000'003));
  EXPECT_EQ(h.max(), Duration::ns(1'000'003));
  EXPECT_EQ(h.percentile(0.999), Duration::ns(1'000'003));
  h.add(Duration::seconds(100'000));  // beyond the last bucket
  EXPECT_EQ(h.max(), Duration::seconds(100'000));
}

TEST(Histogram, PercentilesCountFromBelow) {
  Histogram h;
  for (int i = 0; i < 999; ++i) h.add(Duration::us(10));
  h.add(Duration::ms(10));
  EXPECT_LT(h.percentile(0.99), Duration::us(11));
  EXPECT_LT(h.percentile(0.999), Duration::us(11));
  EXPECT_EQ(h.percentile(1), Duration::ms(10));
}

TEST(Histogram, Adds) {
  Histogram a;
  Histogram b;
  a.add(Duration::ns(5));
  b.add(Duration::ns(20));
  a.add(b);
  EXPECT_EQ(a.count(), 2u);
  EXPECT_EQ(a.percentile(0.5), Duration::ns(5));
  EXPECT_EQ(a.max(), Duration::ns(20));
}

}  // namespace
}  // namespace tributary::loadgen
