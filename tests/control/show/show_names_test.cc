// `show names` of jobs with named data, and without.
#include "control/show/show_names.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/control/running_switch.h"

namespace tributary::control {
namespace {

TEST(ShowNames, HasARowForEachJobThatKeepsNamedData) {
  config::SwitchConfig config = null_config();
  config.jobs.push_back(config.jobs[0]);
  config.jobs[1].id = 8;
  config.jobs[1].name = "other";
  config.jobs[1].names.enabled = true;
  config.names.megabytes = 1;
  RunningSwitch sw(config);
  const auto table = show_names(sw.get());
  ASSERT_EQ(table.size(), 1u);
  EXPECT_EQ(table[0].dump(),
            R"({"job":8,"lcore":0,"names":0,"segments":0,"bytes":0,"oldest_s":null,"puts":0,)"
            R"("hits":0,"misses":0,"forwarded":0,"answered":0,"waiting":0,"unanswered":0,)"
            R"("refused":0,"expired":0,"evicted":0})");
}

}  // namespace
}  // namespace tributary::control
