// Files that contradict themselves about packet loops.
#include "config/check/check_lcores.h"

#include <gtest/gtest.h>

#include "tests/config/sample.h"

namespace tributary::config {
namespace {

class LcoreKey : public testing::TestWithParam<BadLine> {};
TEST_P(LcoreKey, IsRefusedAtItsPlace) {
  expect_refused(GetParam());
}

INSTANTIATE_TEST_SUITE_P(
    All, LcoreKey,
    testing::Values(
        BadLine{8, "  lcores: [1, 2]",
                "f.yaml:8:11: switch.lcores: switch.lcore on line 7 says it too; allowed: one of "
                "the two"},
        BadLine{7, "  lcores: [1, -1, 2, -1, 1]",
                "f.yaml:7:26: switch.lcores[4]: CPU 1 is already used by switch.lcores[0]; "
                "allowed: each CPU once, or -1"},
        BadLine{7, "  lcores: [1, 1024]",
                "f.yaml:7:15: switch.lcores[1]: '1024' is out of range; allowed: -1 to 1023"},
        BadLine{22, "    lcore: 1",
                "f.yaml:22:12: jobs[0].lcore: there is no lcore 1; allowed: 0; switch.lcores would "
                "make more"},
        BadLine{12, "  - {name: w1, devargs: net_null1, mtu: 9000, lcores: [1]}",
                "f.yaml:12:56: ports[1].lcores[0]: there is no lcore 1; allowed: 0"},
        BadLine{12, "  - {name: w1, devargs: net_null1, mtu: 9000, queues: 2, lcores: [0]}",
                "f.yaml:12:66: ports[1].lcores: names 1 lcores for 2 pairs of queues; allowed: one "
                "for each pair (ports[].queues)"},
        BadLine{12, "  - {name: w1, devargs: net_null1, mtu: 9000, queues: 17}",
                "f.yaml:12:55: ports[1].queues: '17' is out of range; allowed: 1 to 16"}));

std::string two_dynamic_jobs(const std::string& first, const std::string& second) {
  return "switch: {address: 10.77.0.254, lcores: [-1, -1]}\n"
         "ports: [{name: a, devargs: net_null0}]\n"
         "jobs:\n"
         "  - {id: 1, workers: 2, slots: dynamic" +
         first +
         "}\n"
         "  - {id: 2, workers: 2, slots: dynamic" +
         second + "}\n";
}

TEST(DynamicJobs, ShareAnLcoreAsTheyShareAPool) {
  EXPECT_TRUE(errors_of(two_dynamic_jobs("", "")).empty());
  EXPECT_TRUE(errors_of(two_dynamic_jobs(", lcore: 1", ", lcore: 1")).empty());
  const auto errors = errors_of(two_dynamic_jobs("", ", lcore: 1"));
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0],
            "f.yaml:5:48: jobs[1].lcore: dynamic jobs share one pool of slots, and job 1 is on "
            "lcore 0; allowed: 0");
}

std::string one_job(const std::string& keys) {
  return "switch: {address: 10.77.0.254, lcores: [-1, -1, -1], completion: {hosts: [{name: ps, "
         "address: 10.77.0.9}]}}\n"
         "ports: [{name: a, devargs: net_null0}]\n"
         "jobs:\n"
         "  - {id: 1, workers: 2" +
         keys + "}\n";
}

TEST(Planes, AreReadAndWritten) {
  const auto config = parse_switch_config(one_job(", planes: 3, lcores: [2, 0, 1]"), "f.yaml");
  EXPECT_EQ(config.jobs[0].planes, 3);
  EXPECT_EQ(config.jobs[0].lcores, (std::vector<std::uint16_t>{2, 0, 1}));
  EXPECT_EQ(parse_switch_config(dump(config), "dump").jobs, config.jobs);
  for (const char* good : {", planes: 2, lcore: 2", ", planes: 3, shards: 5",
                           ", planes: 2, completion_hosts: [root]", ", lcores: [2]"})
    EXPECT_TRUE(errors_of(one_job(good)).empty()) << good;
}

TEST(Planes, NeedAnLcoreEachAndKnowWhatTheyCannotDo) {
  const std::pair<const char*, const char*> bad[] = {
      {", planes: 4",
       "f.yaml:4:33: jobs[0].planes: 4 planes need an lcore each; allowed: at most 3, or more "
       "switch.lcores"},
      {", planes: 17",
       "f.yaml:4:33: jobs[0].planes: '17' is out of range; allowed: 1 to 16, or auto"},
      {", planes: 3, shards: 6",
       "f.yaml:4:33: jobs[0].planes: 3 planes of 6 shards need 18 UDP ports; allowed: at most 2, "
       "or fewer shards (planes x shards up to 16)"},
      {", planes: 2, slots: dynamic",
       "f.yaml:4:33: jobs[0].planes: 2 planes of a dynamic job: all of these share one pool of "
       "slots on one lcore; allowed: 1, or slots: partition"},
      {", planes: 2, completion_hosts: [ps, root]",
       "f.yaml:4:33: jobs[0].planes: 2 planes with completion_hosts elsewhere: a host serves a job "
       "as a whole; allowed: 1, or completion_hosts: [root]"},
      {", planes: 2, lcores: [1]",
       "f.yaml:4:44: jobs[0].lcores: names 1 lcores for 2 planes (jobs[].planes); allowed: one for "
       "each plane"},
      {", planes: 2, lcores: [1, 1]",
       "f.yaml:4:48: jobs[0].lcores[1]: lcore 1 already has plane 0; allowed: each lcore once"},
      {", planes: 2, lcores: [1, 3]",
       "f.yaml:4:48: jobs[0].lcores[1]: there is no lcore 3; allowed: 0 to 2 (switch.lcores has "
       "3)"},
      {", planes: 2, lcore: 1, lcores: [1, 2]",
       "f.yaml:4:54: jobs[0].lcores: jobs[].lcore on line 4 says it too; allowed: one of the two"},
  };
  for (const auto& [keys, message] : bad) {
    const auto errors = errors_of(one_job(keys));
    ASSERT_EQ(errors.size(), 1u) << keys;
    EXPECT_EQ(errors[0], message);
  }
}

// Each plane has its windows in slots of its own.
TEST(Planes, WindowsOfAllPlanesMustFitTheSlots) {
  const std::string file = one_job(", window: 2048, planes: 3");
  const auto errors = errors_of(file);
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_NE(errors[0].find("4096 slots cannot hold the windows of all jobs, 6144 together"),
            std::string::npos)
      << errors[0];
}

TEST(Snooping, IsForAnyNumberOfLcores) {
  for (const char* lcores : {"[-1]", "[-1, -1]", "[-1, -1, -1, -1]"})
    EXPECT_TRUE(errors_of(std::string("switch: {address: 10.77.0.254, lcores: ") + lcores +
                          "}\n"
                          "ports: [{name: a, devargs: net_null0}]\n"
                          "forwarding: {snooping: {enabled: true}}\n")
                    .empty())
        << lcores;
}

}  // namespace
}  // namespace tributary::config
