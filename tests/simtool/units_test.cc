#include "tools/sim/units.h"

#include <gtest/gtest.h>

namespace tributary::simtool {
namespace {

TEST(Units, KeepThreeOrFourDigits) {
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(64.0 * 1024 * 1024), "64 MiB");
  EXPECT_EQ(bytes_text(1536), "1.500 KiB");
  EXPECT_EQ(time_text(Duration::us(1500)), "1.500 ms");
  EXPECT_EQ(time_text(Duration::seconds(3600)), "3600 s");
  EXPECT_EQ(rate_text(12.5e9), "100 Gbit/s");
  EXPECT_EQ(count_text(67'108'864), "67,108,864");
  EXPECT_EQ(count_text(999), "999");
}

}  // namespace
}  // namespace tributary::simtool
