// The C interface as C++ sees it, and through a C client.
#include <gtest/gtest.h>

#include "tests/worker/c_api_client.h"
#include "tests/worker/test_switch.h"

namespace tributary::worker {
namespace {

TEST(CApiTimed, ReducesFromC) {
  config::SwitchConfig c;
  c.ipv4 = 0x7F000001;
  c.jobs.emplace_back();
  c.jobs[0].id = drawn_job_id();
  c.jobs[0].workers = 1;
  TestSwitch sw(c);
  const char* failed = c_api_run(sw.address().c_str(), c.jobs[0].id);
  EXPECT_EQ(failed, nullptr) << failed;
}

TEST(CApiTimed, MisuseIsRefusedWithAText) {
  const char* failed = c_api_misuse();
  EXPECT_EQ(failed, nullptr) << failed;
}

}  // namespace
}  // namespace tributary::worker
