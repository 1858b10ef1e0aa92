#include "core/log_histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "core/prng.h"

namespace tributary {
namespace {

using Small = LogHistogram<4, 5>;  // below 16, 32, 64, 128, and the rest

TEST(LogHistogram, ABoundBelongsToTheNextBucket) {
  EXPECT_EQ(Small::bound(0), 16u);
  EXPECT_EQ(Small::bound(3), 128u);
  Small h;
  h.add(0);
  h.add(15);
  h.add(16);
  h.add(31);
  h.add(32);
  EXPECT_EQ(h.in(0), 2u);
  EXPECT_EQ(h.in(1), 2u);
  EXPECT_EQ(h.in(2), 1u);
  EXPECT_EQ(h.in(3), 0u);
  EXPECT_EQ(h.count(), 5u);
}

TEST(LogHistogram, TheLastBucketTakesWhatIsLarger) {
  Small h;
  h.add(127);
  h.add(128);
  h.add(1'000'000);
  h.add(std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(h.in(3), 1u);
  EXPECT_EQ(h.in(4), 3u);
}

TEST(LogHistogram, PercentilesAreBoundsOrTheLargest) {
  Small h;
  for (int i = 0; i < 98; ++i) h.add(10);
  h.add(20);
  h.add(50);
  EXPECT_EQ(h.percentile(50, 50), 16u);
  EXPECT_EQ(h.percentile(98, 50), 16u);
  EXPECT_EQ(h.percentile(99, 50), 32u);
  EXPECT_EQ(h.percentile(100, 50), 50u);  // below 64, but nothing was above 50
  h.add(5000);
  EXPECT_EQ(h.percentile(100, 5000), 5000u);  // the last bucket has no bound
}

TEST(LogHistogram, AnEmptyOneHasNoPercentile) {
  EXPECT_EQ(Small().percentile(50, 0), 0u);
  EXPECT_EQ(Small().count(), 0u);
}

TEST(LogHistogram, IncludesAnother) {
  Small a;
  Small b;
  a.add(1);
  b.add(1);
  b.add(100);
  a.include(b);
  EXPECT_EQ(a.in(0), 2u);
  EXPECT_EQ(a.in(3), 1u);
  EXPECT_EQ(a.count(), 3u);
  EXPECT_EQ(b.count(), 2u);
}

// For any values, a percentile is at least the true one and less than twice that, where buckets
// have bounds.
TEST(LogHistogram, APercentileIsRightWithinAFactorOfTwo) {
  constexpr std::uint64_t kSeed = 7;
  SCOPED_TRACE(kSeed);
  Prng random(kSeed);
  LogHistogram<4, 40> h;
  std::vector<std::uint64_t> values;
  for (int i = 0; i < 1000; ++i) {
    values.push_back((random.next() >> 28) >> random.below(32));
    h.add(values.back());
  }
  std::sort(values.begin(), values.end());
  for (const std::uint64_t percent : {1u, 10u, 50u, 90u, 99u, 100u}) {
    const std::uint64_t exact = values[(values.size() * percent + 99) / 100 - 1];
    const std::uint64_t told = h.percentile(percent, values.back());
    EXPECT_GE(told, exact) << percent;
    EXPECT_LE(told, std::max<std::uint64_t>(16, 2 * exact)) << percent;
  }
}

// 2^5 buckets for each doubling: within 1/32, and exact below 64.
TEST(LogHistogram, SubBucketsMakeItFiner) {
  using Fine = LogHistogram<5, (36 << 5), 5>;
  EXPECT_EQ(Fine::bound(0), 1u);
  EXPECT_EQ(Fine::bound(63), 64u);
  EXPECT_EQ(Fine::bound(64), 66u);
  for (std::uint64_t value = 1; value < 500'000'000'000; value = value * 5 / 4 + 1) {
    Fine h;
    h.add(value);
    const std::uint64_t told = h.percentile(50, ~std::uint64_t{0});
    EXPECT_GT(told, value);
    EXPECT_LE(told, value + value / 32 + 1);
  }
}

}  // namespace
}  // namespace tributary
