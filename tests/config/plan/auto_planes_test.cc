// Jobs whose file leaves the number of planes open.
#include "config/plan/auto_planes.h"

#include <gtest/gtest.h>

#include "config/load/load.h"
#include "tests/config/sample.h"

namespace tributary::config {
namespace {

std::string file(const std::string& lcores, const std::string& jobs) {
  return "switch: {address: 10.77.0.254, lcores: [" + lcores +
         "], completion: {hosts: [{name: ps, address: 10.77.0.9}]}}\n"
         "ports: [{name: a, devargs: net_null0, rdma: true}]\n"
         "jobs: [" +
         jobs + "]\n";
}

int planes_with(const std::string& lcores, const std::string& keys) {
  const auto config =
      parse_switch_config(file(lcores, "{id: 1, workers: 2" + keys + "}"), "f.yaml");
  return config.jobs.at(0).planes;
}

constexpr const char* kFour = "-1, -1, -1, -1";

TEST(AutoPlanes, A2_AJobGetsAPlaneOnEachLcore) {
  EXPECT_EQ(planes_with("", ""), 1);
  EXPECT_EQ(planes_with("-1, -1", ""), 2);
  EXPECT_EQ(planes_with(kFour, ""), 4);
  EXPECT_EQ(planes_with(kFour, ", planes: auto"), 4);
  EXPECT_EQ(planes_with(kFour, ", planes: \"auto\""), 4) << "as JSON has it";
  EXPECT_EQ(planes_with(kFour, ", planes: 3"), 3);
  EXPECT_EQ(planes_with(kFour, ", planes: 1"), 1);
}

TEST(AutoPlanes, AsFarAsTheJobsOtherKeysAllow) {
  EXPECT_EQ(planes_with(kFour, ", lcores: [3, 0]"), 2);
  EXPECT_EQ(planes_with(kFour, ", lcore: 2"), 1);
  EXPECT_EQ(planes_with(kFour, ", slots: dynamic"), 1);
  EXPECT_EQ(planes_with(kFour, ", rdma: true, chunk_bytes: 256"), 1);
  EXPECT_EQ(planes_with(kFour, ", completion_hosts: [ps, root]"), 1);
  EXPECT_EQ(planes_with(kFour, ", completion_hosts: [root]"), 4);
  EXPECT_EQ(planes_with(kFour, ", shards: 5"), 3) << "15 of the 16 UDP ports";
  EXPECT_EQ(planes_with(kFour, ", shards: 16"), 1);
}

// Otherwise a job that comes would end the epochs of those that run.
TEST(AutoPlanes, DoNotDependOnOtherJobs) {
  const std::string first = "{id: 1, workers: 2}";
  const auto alone = parse_switch_config(file(kFour, first), "f.yaml");
  const auto others =
      parse_switch_config(file(kFour, "{id: 7, workers: 9, window: 256, planes: 2}, " + first +
                                          ", {id: 9, workers: 3}"),
                          "f.yaml");
  EXPECT_EQ(others.jobs.at(1), alone.jobs.at(0));
  EXPECT_EQ(others.jobs.at(0).planes, 2);
  EXPECT_EQ(others.jobs.at(2).planes, 4);
}

// What is written is what was chosen: the same on every switch and after any restart.
TEST(AutoPlanes, AreWrittenAsANumber) {
  const auto config = parse_switch_config(file(kFour, "{id: 1, workers: 2}"), "f.yaml");
  EXPECT_NE(dump(config).find("    planes: 4\n"), std::string::npos) << dump(config);
}

TEST(AutoPlanes, OtherWordsAreRefused) {
  for (const char* bad : {"automatic", "Auto", "0", "17"}) {
    const auto errors =
        errors_of(file(kFour, std::string("{id: 1, workers: 2, planes: ") + bad + "}"));
    ASSERT_EQ(errors.size(), 1u) << bad;
    EXPECT_NE(errors[0].find("allowed: 1 to 16, or auto"), std::string::npos) << errors[0];
  }
}

TEST(AutoPlanes, AskForRoomInWords) {
  const auto errors = errors_of(file(kFour, "{id: 1, workers: 2, window: 2048}"));
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_NE(
      errors[0].find("8192 together; allowed: at least 8192, smaller windows or fewer planes"),
      std::string::npos)
      << errors[0];
}

}  // namespace
}  // namespace tributary::config
