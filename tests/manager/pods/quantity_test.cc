#include "manager/pods/quantity.h"

#include <gtest/gtest.h>

namespace tributary::manager {
namespace {

TEST(Quantity, CpusAreThousandths) {
  EXPECT_EQ(parse_cpu_millis("500m"), 500u);
  EXPECT_EQ(parse_cpu_millis("2"), 2000u);
  EXPECT_EQ(parse_cpu_millis("0.5"), 500u);
  EXPECT_EQ(parse_cpu_millis("0.0001"), 1u);
  for (const char* bad : {"", "m", "-1", "1e3", "nan", "inf", "0x1", "1 ", "2000000", "1Gi", "-0"})
    EXPECT_EQ(parse_cpu_millis(bad), std::nullopt) << bad;
}

TEST(Quantity, BytesHaveBothSortsOfSuffixes) {
  EXPECT_EQ(parse_bytes("64Mi"), 64u << 20);
  EXPECT_EQ(parse_bytes("8G"), 8'000'000'000u);
  EXPECT_EQ(parse_bytes("1.5Ki"), 1536u);
  EXPECT_EQ(parse_bytes("100"), 100u);
  for (const char* bad : {"", "Gi", "-1Gi", "8gi", "1KiB", "2000000Pi", "1Ki "})
    EXPECT_EQ(parse_bytes(bad), std::nullopt) << bad;
}

TEST(Quantity, AreWrittenInTheLargestUnit) {
  EXPECT_EQ(format_bytes(0), "0");
  EXPECT_EQ(format_bytes(1000), "1000");
  EXPECT_EQ(format_bytes(8ull << 30), "8Gi");
  EXPECT_EQ(format_bytes(1536), "1536");
}

}  // namespace
}  // namespace tributary::manager
