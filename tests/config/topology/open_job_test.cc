// A4: bounds of jobs that ranks open, the neighbours that a topology gives, and their place in a
// configuration.
#include "config/topology/open_job.h"

#include <gmock/gmock.h>

#include "config/load/load.h"
#include "config/topology/assigned.h"
#include "tests/config/topology_sample.h"

namespace tributary::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr wire::OpenJob kOneNode = {2, 1, 64, 1024};
constexpr wire::OpenJob kTwoNodes = {2, 2, 64, 1024};

std::string file(const std::string& open, const std::string& more = "") {
  return "switch: {address: 10.77.0.254, slots: 600" + more + ", open_jobs: {" + open +
         "}}\n"
         "ports: [{name: a, devargs: net_null0}]\n"
         "jobs: [{id: 1, workers: 2}]\n";
}
SwitchConfig config_of(const std::string& open, const std::string& more = "") {
  return parse_switch_config(file(open, more), "f.yaml");
}
std::string error_of(const std::string& open, const std::string& more = "") {
  try {
    (void)config_of(open, more);
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

TEST(OpenJobs, A4_OffUnlessItSaysWhichJobs) {
  EXPECT_FALSE(config_of("").open_jobs.enabled());
  EXPECT_FALSE(config_of("jobs: 3").open_jobs.enabled());
  const OpenJobsConfig open = config_of("ids: 1000-1999, lease: 5s").open_jobs;
  EXPECT_TRUE(open.enabled());
  EXPECT_EQ(open.ids, (JobIds{1000, 1999}));
  EXPECT_EQ(open.lease, Duration::seconds(5));
  EXPECT_FALSE(open.ids.has(999));
  EXPECT_TRUE(open.ids.has(1999));
  EXPECT_FALSE(open.ids.has(2000));
}

TEST(OpenJobs, A4_IdsAreARange) {
  for (const char* ids : {"1000", "0-5", "5-4", "-1-5", "a-b", "1-70000", "1-4294967296", "1-2-3"})
    EXPECT_THAT(error_of("ids: " + std::string(ids)), HasSubstr("switch.open_jobs.ids")) << ids;
  EXPECT_EQ(error_of("ids: 5-5"), "");
  EXPECT_EQ(error_of("ids: 4294967295-4294967295"), "");
}

TEST(OpenJobs, A4_BoundsFitTheSwitch) {
  EXPECT_THAT(
      error_of("ids: 5-6, slots: 537"),
      HasSubstr("537 exceed what jobs leave of switch.slots, 536; allowed: at most that, or "
                "more switch.slots"));
  EXPECT_EQ(error_of("ids: 5-6, slots: 536"), "");
  EXPECT_THAT(error_of("ids: 5-6, megabytes: 33"),
              HasSubstr("33 MiB exceed the reserve for later jobs, 32 MiB"));
  EXPECT_THAT(error_of("ids: 5-6", ", memory: {reserve_megabytes: 0}"), HasSubstr("0 MiB"));
  EXPECT_THAT(error_of("ids: 5-6, jobs: 33"), HasSubstr("allowed: 1 to 32"));
}

TEST(OpenJobs, A4_TheyTakeTheirPlaceBesideTheFilesJobs) {
  const SwitchConfig own = config_of("ids: 1000-1999");
  std::vector<JobConfig> open = {open_below(own.open_jobs, 1000, kOneNode, 0)};
  const SwitchConfig both = with_open(own, open);
  ASSERT_EQ(both.jobs.size(), 2u);
  EXPECT_EQ(both.jobs[1].id, 1000u);
  EXPECT_EQ(both.jobs[1].name, "job-1000");
  EXPECT_EQ(both.jobs[1].open, kOneNode);
  open.push_back(open_below(own.open_jobs, 1, kOneNode, 0));     // the file's number
  open.push_back(open_below(own.open_jobs, 2000, kOneNode, 0));  // no such number
  EXPECT_EQ(with_open(own, open).jobs.size(), 2u);
  ASSERT_EQ(open.size(), 1u);
  // Ids that share a multicast group: the check of the whole says so.
  const SwitchConfig far = config_of("ids: 65537-65537");
  std::vector<JobConfig> clash = {open_below(far.open_jobs, 65537, kOneNode, 0)};
  try {
    (void)with_open(far, clash);
    FAIL();
  } catch (const std::exception& error) {
    EXPECT_THAT(error.what(), HasSubstr("shares its low 16 bits with id 1"));
  }
}

std::string tree_with(const char* in_root, const char* in_a, const char* in_b) {
  std::string text = small_with("name: root,", std::string("name: root,") + in_root);
  text = replaced(text, "name: A,", std::string("name: A,") + in_a);
  return replaced(text, "name: B,", std::string("name: B,") + in_b);
}

TEST(OpenJobs, A4_ATopologyJoinsSwitchesThatOpenJobs) {
  constexpr const char* kOn = " open_jobs: {ids: 1000-1999},";
  const Topology t = parse_topology(tree_with(kOn, kOn, kOn), "t.yaml");
  const OpenJobsConfig root = node_config(t, "root").open_jobs;
  EXPECT_FALSE(root.parent);
  std::vector<std::string> children;
  for (const OpenNeighbour& child : root.children)
    children.push_back(child.name + "@" + child.port);
  EXPECT_THAT(children, ElementsAre("A@a", "B@m")) << "m only forwards";
  const OpenJobsConfig b = node_config(t, "B").open_jobs;
  ASSERT_TRUE(b.parent);
  EXPECT_EQ(b.parent->id, 1u);
  EXPECT_EQ(b.parent->ipv4, 0x0A000001u);
  EXPECT_EQ(b.parent->mac, derived_mac(0x0A000001));
  EXPECT_EQ(b.parent->port, "up");
  const Topology some = parse_topology(tree_with("", kOn, kOn), "t.yaml");
  EXPECT_FALSE(node_config(some, "A").open_jobs.parent);
}

TEST(OpenJobs, A4_JobsOfAnotherTreeEndWithIt) {
  constexpr const char* kOn = " open_jobs: {ids: 1000-1999},";
  const std::string text = tree_with(kOn, kOn, kOn);
  const SwitchConfig a = node_config(parse_topology(text, "t.yaml"), "A");
  std::vector<JobConfig> open = {open_below(a.open_jobs, 1000, kTwoNodes, 1)};
  EXPECT_EQ(with_open(a, open).jobs.size(), a.jobs.size() + 1);
  const SwitchConfig moved = node_config(
      parse_topology(replaced(text, "address: 10.0.0.1,", "address: 10.0.0.9,"), "t"), "A");
  EXPECT_EQ(with_open(moved, open).jobs.size(), moved.jobs.size());
  EXPECT_TRUE(open.empty());
}

TEST(OpenJobs, A4_AManagerAndRanksDoNotBothSayWhichJobsThereAre) {
  const std::string document =
      "term: 3\nrevision: 17\nnode: leaf\ntopology:\n  switches:\n"
      "    - {name: leaf, id: 2, address: 10.77.0.254, ports: [{name: a, devargs: d0}]}\n";
  SwitchConfig own = config_of("ids: 1000-1999");
  own.jobs.clear();
  own.id = 2;
  try {
    (void)merged(own, parse_assigned(document, "assigned.yaml"));
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_THAT(error.what(), HasSubstr("switch.open_jobs.ids, so ranks open jobs, and a manager "
                                        "assigns them; allowed: one of both"));
  }
}

}  // namespace
}  // namespace tributary::config
