#include "manager/admission/amount.h"

#include <gmock/gmock.h>

#include "config/plan/aggregation_memory.h"
#include "tests/manager/tree.h"

namespace tributary::manager {
namespace {

using testing::HasSubstr;

config::JobConfig job() {
  config::JobConfig job;
  job.id = 1;
  job.name = "j";
  job.workers = 3;
  job.planes = 2;
  return job;
}

TEST(Amount, NeedsAreThoseOfTheConfigurationsOwnCode) {
  const Amount need = need_of(job());
  EXPECT_EQ(need.slots, 128u);
  EXPECT_EQ(need.bytes, 2 * config::job_memory(job()).total());
  EXPECT_EQ(need.completion_bytes, 2u * 3 * 1024);
  EXPECT_EQ(need.jobs, 1u);
}

TEST(Amount, OnlyTheRootCompletes) {
  config::JobConfig below = job();
  below.parent = config::ParentConfig{};
  EXPECT_EQ(need_of(below).completion_bytes, 0u);
}

TEST(Amount, ARunningSwitchHasItsReserve) {
  config::SwitchConfig sw = leaf_switch("A", 1, 1);
  EXPECT_EQ(capacity_of(sw).bytes, 64u << 20);
  EXPECT_EQ(capacity_of(sw).slots, 4096u);
  EXPECT_EQ(capacity_of(sw).jobs, 32u);
  sw.memory.reserve_megabytes = 0;
  EXPECT_EQ(capacity_of(sw).bytes, 0u);
  EXPECT_EQ(capacity_of(sw).jobs, 0u);
}

TEST(Amount, AShortageHasItsFigures) {
  const Amount all = {100, 1000, 1000, 4};
  EXPECT_EQ(shortage("S", {50, 100, 0, 1}, {50, 900, 0, 3}, all), "");
  EXPECT_EQ(shortage("S", {51, 100, 0, 1}, {50, 900, 0, 3}, all),
            "needs 51 slots at S, which has 100 and 50 in use");
  EXPECT_THAT(shortage("S", {51, 101, 1001, 2}, {50, 900, 0, 3}, all),
              testing::AllOf(HasSubstr("51 slots"), HasSubstr("101 bytes of aggregation memory"),
                             HasSubstr("1001 bytes of completion"), HasSubstr("2 places")));
  EXPECT_THAT(shortage("S", {1, 1, 0, 1}, {}, {100, 0, 1000, 4}),
              HasSubstr("switch.memory.reserve_megabytes is 0"));
}

TEST(Amount, PercentIsOfTheScarcest) {
  EXPECT_EQ(percent({50, 900, 0, 1}, {100, 1000, 1000, 4}), 90u);
  EXPECT_EQ(percent({}, {}), 0u);
  EXPECT_EQ(percent({1, 0, 0, 0}, {}), 100u);
}

}  // namespace
}  // namespace tributary::manager
