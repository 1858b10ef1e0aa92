#include "dataplane/switch/job_drain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

namespace tributary::dataplane {
namespace {

TEST(JobDrain, AJobThatIsNotThereIsNamed) {
  config::SwitchConfig config;
  config.jobs.resize(1);
  config.jobs[0].id = 7;
  check_jobs(config, {7});
  try {
    check_jobs(config, {7, 8});
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(), "this switch has no job 8; `show jobs` lists them");
  }
}

}  // namespace
}  // namespace tributary::dataplane
