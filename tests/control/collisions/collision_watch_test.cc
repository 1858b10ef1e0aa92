#include "control/collisions/collision_watch.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/control/running_switch.h"

namespace tributary::control {
namespace {

TEST(CollisionWatch, O7_HasARowForEachDynamicJobAndNoneForOthers) {
  auto config = null_config();
  config.jobs[0].slots = config::SlotMode::dynamic;
  config.jobs.push_back(config.jobs[0]);
  config.jobs[1].id = 8;
  config.jobs[1].name = "other";
  config.jobs[1].quota = 16;
  config.jobs.push_back(config.jobs[0]);
  config.jobs[2].id = 9;
  config.jobs[2].name = "own";
  config.jobs[2].slots = config::SlotMode::partition;
  RunningSwitch sw(config);
  CollisionWatch watch(
      sw.get(), [](const std::string& line) { ADD_FAILURE() << line; },
      [](const CollisionRemedy& remedy) { ADD_FAILURE() << remedy.key; });
  watch.look();
  const auto rows = watch.rows();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0]["job"], 7);
  EXPECT_EQ(rows[0]["most_slots"], config.jobs[0].window);
  EXPECT_EQ(rows[1]["job"], 8);
  EXPECT_EQ(rows[1]["most_slots"], 16);
  EXPECT_EQ(rows[1]["verdict"], "none");
  EXPECT_TRUE(rows[1]["reason"].is_null());
  EXPECT_TRUE(rows[1]["action"].is_null());
}

}  // namespace
}  // namespace tributary::control
