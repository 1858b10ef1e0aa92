// The C interface as C++ sees it, and through a C client.
#include <gtest/gtest.h>

#include <string>
#include <thread>

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

// C4: what one rank puts in C, another gets from the switch.
TEST(CApiTimed, PutsAndGetsByNameFromC) {
  config::SwitchConfig c;
  c.ipv4 = 0x7F000001;
  c.names.megabytes = 1;
  c.jobs.emplace_back();
  c.jobs[0].id = drawn_job_id();
  c.jobs[0].workers = 2;
  c.jobs[0].chunk_bytes = 2048;
  c.jobs[0].names.enabled = true;
  TestSwitch sw(c);
  std::string said;
  std::thread other([&] {
    const char* const failed = c_api_names(sw.address().c_str(), c.jobs[0].id, 1);
    said = failed == nullptr ? "" : failed;
  });
  const char* failed = c_api_names(sw.address().c_str(), c.jobs[0].id, 0);
  other.join();
  EXPECT_EQ(failed, nullptr) << failed;
  EXPECT_EQ(said, "");
}

TEST(CApiTimed, MisuseIsRefusedWithAText) {
  const char* failed = c_api_misuse();
  EXPECT_EQ(failed, nullptr) << failed;
}

}  // namespace
}  // namespace tributary::worker
