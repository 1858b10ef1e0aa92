// The table of `tributary bench`: nccl-tests' columns, the note on bus bandwidth, stages, JSON.
#include "tools/client/collective/bench_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace tributary::client {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using wire::Collective;

BenchFigures figures() {
  BenchFigures out;
  out.mean_us = 12.5;
  out.algbw_gbps = 2;
  out.busbw_gbps = 3;
  out.wrong = 4;
  out.stages = {20'000, 30'000, 40'000, 50'000, 60'000, 10, 80, 20, 60, 30};
  return out;
}
BenchOptions options_of(Collective collective) {
  BenchOptions options;
  options.collective = collective;
  options.job.size = 4;
  options.iterations = 10;
  options.root = 2;
  return options;
}
std::vector<std::string> words(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> out;
  for (std::string word; in >> word;) out.push_back(word);
  return out;
}

TEST(BenchTable, RowsHaveTheColumnsOfNcclTests) {
  const BenchRow in_place{1024, 256, std::nullopt, figures()};
  EXPECT_THAT(words(bench_line(options_of(Collective::allreduce), in_place)),
              ElementsAre("1024", "256", "float32", "sum", "-1", "-", "-", "-", "-", "12.50",
                          "2.000", "3.000", "4"));
  const BenchRow both{1024, 64, figures(), figures()};
  EXPECT_THAT(words(bench_line(options_of(Collective::all_gather), both)),
              ElementsAre("1024", "64", "float32", "none", "-1", "12.50", "2.000", "3.000", "4",
                          "12.50", "2.000", "3.000", "4"));
  EXPECT_THAT(words(bench_line(options_of(Collective::broadcast), in_place))[4], "2");
  EXPECT_THAT(words(bench_line(options_of(Collective::reduce), in_place))[3], "sum");
  const std::string heading = bench_heading(options_of(Collective::reduce));
  std::istringstream lines(heading);
  std::string line;
  for (int i = 0; i < 3; ++i) std::getline(lines, line);
  EXPECT_THAT(words(line),
              ElementsAre("#", "size", "count", "type", "redop", "root", "time", "algbw", "busbw",
                          "#wrong", "time", "algbw", "busbw", "#wrong"));
  EXPECT_EQ(bench_line(options_of(Collective::reduce), in_place).size(), line.size() + 1)
      << "columns stand below their names";
}

TEST(BenchTable, FooterSaysWhatBusBandwidthIsInTheNetwork) {
  const std::vector<BenchRow> rows = {{1024, 256, std::nullopt, figures()},
                                      {2048, 512, figures(), std::nullopt}};
  const std::string allreduce = bench_footer(options_of(Collective::allreduce), rows);
  EXPECT_THAT(allreduce, HasSubstr("# wrong elements: 8 FAILED\n"));
  EXPECT_THAT(allreduce, HasSubstr("# average bus bandwidth: 3.000 GB/s\n"));
  EXPECT_THAT(allreduce, HasSubstr("2 (n - 1) / n"));
  EXPECT_THAT(allreduce, HasSubstr("size bytes up and size bytes down"));
  EXPECT_THAT(bench_footer(options_of(Collective::reduce_scatter), rows),
              HasSubstr("size bytes up and size / n bytes down"));
  EXPECT_THAT(bench_footer(options_of(Collective::barrier), {}), HasSubstr("elements: 0 OK"));
  EXPECT_THAT(bench_footer(options_of(Collective::barrier), {}), Not(HasSubstr("busbw")));
}

TEST(BenchTable, StagesAreThoseOfAnIteration) {
  const BenchRow row{1024, 256, std::nullopt, figures()};
  BenchOptions options = options_of(Collective::allreduce);
  options.job.stages = true;
  EXPECT_EQ(stage_lines(options, row),
            "#   in-place, us an iteration: session 2.0, send 3.0 (1.0 calls, 8.0 packets), "
            "wait 6.0 (3.0 times), receive 4.0 (2.0 calls), unpack 5.0 (6.0 packets)\n");
  const Json json = bench_json(options, {row})[0];
  EXPECT_EQ(json["stages"]["unpack_us"], 5.0);
  EXPECT_EQ(json["time_us"], 12.5);
  EXPECT_EQ(json["in_place"]["wrong"], 4);
  EXPECT_TRUE(json["out_of_place"].is_null());
  EXPECT_EQ(json["root"], -1);
  options.job.stages = false;
  EXPECT_FALSE(bench_json(options, {row})[0].contains("stages"));
}

}  // namespace
}  // namespace tributary::client
