// `show stragglers`: of all jobs, and of one.
#include "control/show/show_stragglers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "tests/control/plain_value.h"
#include "tests/control/running_switch.h"

namespace tributary::control {
namespace {

TEST(ShowStragglers, StragglersOfAllJobsOrOfOne) {
  RunningSwitch sw;
  for (const char* job : {"", "7"}) {
    const auto table = show_stragglers(sw.get(), job);
    ASSERT_EQ(table.size(), 3u);
    EXPECT_THAT(
        columns(table[0]),
        testing::ElementsAre("job", "plane", "node", "ranks", "mean_ms", "max_ms", "last_ms", "ops",
                             "first", "last", "missed_deadlines", "excluded", "port", "link"));
    EXPECT_EQ(table[2]["node"], "rank 2");
    EXPECT_EQ(table[2]["ops"], 0);
  }
  EXPECT_THROW(static_cast<void>(show_stragglers(sw.get(), "8")), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(show_stragglers(sw.get(), "x")), std::invalid_argument);
}

}  // namespace
}  // namespace tributary::control
