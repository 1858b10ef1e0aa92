// `show holds`: figures of all jobs, and histograms.
#include "control/show/show_holds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "tests/control/plain_value.h"
#include "tests/control/running_switch.h"

namespace tributary::control {
namespace {

TEST(ShowHolds, T22_HoldsOfAllJobsOrTheHistogramOfOne) {
  RunningSwitch sw;
  const auto table = show_holds(sw.get());
  ASSERT_EQ(table.size(), 2u);
  EXPECT_THAT(columns(table[1]),
              testing::ElementsAre("job", "plane", "shard", "held", "open", "mean_ms", "p50_ms",
                                   "p99_ms", "max_ms", "deadline_ms", "bound_ms"));
  EXPECT_EQ(table[0]["job"], "all");
  EXPECT_EQ(table[0]["held"], 0);
  EXPECT_EQ(table[1]["job"], 7);
  EXPECT_GE(table[1]["bound_ms"], table[1]["deadline_ms"]);
  EXPECT_TRUE(show_holds(sw.get(), "7").empty());
  EXPECT_TRUE(show_holds(sw.get(), "all").empty());
  EXPECT_THROW(static_cast<void>(show_holds(sw.get(), "8")), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(show_holds(sw.get(), "x")), std::invalid_argument);
}

}  // namespace
}  // namespace tributary::control
