#include "dataplane/telemetry/utilisation.h"

#include <gtest/gtest.h>

namespace tributary::dataplane {
namespace {

constexpr std::uint64_t kMillisecond = 1'000'000;
constexpr std::uint32_t kMbps = 1'000;
constexpr std::uint64_t kBytesOfAMillisecond = 125'000;

TEST(Utilisation, C5_IsTheShareOfThePortsCapacityOverAMillisecondOrMore) {
  Utilisation use;
  EXPECT_EQ(use.of(3, kMbps, 500, kMillisecond), telemetry::kUnknown32) << "the first look";
  EXPECT_EQ(use.of(3, kMbps, 500 + kBytesOfAMillisecond / 4, 2 * kMillisecond), 250'000u);
  EXPECT_EQ(use.of(3, kMbps, 1'000'000, 2 * kMillisecond + 1), 250'000u) << "too early";
  EXPECT_EQ(use.of(2, kMbps, 0, 3 * kMillisecond), telemetry::kUnknown32) << "another port";
  EXPECT_EQ(use.of(3, kMbps, 500 + kBytesOfAMillisecond * 3 / 4, 4 * kMillisecond), 250'000u)
      << "half a millisecond's bytes in two";
  EXPECT_EQ(use.of(3, kMbps, 100 * kBytesOfAMillisecond, 5 * kMillisecond), 1'000'000u)
      << "never more than all";
}

TEST(Utilisation, IsUnknownWhereTheCapacityIsAndStaysWhereACounterBeginsAnew) {
  Utilisation use;
  EXPECT_EQ(use.of(0, 0, 1, kMillisecond), telemetry::kUnknown32);
  use.of(0, kMbps, kBytesOfAMillisecond, 2 * kMillisecond);
  EXPECT_EQ(use.of(0, kMbps, 2 * kBytesOfAMillisecond, 4 * kMillisecond), 500'000u);
  EXPECT_EQ(use.of(0, kMbps, 0, 6 * kMillisecond), 500'000u);
  EXPECT_EQ(use.of(0, kMbps, kBytesOfAMillisecond, 7 * kMillisecond), 1'000'000u);
}

}  // namespace
}  // namespace tributary::dataplane
