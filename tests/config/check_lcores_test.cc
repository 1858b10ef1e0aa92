// Files that contradict themselves about packet loops.
#include "config/check_lcores.h"

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

TEST(Snooping, NeedsOneLcore) {
  const auto file = [](const char* lcores) {
    return std::string("switch: {address: 10.77.0.254, lcores: ") + lcores +
           "}\n"
           "ports: [{name: a, devargs: net_null0}]\n"
           "forwarding: {snooping: {enabled: true}}\n";
  };
  EXPECT_TRUE(errors_of(file("[-1]")).empty());
  const auto errors = errors_of(file("[-1, -1]"));
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0],
            "f.yaml:3:34: forwarding.snooping.enabled: snooping with 2 lcores; allowed: one lcore "
            "(switch.lcores), or false");
}

}  // namespace
}  // namespace tributary::config
