// Sizes, types and ranks as the command line gives them.
#include "tools/client/job_options.h"

#include <gtest/gtest.h>

namespace tributary::client {
namespace {

TEST(Size, ReadsPowersOf1024) {
  EXPECT_EQ(parse_size("0"), 0u);
  EXPECT_EQ(parse_size("4096"), 4096u);
  EXPECT_EQ(parse_size("1K"), 1024u);
  EXPECT_EQ(parse_size("64k"), 65536u);
  EXPECT_EQ(parse_size("16M"), 16u << 20);
  EXPECT_EQ(parse_size("2G"), 2ull << 30);
  EXPECT_EQ(parse_size("18446744073709551615"), ~0ull);
}

TEST(Size, RefusesTheRest) {
  for (const char* bad : {"", "K", "-1", "+1", "1.5M", "1KB", "1KiB", "1 K", "0x10", "1T",
                          "18446744073709551616", "17179869184G"})
    EXPECT_FALSE(parse_size(bad)) << bad;
}

TEST(JobOptions, RankIsBelowSize) {
  JobOptions options;
  options.size = 4;
  check_job_options(options);
  options.rank = 3;
  check_job_options(options);
  options.rank = 4;
  EXPECT_THROW(check_job_options(options), CLI::ValidationError);
}

TEST(JobOptions, DtypesAreThoseOfTheSwitch) {
  EXPECT_EQ(dtype_option("float32"), wire::DType::float32);
  EXPECT_EQ(dtype_option("int32"), wire::DType::int32);
  EXPECT_THROW((void)dtype_option("float64"), CLI::ValidationError);
}

}  // namespace
}  // namespace tributary::client
