#include "tools/sim/plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tributary::simtool {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Summary summary(std::uint32_t workers) {
  Summary s;
  s.name = "a <name>";
  JobSummary& job = s.jobs.emplace_back();
  job.id = 7;
  job.workers = workers;
  job.up.mean_data_bytes = job.down.mean_data_bytes = 1 << 20;
  job.ring_bytes = 2.0 * (workers - 1) / workers * (1 << 20);
  for (int i = 1; i <= 1000; ++i) job.rank_times.push_back(Duration::us(i));
  job.op_time = percentiles_of(job.rank_times);
  return s;
}

TEST(Plot, ShowsBytesBesideARingAndSurvivesWhatIsNotThere) {
  const std::string svg = plot(summary(4));
  EXPECT_THAT(svg, HasSubstr("a &lt;name&gt;"));
  EXPECT_THAT(svg, HasSubstr("job 7, 4 workers"));
  EXPECT_THAT(svg, HasSubstr(">1.500 MiB</text>"));
  EXPECT_THAT(svg, HasSubstr(">100 us</text>"));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
  Summary nothing;
  nothing.jobs.emplace_back().workers = 1;
  EXPECT_THAT(plot(nothing), Not(HasSubstr("nan")));
}

TEST(Plot, ScalingHasAPointForEachRun) {
  const std::string svg = plot_scaling({summary(16), summary(256), summary(4096)});
  EXPECT_THAT(svg, HasSubstr("this switch"));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
}

}  // namespace
}  // namespace tributary::simtool
