#include "sim/check/measurements.h"

#include <gtest/gtest.h>

namespace tributary::sim {
namespace {

TEST(Measurements, PercentilesAreOfTheNearestRank) {
  std::vector<Duration> values;
  EXPECT_EQ(percentile(values, 50), Duration());
  for (int i = 1; i <= 100; ++i) values.push_back(Duration::ns(i));
  EXPECT_EQ(percentile(values, 50), Duration::ns(50));
  EXPECT_EQ(percentile(values, 99), Duration::ns(99));
  EXPECT_EQ(percentile(values, 100), Duration::ns(100));
  EXPECT_EQ(percentile(values, 0.1), Duration::ns(1));
}

// Jain, Chiu and Hawe, "A quantitative measure of fairness and discrimination" (1984).
TEST(Measurements, JainsIndexIsOneForEqualSharesAndOneInNForOne) {
  EXPECT_DOUBLE_EQ(jain_index({3, 3, 3}), 1);
  EXPECT_DOUBLE_EQ(jain_index({5, 0, 0, 0}), 0.25);
  EXPECT_DOUBLE_EQ(jain_index({1, 3}), 0.8);
  EXPECT_DOUBLE_EQ(jain_index({}), 1);
}

}  // namespace
}  // namespace tributary::sim
