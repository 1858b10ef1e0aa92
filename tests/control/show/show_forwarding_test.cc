// `show acl`, `show groups`, `show lldp` and `show fragments`.
#include "control/show/show_forwarding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/control/plain_value.h"
#include "tests/control/running_switch.h"

namespace tributary::control {
namespace {

using nlohmann::ordered_json;

TEST(ShowForwarding, AclHasARowForItsDefault) {
  RunningSwitch sw;
  const auto table = show_acl(sw.get());
  ASSERT_EQ(table.size(), 1u);
  EXPECT_THAT(columns(table[0]), testing::ElementsAre("rule", "action", "frames", "match"));
  EXPECT_EQ(table[0]["rule"], "default");
  EXPECT_EQ(table[0]["action"], "allow");
}

TEST(ShowForwarding, NoGroupsWithoutSnooping) {
  RunningSwitch sw;
  EXPECT_TRUE(show_groups(sw.get()).empty());
}

TEST(ShowForwarding, O1_ALargeTableOfGroupsIsLookedAtToItsEnd) {
  auto config = null_config();
  config.forwarding.snooping.enabled = true;
  config.forwarding.snooping.groups = config::kMaxGroups;
  RunningSwitch sw(config);
  EXPECT_TRUE(show_groups(sw.get()).empty()) << "nobody asks on null devices";
}

TEST(ShowForwarding, NoNeighboursWithoutLldp) {
  RunningSwitch sw;
  EXPECT_TRUE(show_lldp(sw.get()).empty());
}

TEST(ShowForwarding, FragmentsAreOfEachPortWhereTheyAreTaken) {
  config::SwitchConfig config = null_config();
  {
    RunningSwitch sw(config);
    EXPECT_TRUE(show_fragments(sw.get()).empty());
  }
  config.fragments.datagrams = 8;
  RunningSwitch sw(config);
  const auto table = show_fragments(sw.get());
  ASSERT_EQ(table.size(), 2u);
  EXPECT_EQ(table[1], (ordered_json{{"port", "right"},
                                    {"put_together", 0},
                                    {"cut", 0},
                                    {"duplicates", 0},
                                    {"overlaps", 0},
                                    {"timeouts", 0},
                                    {"evicted", 0}}));
}

}  // namespace
}  // namespace tributary::control
