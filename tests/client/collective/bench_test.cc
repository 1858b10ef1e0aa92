// `tributary bench` without its command line: the sizes, the figures, the checks.
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
  options = options_of(3);
  options.collective = wire::Collective::all_gather;
  EXPECT_THROW((void)sweep(options), std::invalid_argument) << "64 is no multiple of 3 x 4";
  options.min_bytes = 48;
  EXPECT_THAT(sweep(options), ElementsAre(48, 192, 768));
}

// nccl-tests, doc/PERFORMANCE.md: algbw = size / time, busbw = algbw × 2 (n − 1) / n.
TEST(Figures, AreThoseOfNcclTests) {
  using wire::Collective;
  const BenchFigures row =
      summarise(Collective::allreduce, 8'000'000, 4, {3000, 1000, 2000, 10'000}, 5);
  EXPECT_DOUBLE_EQ(row.mean_us, 4000);
  EXPECT_DOUBLE_EQ(row.median_us, 2500);
  EXPECT_DOUBLE_EQ(row.min_us, 1000);
  EXPECT_DOUBLE_EQ(row.max_us, 10'000);
  EXPECT_DOUBLE_EQ(row.algbw_gbps, 2.0);
  EXPECT_DOUBLE_EQ(row.busbw_gbps, 3.0);
  EXPECT_EQ(row.wrong, 5u);
  EXPECT_DOUBLE_EQ(summarise(Collective::reduce, 8, 2, {3, 1, 2}, 0).median_us, 2);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::all_gather, 4), 0.75);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::reduce_scatter, 8), 0.875);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::broadcast, 4), 1);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::reduce, 4), 1);
}

TEST(Bench, ReportsEachSizeOnce) {
  FakeJob job(3);
  int reports = 0;
  const auto rows = run(options_of(3), job, &reports);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(reports, 3);
  EXPECT_EQ(rows[2].bytes, 1024u);
  EXPECT_EQ(rows[2].count, 256u);
  for (const BenchRow& row : rows) {
    EXPECT_EQ(row.in_place.value().wrong, 0u);
    EXPECT_FALSE(row.out_of_place) << "the library sums in place";
  }
}

TEST(Bench, EveryCollectiveIsMeasuredWhereItsDataMayBe) {
  using wire::Collective;
  for (const auto& [collective, out, in] : {std::tuple(Collective::reduce, false, true),
                                            {Collective::broadcast, false, true},
                                            {Collective::all_gather, true, true},
                                            {Collective::reduce_scatter, true, true},
                                            {Collective::barrier, true, false}}) {
    FakeJob job(4);
    BenchOptions options = options_of(4);
    options.collective = collective;
    options.root = 3;
    const auto rows = run(options, job);
    const bool parts = out && in;
    ASSERT_EQ(rows.size(), collective == Collective::barrier ? 1u : 3u);
    EXPECT_EQ(rows.back().count, collective == Collective::barrier ? 0u : parts ? 64u : 256u);
    for (const BenchRow& row : rows) {
      EXPECT_EQ(row.out_of_place.has_value(), out);
      EXPECT_EQ(row.in_place.has_value(), in);
      for (const auto& figures : {row.out_of_place, row.in_place})
        EXPECT_EQ(figures.value_or(BenchFigures{}).wrong, 0u) << wire::name_of(collective);
    }
  }
}

TEST(Bench, CountsWrongElementsOfBothPlaces) {
  for (const int op : {1, 7}) {  // 2 for warm-up, 3 measured, 1 sum; then in place
    FakeJob job(4);
    BenchOptions options = options_of(4);
    options.collective = wire::Collective::all_gather;
    job.corrupt(2, op);
    const auto rows = run(options, job);
    EXPECT_EQ(rows[0].out_of_place.value().wrong, op == 1 ? 1u : 0u);
    EXPECT_EQ(rows[0].in_place.value().wrong, op == 7 ? 1u : 0u);
  }
}

// Ops of a size: 2 for warm-up, 3 measured, 1 that adds up the wrong elements. Whichever rank and
// iteration goes wrong, warm-up included, the reporting rank says so.
TEST(Bench, CountsWrongElementsOfEveryRankAndIteration) {
  for (const auto& [rank, op, size] : {std::tuple(2u, 0, 0), {1u, 4, 0}, {0u, 8, 1}, {2u, 16, 2}}) {
    FakeJob job(3);
    job.corrupt(rank, op);
    const auto rows = run(options_of(3), job);
    for (int i = 0; i < 3; ++i)
      EXPECT_EQ(rows.at(i).in_place.value().wrong, i == size ? 1u : 0u) << op;
  }
}

}  // namespace
}  // namespace tributary::client
