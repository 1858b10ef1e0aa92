// `show completion` and `show escalated` of a root.
#include "control/show/show_completion.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/control/running_switch.h"

namespace tributary::control {
namespace {

TEST(ShowCompletion, CompletionHasTheJobsOfThisRoot) {
  RunningSwitch sw;
  const auto table = show_completion(sw.get());
  ASSERT_EQ(table.size(), 1u);
  EXPECT_EQ(table[0]["job"], 7);
  EXPECT_EQ(table[0]["completions"], 0);
  EXPECT_EQ(table[0]["by_collision"], 0);
  EXPECT_GT(table[0]["bytes_limit"], 0);
  EXPECT_TRUE(show_escalated(sw.get()).empty());
}

}  // namespace
}  // namespace tributary::control
