// `tributary bench allreduce` without its command line: the sizes, the figures, the checks.
#include "tools/client/collective/bench.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/client/fake_job.h"

namespace tributary::client {
namespace {

using testing::ElementsAre;

BenchOptions options_of(std::uint32_t size) {
  BenchOptions options;
  options.job.size = size;
  options.min_bytes = 64;
  options.max_bytes = 1024;
  options.iterations = 3;
  options.warmup = 2;
  return options;
}

std::vector<BenchRow> run(const BenchOptions& options, FakeJob& job, int* reports = nullptr) {
  return run_bench(
      options,
      [&](const BenchRow&) {
        if (reports != nullptr) ++*reports;
      },
      [&](const CommunicatorOptions& o) { return job.create(o); });
}

TEST(Sweep, GoesUpByTheFactorWithinTheRange) {
  BenchOptions options = options_of(2);
  EXPECT_THAT(sweep(options), ElementsAre(64, 256, 1024));
  options.factor = 3;
  EXPECT_THAT(sweep(options), ElementsAre(64, 192, 576));
  options.max_bytes = 64;
  EXPECT_THAT(sweep(options), ElementsAre(64));
  options.min_bytes = std::uint64_t{1} << 63;
  options.max_bytes = ~std::uint64_t{0};
  EXPECT_THAT(sweep(options), ElementsAre(std::uint64_t{1} << 63));
}

TEST(Sweep, RefusesRangesWithoutWholeElements) {
  BenchOptions options = options_of(2);
  options.min_bytes = 2;
  EXPECT_THROW((void)sweep(options), std::invalid_argument);
  options.min_bytes = 66;
  EXPECT_THROW((void)sweep(options), std::invalid_argument);
  options.min_bytes = 2048;
  EXPECT_THROW((void)sweep(options), std::invalid_argument);
}

// nccl-tests, doc/PERFORMANCE.md: algbw = size / time, busbw = algbw × 2 (n − 1) / n.
TEST(Figures, AreThoseOfNcclTests) {
  const BenchRow row = summarise(8'000'000, 2'000'000, 4, {3000, 1000, 2000, 10'000}, 5);
  EXPECT_DOUBLE_EQ(row.mean_us, 4000);
  EXPECT_DOUBLE_EQ(row.median_us, 2500);
  EXPECT_DOUBLE_EQ(row.min_us, 1000);
  EXPECT_DOUBLE_EQ(row.max_us, 10'000);
  EXPECT_DOUBLE_EQ(row.algbw_gbps, 2.0);
  EXPECT_DOUBLE_EQ(row.busbw_gbps, 3.0);
  EXPECT_EQ(row.wrong, 5u);
  EXPECT_DOUBLE_EQ(summarise(8, 2, 2, {3, 1, 2}, 0).median_us, 2);
}

TEST(Bench, ReportsEachSizeOnce) {
  FakeJob job(3);
  int reports = 0;
  const auto rows = run(options_of(3), job, &reports);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(reports, 3);
  EXPECT_EQ(rows[2].bytes, 1024u);
  EXPECT_EQ(rows[2].count, 256u);
  for (const BenchRow& row : rows) EXPECT_EQ(row.wrong, 0u);
}

// Ops of a size: 2 for warm-up, 3 measured, 1 that adds up the wrong elements. Whichever rank and
// iteration goes wrong, warm-up included, the reporting rank says so.
TEST(Bench, CountsWrongElementsOfEveryRankAndIteration) {
  for (const auto& [rank, op, size] : {std::tuple(2u, 0, 0), {1u, 4, 0}, {0u, 8, 1}, {2u, 16, 2}}) {
    FakeJob job(3);
    job.corrupt(rank, op);
    const auto rows = run(options_of(3), job);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(rows.at(i).wrong, i == size ? 1u : 0u) << op;
  }
}

}  // namespace
}  // namespace tributary::client
