// `show jobs`, `show members` and `show tree` of a switch whose ranks have yet to come.
#include "control/show/show_jobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/control/plain_value.h"
#include "tests/control/running_switch.h"

namespace tributary::control {
namespace {

TEST(ShowJobs, JobsAndMembers) {
  RunningSwitch sw;
  const auto jobs = show_jobs(sw.get());
  ASSERT_EQ(jobs.size(), 1u);
  EXPECT_EQ(jobs[0]["job"], 7);
  EXPECT_EQ(jobs[0]["name"], "train");
  EXPECT_EQ(jobs[0]["state"], "idle");
  EXPECT_EQ(jobs[0]["workers"], 3);
  const auto members = show_members(sw.get());
  ASSERT_EQ(members.size(), 3u);
  EXPECT_EQ(members[2]["rank"], 2);
  EXPECT_EQ(members[2]["present"], false);
  EXPECT_TRUE(members[2]["address"].is_null());
  EXPECT_TRUE(members[2]["silent_ms"].is_null()) << "it was never heard";
}

TEST(ShowJobs, TreeOfASwitchThatStandsAlone) {
  RunningSwitch sw;
  const auto tree = show_tree(sw.get());
  ASSERT_EQ(tree.size(), 3u);
  EXPECT_THAT(columns(tree[0]), testing::ElementsAre("job", "plane", "node", "is", "index", "of",
                                                     "port", "state", "ranks", "refused"));
  EXPECT_EQ(tree[1]["node"], "rank 1");
  EXPECT_EQ(tree[1]["is"], "worker");
  EXPECT_EQ(tree[1]["index"], 1);
  EXPECT_EQ(tree[1]["of"], 3);
  EXPECT_EQ(tree[1]["state"], "absent");
  EXPECT_TRUE(tree[1]["refused"].is_null());
}

}  // namespace
}  // namespace tributary::control
