// `show qps` of a job whose ranks may come by RDMA, before they do.
#include "control/show/show_rdma.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/control/running_switch.h"

namespace tributary::control {
namespace {

TEST(ShowQps, HasTheDatagramPairOfEachJobWithRdma) {
  config::SwitchConfig config = null_config();
  config.ports[0].rdma = true;
  config.jobs.push_back(config.jobs[0]);
  config.jobs[1].id = 8;
  config.jobs[1].name = "other";
  config.jobs[1].rdma = true;
  RunningSwitch sw(config);
  const auto table = show_qps(sw.get());
  ASSERT_EQ(table.size(), 1u);
  EXPECT_EQ(table[0]["job"], 8);
  EXPECT_EQ(table[0]["type"], "UD");
  EXPECT_EQ(table[0]["ranks"], 0);
  EXPECT_EQ(table[0]["rx_sends"], 0);
  EXPECT_TRUE(table[0]["resent"].is_null()) << "datagrams are not repaired";
}

}  // namespace
}  // namespace tributary::control
