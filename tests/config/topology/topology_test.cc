// Trees of switches from one file (T1, O12, A1): what each node is told, and what is refused.
#include "config/topology/topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <stdexcept>

#include "config/model/bracketing.h"
#include "config/plan/lcore_plan.h"
#include "config/text/file.h"
#include "tests/config/topology_sample.h"
#include "tests/source_dir.h"

namespace tributary::config {
namespace {

using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const Topology& twelve() {
  static const Topology t = load_topology(tests::source_dir() + "/examples/hpcc-12.yaml");
  return t;
}

void expect_refused(const std::string& from, const std::string& to, const std::string& error) {
  EXPECT_THAT(topology_errors(small_with(from, to)), ElementsAre(HasSubstr(error)))
      << from << " > " << to;
}

std::string leased(const std::string& port, const std::string& other,
                   const std::string& more = "") {
  return "switches:\n"
         "  - {name: A, id: 1, address: 10.0.0.1, control: {socket: /run/t/A.sock}, ports: [{name: "
         "p0, "
         "devargs: '" +
         port + "'}, {name: p1, devargs: '" + other +
         "'}]}\n"
         "workers:\n"
         "  - {name: w0, switch: A, port: p0, node: host0}\n" +
         more;
}

TEST(Topology, C2_AContainersPortIsAMemifSocketInAFolderOfItsOwn) {
  const std::string memif = ",socket-abstract=no,role=server";
  const std::string p0 = "net_memif0,socket=/run/t/p0/memif" + memif;
  const std::string p1 = "net_memif1,socket=/run/t/p1/memif" + memif;
  const Topology read = parse_topology(leased(p0, p1), "f");
  EXPECT_EQ(read.workers[0].node, "host0");
  EXPECT_EQ(parse_topology(dump(read), "again").workers[0].node, "host0");
  const auto expect = [](const std::string& text, const std::string& error) {
    EXPECT_THAT(topology_errors(text), Contains(HasSubstr("workers[0].node: " + error))) << text;
  };
  for (const std::string bad : {"net_null0", "net_memif0,socket=/run/t/p0/memif,role=server",
                                "net_memif0,socket=p0/memif,socket-abstract=no,role=server",
                                "net_memif0,socket=/run/t/p0/memif,socket-abstract=no,role=client"})
    expect(leased(bad, p1), "port 'p0' is leased to containers; allowed: net_memif");
  expect(leased(p0, "net_memif1,socket=/run/t/p0/other" + memif),
         "containers that lease port 'p0' get the folder /run/t/p0, which has the socket of port "
         "'p1'");
  expect(leased("net_memif0,socket=/run/t/memif" + memif, p1),
         "containers that lease port 'p0' get the folder /run/t, which has the switch's control");
  expect(leased(p0, "net_memif1,socket=/run/t/p0/deep/other" + memif),
         "containers that lease port 'p0' get the folder /run/t/p0, which has the socket of port "
         "'p1'");
  expect(leased("net_memif0,socket=/run/memif" + memif, p1),
         "containers that lease port 'p0' get the folder /run, which has the switch's control");
  expect(leased("net_memif0,socket=/run/t/p1/../memif" + memif, p1),
         "port 'p0' is leased to containers; allowed: net_memif");
  expect(leased(p0, "net_memif1,socket=/run/t/x/../p0/other" + memif),
         "containers that lease port 'p0' get the folder /run/t/p0, which has the socket of port "
         "'p1'");
  EXPECT_THAT(topology_errors(leased(p0, p1, "  - {name: w1, switch: A, port: p0, node: host1}\n")),
              Contains(HasSubstr("workers[1].node: port 'p0' is leased as worker w0")));
}

TEST(Topology, T1_WorkersAndSwitchesMixedAsChildren) {
  const JobConfig s201 = job_at(twelve(), "S201");
  EXPECT_EQ(s201.workers, 12u);
  ASSERT_THAT(s201.children, SizeIs(2));
  EXPECT_TRUE(s201.children[0].is_switch);
  EXPECT_EQ(s201.children[0].id, 250u);
  EXPECT_EQ(s201.children[0].ipv4, 0x0A4D00FAu);
  EXPECT_EQ(s201.children[0].port, "s250");
  EXPECT_THAT(s201.children[0].ranks, ElementsAre(0, 1));
  EXPECT_FALSE(s201.children[1].is_switch);
  EXPECT_EQ(s201.children[1].id, 2u);
  EXPECT_EQ(s201.children[1].port, "w113");
  ASSERT_TRUE(s201.parent.has_value());
  EXPECT_EQ(s201.parent->name, "S240");
  EXPECT_EQ(s201.parent->ipv4, 0x0A4D00F0u);
  EXPECT_EQ(s201.parent->mac, derived_mac(0x0A4D00F0u));
  EXPECT_EQ(s201.parent->uplink, "up");
  EXPECT_EQ(s201.parent->child, 0);
  EXPECT_EQ(s201.parent->fan_in, 3);
  EXPECT_EQ(job_fan_in(s201), 2u);
}

TEST(Topology, T1_RootHasNoParentAndItsChildrenAreInOrderOfTheirLowestRank) {
  const JobConfig root = job_at(twelve(), "S240");
  EXPECT_FALSE(root.parent.has_value());
  ASSERT_THAT(root.children, SizeIs(3));
  EXPECT_THAT(root.children[0].ranks, ElementsAre(0, 1, 2));
  EXPECT_THAT(root.children[1].ranks, ElementsAre(3, 4));
  EXPECT_THAT(root.children[2].ranks, ElementsAre(5, 6, 7, 8, 9, 10, 11));
  EXPECT_EQ(job_at(twelve(), "S203").parent->child, 2);
}

// T2: a deadline for each switch, level by level unless given.
TEST(Topology, Rule13_DeadlinesGrowTowardsTheRootUnlessGiven) {
  EXPECT_EQ(job_at(twelve(), "S250").deadline, Duration::seconds(10));
  EXPECT_EQ(job_at(twelve(), "S203").deadline, Duration::seconds(10));
  EXPECT_EQ(job_at(twelve(), "S201").deadline, Duration::ms(11'250));
  EXPECT_EQ(job_at(twelve(), "S240").deadline, Duration::ms(12'500));
  const Topology given = parse_topology(small_with("id: 1,", "id: 1, deadline: 20s,"), "t.yaml");
  EXPECT_EQ(job_at(given, "root").deadline, Duration::seconds(20));
}

TEST(Topology, A1_AJobBelowOneSwitchGoesNoFurtherUp) {
  const Topology t = load_topology(tests::source_dir() + "/examples/two-level-5.yaml");
  EXPECT_THAT(node_config(t, "root").jobs, SizeIs(1));
  EXPECT_THAT(node_config(t, "B").jobs, SizeIs(1));
  const JobConfig inner = job_at(t, "A", 1);
  EXPECT_EQ(inner.name, "inner");
  EXPECT_FALSE(inner.parent.has_value());
  EXPECT_THAT(inner.children, SizeIs(3));
}

TEST(Topology, O12_WhatHangsOnAForwarderHangsOnTheSwitchAbove) {
  const Topology t = parse_topology(kSmall, "t.yaml");
  EXPECT_THAT(node_config(t, "m").jobs, IsEmpty());
  const JobConfig root = job_at(t, "root");
  ASSERT_THAT(root.children, SizeIs(3));
  EXPECT_EQ(root.children[1].id, 4u);
  EXPECT_EQ(root.children[1].port, "m");
  EXPECT_FALSE(root.children[2].is_switch);
  EXPECT_EQ(root.children[2].port, "m");
  EXPECT_EQ(job_at(t, "B").parent->name, "root");
  EXPECT_EQ(job_at(t, "B").parent->fan_in, 3);
}

TEST(Topology, O12_ASwitchWithOneChildPassesOn) {
  const Topology t = parse_topology(small_with("aggregate: false", "aggregate: true"), "t.yaml");
  EXPECT_EQ(job_fan_in(job_at(t, "B")), 1u);
  EXPECT_EQ(job_at(t, "B").parent->name, "m");
  EXPECT_EQ(job_fan_in(job_at(t, "m")), 2u);
}

// Every switch that sums the job gives each plane an lcore; who only forwards need have none.
TEST(Topology, A2_PlanesAreOfAllSwitchesThatSumTheJob) {
  std::string text = small_with("workers: 3,", "workers: 3, planes: 2,");
  for (const char* name : {"root", "A", "B"})
    text = replaced(text, std::string("name: ") + name + ", id",
                    std::string("lcores: [-1, -1], name: ") + name + ", id");
  const Topology t = parse_topology(text, "t.yaml");
  EXPECT_EQ(dump(parse_topology(dump(t), "dump")), dump(t));
  for (const char* name : {"root", "A", "B"}) {
    const SwitchConfig config = node_config(t, name);
    ASSERT_THAT(config.jobs, SizeIs(1));
    EXPECT_EQ(config.jobs[0].planes, 2) << name;
    for (const std::size_t lcore : {0u, 1u}) {
      const SwitchConfig part = lcore_part(config, lcore, lcore_share(config, lcore));
      ASSERT_THAT(part.jobs, SizeIs(1));
      EXPECT_EQ(part.jobs[0].plane, 1 - lcore) << "job 1 begins on lcore 1";
      EXPECT_EQ(part.jobs[0].parent, config.jobs[0].parent);
      EXPECT_EQ(part.jobs[0].children, config.jobs[0].children);
    }
  }
}

// A job may be moved to any switch, so the one with fewest lcores says it for all.
TEST(Topology, A2_PlanesLeftOpenFollowFromTheLcoresOfAllSwitchesThatSum) {
  const auto planes = [](const std::string& text) {
    return int{parse_topology(text, "t.yaml").jobs.at(0).config.planes};
  };
  std::string text(kSmall);
  EXPECT_EQ(planes(text), 1);
  for (const char* name : {"root", "A", "B"}) {
    text = replaced(text, std::string("name: ") + name + ", id",
                    std::string("lcores: [-1, -1], name: ") + name + ", id");
    EXPECT_EQ(planes(text), name == std::string("B") ? 2 : 1) << "the forwarder's does not count";
  }
  EXPECT_EQ(planes(replaced(text, "workers: 3,", "workers: 3, planes: auto,")), 2);
  EXPECT_EQ(planes(replaced(text, "workers: 3,", "workers: 3, planes: 1,")), 1);
  EXPECT_EQ(planes(replaced(text, "workers: 3,", "workers: 3, slots: dynamic,")), 1);
  const Topology whole = parse_topology(text, "t.yaml");
  EXPECT_EQ(parse_topology(dump(whole), "dump").jobs[0].config.planes, 2);
  EXPECT_EQ(node_config(whole, "A").jobs.at(0).planes, 2);
}

TEST(Topology, A2_PlanesThatTheTreeCannotHaveAreRefusedByName) {
  expect_refused("workers: 3,", "workers: 3, planes: 2,",
                 "t.yaml:17:33: jobs[0].planes: 2 planes need an lcore each, and switch root has "
                 "1; allowed: at most 1, or more switch.lcores");
  std::string text = small_with("workers: 3,", "workers: 3, planes: 2,");
  text = replaced(text, "name: root, id", "lcores: [-1, -1], name: root, id");
  text = replaced(text, "name: A, id", "lcores: [-1, -1, -1], name: A, id");
  EXPECT_THAT(topology_errors(text), ElementsAre(HasSubstr("and switch B has 1; allowed: ")));
  text = replaced(text, "name: B, id", "lcores: [-1, -1], name: B, id");
  EXPECT_THAT(topology_errors(text), IsEmpty());
  const std::pair<const char*, const char*> bad[] = {
      {"slots: dynamic,", "t.yaml:17:33: jobs[0].planes: 2 planes of a dynamic job"},
      {"completion_hosts: [A, root],",
       "t.yaml:17:33: jobs[0].planes: 2 planes with completion_hosts elsewhere"},
      {"completion_hosts: [x, root],",
       "t.yaml:17:33: jobs[0].planes: 2 planes with completion_hosts elsewhere"},
      {"lcore: 1,", "t.yaml:17:36: jobs[0].lcore: unknown key"},
      {"lcores: [0, 1],", "t.yaml:17:36: jobs[0].lcores: unknown key"},
  };
  for (const auto& [key, error] : bad)
    EXPECT_THAT(topology_errors(replaced(text, "planes: 2,", std::string("planes: 2, ") + key)),
                ElementsAre(HasSubstr(error)))
        << key;
}

TEST(Topology, MembersChooseTheRanks) {
  const Topology t = parse_topology(
      small_with("workers: 3,",
                 "workers: 2, members: [{rank: 1, worker: x}, {rank: 0, worker: y}],"),
      "t.yaml");
  const JobConfig root = job_at(t, "root");
  ASSERT_THAT(root.children, SizeIs(2));
  EXPECT_EQ(root.children[0].id, 4u);
  EXPECT_THAT(root.children[1].ranks, ElementsAre(1));
}

TEST(Topology, RefusesWhatIsNoTree) {
  expect_refused("parent: root, parent_port: a", "parent: A, parent_port: w",
                 "t.yaml:4:49: switches[1].parent: is a cycle: A -> A; allowed: a tree");
  EXPECT_THAT(
      topology_errors(small_with("address: 10.0.0.1,",
                                 "address: 10.0.0.1, parent: B, parent_port: w, uplink: a,")),
      testing::Contains(HasSubstr("t.yaml:2:52: switches[0].parent: is a cycle: root -> B "
                                  "-> m -> root; allowed: a tree")));
  EXPECT_THAT(topology_errors(small_with(", parent: root, parent_port: a,\n     uplink: up", "")),
              ElementsAre("t.yaml:4:5: switches[1]: a second root: 'A' has no parent, and neither "
                          "has 'root'; allowed: one"));
}

TEST(Topology, RefusesNamesThatNobodyHas) {
  expect_refused(
      "parent: m,", "parent: q,",
      "t.yaml:10:49: switches[3].parent: there is no switch 'q'; allowed: root, A, m, B");
  expect_refused("parent_port: b", "parent_port: q",
                 "switches[3].parent_port: switch m has no port 'q'; allowed: up, b, w");
  expect_refused("switch: B", "switch: Q", "workers[1].switch: there is no switch 'Q'");
  expect_refused("switch: B, port: w", "switch: B, port: q", "workers[1].port: switch B has no");
  expect_refused("uplink: up, aggregate", "uplink: up, deadlime: 1s, aggregate",
                 "switches[2].deadlime: unknown key; did you mean 'deadline'?");
}

TEST(Topology, RefusesWhatIsUsedTwice) {
  EXPECT_THAT(topology_errors(small_with("name: B,", "name: A,")),
              testing::Contains(
                  "t.yaml:10:12: switches[3].name: name 'A' is already used by switches[1].name on "
                  "line 4"));
  expect_refused("id: 4", "id: 2", "switches[3].id: id 2 is already used");
  expect_refused("10.0.1.2", "10.0.0.2", "address 10.0.0.2 is already used by switches[1].address");
  expect_refused("name: y", "name: x", "workers[1].name: name 'x' is already used");
  expect_refused("port: w, address: 10.0.1.1", "port: up",
                 "switches[1].uplink: port 'up' leads to worker x; allowed: a port of its own");
}

TEST(Topology, RefusesRanksTwiceOrNowhere) {
  expect_refused("workers: 3,", "workers: 4,",
                 "t.yaml:17:22: jobs[0].workers: no worker has rank 3; allowed: 4 workers");
  expect_refused("workers: 3,",
                 "workers: 2, members: [{rank: 0, worker: x}, {rank: 0, worker: y}],",
                 "members[1].rank: rank 0 is already used by jobs[0].members[0].rank on line 17");
  EXPECT_THAT(
      topology_errors(small_with(
          "workers: 3,", "workers: 2, members: [{rank: 0, worker: x}, {rank: 1, worker: x}],")),
      ElementsAre(HasSubstr("members[1].worker: worker 'x' is already used")));
  expect_refused("workers: 3,",
                 "workers: 2, members: [{rank: 0, worker: x}, {rank: 2, worker: y}],",
                 "rank 2 is outside the job");
}

TEST(Topology, Rule13_RefusesAParentDeadlineBelowItsChildrens) {
  expect_refused("id: 1,", "id: 1, deadline: 7s,",
                 "t.yaml:2:35: switches[0].deadline: 7s is not more than 8s of a switch below it; "
                 "allowed: more than 8s");
  expect_refused("id: 1,", "id: 1, deadline: 8s,",
                 "t.yaml:2:35: switches[0].deadline: 8s is not more than 8s of a switch below it; "
                 "allowed: more than 8s");
}

TEST(Topology, RefusesATreeInWhichNobodyAggregates) {
  std::string text = small_with("id: 1,", "id: 1, aggregate: false,");
  const std::string b = "name: B,";
  text.replace(text.find(b), b.size(), "name: B, aggregate: false,");
  EXPECT_THAT(topology_errors(text),
              ElementsAre(HasSubstr("no switch between worker 'y' and the root")));
}

TEST(Topology, O12_WhatASingleSwitchCanDoSeveralCan) {
  for (const std::string key :
       {"slots: dynamic", "on_deadline: abort", "verify: true", "release: returned",
        "slots: dynamic, verify: true, release: returned, on_deadline: abort"})
    EXPECT_THAT(topology_errors(small_with("workers: 3,", "workers: 3, " + key + ",")), IsEmpty())
        << key;
}

// With m root{A{0}, m{B{1}, 2}}.
std::string tree_with(const std::string& keys) {
  std::string text = small_with("workers: 3,", "workers: 3, order: reproducible, " + keys);
  const std::string off = "aggregate: false";
  return text.replace(text.find(off), off.size(), "aggregate: true");
}

TEST(Topology, T15_WithoutADeclarationEachSwitchIsABracket) {
  const Topology t = parse_topology(tree_with(""), "t.yaml");
  EXPECT_EQ(format_bracket(*job_at(t, "root").bracketing), "[[0], [[1], 2]]");
  for (const std::string node : {"root", "A", "m", "B"})
    EXPECT_FALSE(job_at(t, node).child_order) << node;
}

TEST(Topology, T15_ADeclaredOrderIsDealtOutToTheSwitches) {
  const Topology t = parse_topology(tree_with("bracketing: [[2, 1], 0],"), "t.yaml");
  EXPECT_EQ(format_bracket(*job_at(t, "root").bracketing), "[[2, 1], 0]");
  EXPECT_EQ(format_bracket(*job_at(t, "root").child_order), "[1, 0]") << "of A and m";
  EXPECT_EQ(format_bracket(*job_at(t, "m").child_order), "[1, 0]") << "of B and rank 2";
  EXPECT_EQ(format_bracket(*job_at(t, "B").child_order), "[0]");
  const Topology inner = parse_topology(tree_with("bracketing: [[[2], [1]], [[0]]],"), "t.yaml");
  EXPECT_EQ(format_bracket(*job_at(inner, "root").child_order), "[1, 0]");
}

TEST(Topology, T15_RefusesADeclaredOrderThatIsNotTheTrees) {
  EXPECT_THAT(
      topology_errors(tree_with("bracketing: [[0, 1], 2],")),
      ElementsAre(HasSubstr("t.yaml:17:58: jobs[0].bracketing: ranks 1-2, which m sums, are "
                            "no bracket of it; allowed: one for the ranks of each switch")));
  EXPECT_THAT(topology_errors(tree_with("bracketing: [0, 1],")),
              Each(HasSubstr("jobs[0].bracketing: rank 2 is missing")));
  EXPECT_THAT(topology_errors(tree_with("partials: narrow,")),
              ElementsAre(HasSubstr("jobs[0].partials: a reproducible job that spans 4 switches "
                                    "would be rounded at each of them; allowed: wide")));
}

// Rule 10: a sum that is not whole says whose data it is, in the same packet.
TEST(Topology, Rule10_ManyRanksNeedRoomBesideAChunk) {
  JobConfig job;
  job.workers = 160;
  job.parent = ParentConfig{};
  EXPECT_EQ(coverage_bytes(job), 0u);
  job.workers = 1024;
  EXPECT_EQ(coverage_bytes(job), 112u);
  EXPECT_EQ(job_frame_bytes(job), kFrameOverheadBytes + 112 + job.chunk_bytes);
  job.parent.reset();
  EXPECT_EQ(coverage_bytes(job), 0u) << "of a single switch they stay inside";
}

TEST(Topology, NodesAreCheckedLikeSingleSwitches) {
  expect_refused("uplink: up, aggregate: false", "uplink: up, slots: 16, aggregate: true",
                 "switches[2].slots: 16 slots cannot hold the windows of all jobs");
  EXPECT_THAT(topology_errors(small_with("workers: 3,", "workers: 3, chunk_bytes: 4096,")),
              ElementsAre(HasSubstr("t.yaml:17:38: jobs[0].chunk_bytes: 4096 bytes and 146 of "
                                    "headers exceed the MTU of port 'a'")));
  expect_refused("{name: w, devargs: d1}]}\nworkers", "{name: w, devargs: d0}]}\nworkers",
                 "switches[3].ports[1].devargs: device 'd0' is already used");
}

TEST(Topology, AsksForOneBasePort) {
  expect_refused("id: 2,", "id: 2, udp_base_port: 5000,",
                 "differs from that of root, 47000; allowed: the same");
}

TEST(Topology, UnknownNodesAreNamed) {
  try {
    (void)node_config(twelve(), "S999");
    FAIL();
  } catch (const std::invalid_argument& e) {
    EXPECT_STREQ(e.what(), "there is no switch 'S999'; allowed: S240, S201, S250, S202, S203");
  }
}

TEST(Topology, DumpReadsBackToTheSame) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(tests::source_dir() + "/examples")) {
    if (entry.path().extension() != ".yaml" || !is_topology(read_file(entry.path()))) continue;
    const std::string once = dump(load_topology(entry.path()));
    EXPECT_EQ(dump(parse_topology(once, "dump")), once) << entry.path();
    ++count;
  }
  EXPECT_GE(count, 2);
  const std::string once = dump(parse_topology(kSmall, "t.yaml"));
  EXPECT_EQ(dump(parse_topology(once, "dump")), once);
}

TEST(Topology, IsToldFromASwitchsOwnFile) {
  EXPECT_TRUE(is_topology(kSmall));
  EXPECT_FALSE(is_topology("switch: {address: 10.0.0.1}\n"));
  EXPECT_FALSE(is_topology("switches: [\n"));
}

TEST(Topology, PeopleReadWhereAJobLies) {
  EXPECT_EQ(describe_tree(node_config(twelve(), "S201")),
            "job 1 at S201: switch 250 {0-1} on s250, worker {2} on w113; child 0 of 3 of S240 "
            "through up; deadline 11250ms\n");
}

}  // namespace
}  // namespace tributary::config
