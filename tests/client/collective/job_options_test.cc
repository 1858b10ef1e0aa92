// Sizes, types and ranks as the command line gives them.
#include "tools/client/collective/job_options.h"

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
  EXPECT_THROW(check_job_options(options), cli::UsageError);
}

TEST(JobOptions, TypesAndOperationsByTheirNames) {
  wire::DType dtype = wire::DType::float32;
  wire::ReduceOp op = wire::ReduceOp::sum;
  cli::App app("");
  add_dtype_option(app, dtype);
  add_op_option(app, op);
  wire::Collective collective = wire::Collective::allreduce;
  add_collective_option(app, collective);
  app.parse("--collective reduce_scatter");
  EXPECT_EQ(collective, wire::Collective::reduce_scatter);
  EXPECT_THROW(app.parse("--collective barrier"), cli::UsageError);
  for (std::uint8_t d = 1; d <= wire::kDTypeMax; ++d) {
    app.parse(std::string("--dtype ") + wire::name_of(static_cast<wire::DType>(d)));
    EXPECT_EQ(dtype, static_cast<wire::DType>(d));
  }
  for (std::uint8_t o = 1; o <= wire::kReduceOpMax; ++o) {
    app.parse(std::string("--op ") + wire::name_of(static_cast<wire::ReduceOp>(o)));
    EXPECT_EQ(op, static_cast<wire::ReduceOp>(o));
  }
  EXPECT_THROW(app.parse("--dtype none"), cli::UsageError);
  EXPECT_THROW(app.parse("--dtype complex64"), cli::UsageError);
  EXPECT_THROW(app.parse("--op avg"), cli::UsageError);
}

}  // namespace
}  // namespace tributary::client
