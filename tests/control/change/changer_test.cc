// Another configuration for a running switch, and the straggler watch of its jobs (C1).
#include "control/change/changer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/control/running_switch.h"

namespace tributary::control {
namespace {

class ChangerTest : public testing::Test {
 protected:
  RunningSwitch sw{null_config()};
  Changer changer{sw.get(), [](const std::string&) {}};
  config::SwitchConfig next = sw.get().config();
};

TEST_F(ChangerTest, C1_OtherKeysThanJobsAreApplied) {
  next.forwarding.fdb_ageing = Duration::seconds(7);
  EXPECT_EQ(config::describe(changer.apply(next)), "changed: forwarding.fdb_ageing");
  EXPECT_EQ(sw.get().config().forwarding.fdb_ageing, Duration::seconds(7));
  EXPECT_TRUE(changer.watches());
}

TEST_F(ChangerTest, C1_ChangedJobsAreWatched) {
  next.jobs[0].deadline = Duration::seconds(7);
  EXPECT_EQ(config::describe(changer.apply(next)), "jobs: 7 changed; 0 as before");
  EXPECT_EQ(sw.get().config().jobs[0].deadline, Duration::seconds(7));
  EXPECT_TRUE(changer.watches());
}

TEST_F(ChangerTest, C1_ARefusedChangeLeavesTheWatch) {
  next.jobs[0].deadline = Duration::seconds(7);
  next.slots *= 2;
  EXPECT_THROW(changer.apply(next), std::invalid_argument);
  EXPECT_NE(sw.get().config().jobs[0].deadline, Duration::seconds(7));
  EXPECT_TRUE(changer.watches());
}

}  // namespace
}  // namespace tributary::control
