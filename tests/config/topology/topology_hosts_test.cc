// T10, T11: switches of a tree as completion hosts of its jobs; what each is told, and what is
// refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/change/change.h"
#include "config/plan/memory_plan.h"
#include "config/topology/topology.h"
#include "tests/config/sample.h"

namespace tributary::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

// root{m{A{0,1}}, B{2}}: m only forwards. Job 2 ends at A.
constexpr const char* kTree =
    "switches:\n"                                                                       // 1
    "  - {name: root, id: 1, address: 10.0.0.1, ports: [{name: m, devargs: d0},\n"      // 2
    "     {name: b, devargs: d1}, {name: s, devargs: d2}]}\n"                           // 3
    "  - {name: m, id: 2, address: 10.0.0.2, parent: root, parent_port: m,\n"           // 4
    "     uplink: up, uplink_cost: 5, aggregate: false,\n"                              // 5
    "     ports: [{name: up, devargs: d0}, {name: a, devargs: d1}]}\n"                  // 6
    "  - {name: A, id: 3, address: 10.0.0.3, parent: m, parent_port: a, uplink: up,\n"  // 7
    "     completion: {heartbeat: 50ms},\n"                                             // 8
    "     ports: [{name: up, devargs: d0}, {name: x, devargs: d1},\n"                   // 9
    "     {name: y, devargs: d2}]}\n"                                                   // 10
    "  - {name: B, id: 4, address: 10.0.0.4, parent: root, parent_port: b,\n"           // 11
    "     uplink: up, uplink_cost: 3,\n"                                                // 12
    "     ports: [{name: up, devargs: d0}, {name: z, devargs: d1}]}\n"                  // 13
    "workers:\n"                                                                        // 14
    "  - {name: x, switch: A, port: x}\n"                                               // 15
    "  - {name: y, switch: A, port: y}\n"                                               // 16
    "  - {name: z, switch: B, port: z}\n"                                               // 17
    "servers:\n"                                                                        // 18
    "  - {name: ps, switch: root, port: s, address: 10.0.1.1, cost: 2}\n"               // 19
    "jobs:\n"                                                                           // 20
    "  - {id: 1, workers: 3, window: 8, completion_hosts: [A, ps, B, root]}\n"          // 21
    "  - {id: 2, workers: 2, completion_hosts: [ps]}\n";                                // 22

std::string with(const std::string& from, const std::string& to) {
  return replaced(kTree, from, to);
}

void refused(const std::string& from, const std::string& to, const std::string& error) {
  EXPECT_THAT(errors_of(with(from, to), parse_topology, "t.yaml"), ElementsAre(HasSubstr(error)))
      << from << " > " << to;
}

TEST(TopologyHosts, T10_TheRootKnowsItsSwitchesAndTheWayThere) {
  const SwitchConfig root = node_config(parse_topology(kTree, "t.yaml"), "root");
  const auto& hosts = root.completion.hosts;
  ASSERT_THAT(hosts, SizeIs(3));
  EXPECT_EQ(hosts[0].name, "ps");
  EXPECT_EQ(hosts[0].hops, 1u);
  EXPECT_EQ(hosts[0].cost, 2u);
  EXPECT_EQ(hosts[1].name, "A");
  EXPECT_EQ(hosts[1].ipv4, 0x0A000003u);
  EXPECT_EQ(hosts[1].port, "m") << "through a switch that only forwards";
  EXPECT_EQ(hosts[1].hops, 2u);
  EXPECT_EQ(hosts[1].cost, 6u);
  EXPECT_EQ(hosts[2].port, "b");
  EXPECT_EQ(hosts[2].cost, 3u);
  EXPECT_FALSE(root.jobs.at(0).hosting.has_value());
  EXPECT_FALSE(hosts_engines(root));
}

// The root of job 2 is A: its server is above it.
TEST(TopologyHosts, T11_TheWayUpIsCountedToo) {
  const SwitchConfig a = node_config(parse_topology(kTree, "t.yaml"), "A");
  ASSERT_THAT(a.completion.hosts, SizeIs(1));
  EXPECT_EQ(a.completion.hosts[0].port, "up");
  EXPECT_EQ(a.completion.hosts[0].hops, 3u);
  EXPECT_EQ(a.completion.hosts[0].cost, 2u + 1u + 5u);
}

TEST(TopologyHosts, T10_ASwitchKnowsForWhomItHosts) {
  const Topology t = parse_topology(kTree, "t.yaml");
  const SwitchConfig a = node_config(t, "A");
  ASSERT_TRUE(a.jobs.at(0).hosting.has_value());
  EXPECT_EQ(a.jobs.at(0).hosting->root_ipv4, 0x0A000001u);
  EXPECT_EQ(a.jobs.at(0).hosting->root_mac, derived_mac(0x0A000001u));
  EXPECT_FALSE(a.jobs.at(1).hosting.has_value());
  EXPECT_EQ(a.completion.heartbeat, Duration::ms(50));
  EXPECT_THAT(describe_tree(a), HasSubstr("may finish chunks for the root, 10.0.0.1; deadline"));
  const std::string once = dump(t);
  EXPECT_EQ(dump(parse_topology(once, "dump")), once);
}

TEST(TopologyHosts, MemoryOfHostedEnginesIsPlannedAndPrinted) {
  SwitchConfig a = node_config(parse_topology(kTree, "t.yaml"), "A");
  const JobConfig& job = a.jobs.at(0);
  EXPECT_EQ(least_hosted_bytes(a), (3u + 16u) * 1024u);
  EXPECT_EQ(hosted_share(a, job), (3u * 8u + 16u) * 1024u);
  EXPECT_EQ(describe_hosted(a),
            "hosted job job-1: 40 KiB for contributions and results; needs 19, could use 40\n");
  EXPECT_EQ(least_completion_bytes(a), 0u) << "job 2 has its server";
}

TEST(TopologyHosts, T10_RefusesSwitchesThatCannotHost) {
  refused(
      "[A, ps, B, root]", "[A, C]",
      "t.yaml:21:58: jobs[0].completion_hosts[1]: there is no server, switch or worker "
      "'C'; allowed: ps, a switch that sums the job, a worker with an address, root as the last");
  refused("[A, ps, B, root]", "[A, root, B]", "completion_hosts[1]: never falls silent");
  refused("[A, ps, B, root]", "[A, B, A]", "host 'A' is already used");
  refused("[A, ps, B, root]", "[m, A]",
          "jobs[0].completion_hosts[0]: switch 'm' sums nothing of the job; allowed: A, B, root");
  refused("completion_hosts: [ps]", "completion_hosts: [ps, B]",
          "jobs[1].completion_hosts[1]: switch 'B' sums nothing of the job; allowed: root");
  refused(
      "completion_hosts: [ps]", "completion_hosts: [ps, A]",
      "t.yaml:22:48: jobs[1].completion_hosts[1]: is the root switch of the job; allowed: root");
  refused("heartbeat: 50ms", "heartbeat: 400ms",
          "t.yaml:8:30: switches[2].completion.heartbeat: 400ms is not less than a third of 1s");
  refused("heartbeat: 50ms", "hosted_megabytes: 0", "hosted_megabytes: '0'");
  refused("window: 8, completion_hosts: [A, ps, B, root]",
          "window: 2048, chunk_bytes: 1344, shards: 16, completion_hosts: [A, ps, root]",
          "switches[2].completion.hosted_megabytes: 64 MiB cannot hold one chunk and the kept "
          "results of every job");
}

// A worker's node hosts: it runs a parameter server beside its rank.
TEST(TopologyHosts, T10_AWorkerMayHost) {
  std::string text =
      with("{name: y, switch: A, port: y}", "{name: y, switch: A, port: y, address: 10.0.9.2}");
  text.replace(text.find("[A, ps, B, root]"), 16, "[y, A, ps, root]");
  const Topology t = parse_topology(text, "t.yaml");
  const SwitchConfig root = node_config(t, "root");
  const CompletionHost& y = root.completion.hosts.back();
  EXPECT_EQ(y.name, "y");
  EXPECT_EQ(y.ipv4, 0x0A000902u);
  EXPECT_EQ(y.port, "m");
  EXPECT_EQ(y.hops, 3u);
  EXPECT_EQ(y.cost, 1u + 1u + 5u);
  const ServerConfig told = server_config(t, "y");
  EXPECT_EQ(told.ipv4, 0x0A000902u);
  ASSERT_THAT(told.jobs, SizeIs(1));
  EXPECT_EQ(told.jobs[0].root_ipv4, 0x0A000001u);
  EXPECT_THROW((void)server_config(t, "x"), std::invalid_argument) << "it has no address";
  EXPECT_THROW((void)server_config(
                   parse_topology(with("port: x}", "port: x, address: 10.0.9.1}"), "t.yaml"), "x"),
               std::invalid_argument)
      << "no job names it";
  refused("[A, ps, B, root]", "[x, ps]",
          "completion_hosts[0]: worker 'x' has no address; allowed: ps, a switch that sums");
}

// What was made at the start cannot be made anew while packets come.
TEST(TopologyHosts, AReloadThatChangesWhoseHostASwitchIsIsRefused) {
  const SwitchConfig a = node_config(parse_topology(kTree, "t.yaml"), "A");
  const auto refusal = [&](const std::string& from, const std::string& to) -> std::string {
    try {
      (void)difference(a, node_config(parse_topology(with(from, to), "t.yaml"), "A"));
    } catch (const std::invalid_argument& e) {
      return e.what();
    }
    return "";
  };
  constexpr const char* kText = "job 1: this switch hosts its completion engine; only a restart";
  EXPECT_THAT(refusal("[A, ps, B, root]", "[ps, B, root]"), HasSubstr(kText));
  EXPECT_THAT(refusal("window: 8,", "window: 16,"), HasSubstr(kText));
  EXPECT_EQ(refusal("window: 8,", "window: 8, quota: 4, slots: dynamic,"), "");
}

// T9: a switch speaks to its own children, a server to all ranks.
TEST(TopologyHosts, T9_WhoNotifiesFitsTheHosts) {
  refused("[A, ps, B, root]}", "[A, ps, B, root], notify: switch}",
          "jobs[0].notify: a server or worker has no children of its own");
  refused("[A, ps, B, root]}", "[A, ps, B, root], notify: direct}",
          "jobs[0].notify: a switch speaks to its own children only");
  const Topology t =
      parse_topology(with("[A, ps, B, root]}", "[A, B, root], notify: switch}"), "t.yaml");
  for (const char* name : {"root", "A", "B"})
    EXPECT_EQ(node_config(t, name).jobs.at(0).notify, wire::Notify::host_switch) << name;
  EXPECT_EQ(server_config(parse_topology(with("[ps]}", "[ps], notify: direct}"), "t.yaml"), "ps")
                .jobs.at(1)
                .job.notify,
            wire::Notify::direct);
}

// Rule 18: each switch of the job knows the port through which such a host's results come.
TEST(TopologyHosts, T9_EverySwitchKnowsTheWayToAHostThatNotifies) {
  const auto port_at = [](const Topology& t, const char* name) {
    const auto hosts = node_config(t, name).completion.hosts;
    return hosts.size() == 1 ? hosts[0].name + " by " + hosts[0].port : "";
  };
  const Topology direct =
      parse_topology(with("[A, ps, B, root]}", "[ps, root], notify: direct}"), "t.yaml");
  EXPECT_EQ(port_at(direct, "root"), "ps by s");
  EXPECT_EQ(port_at(direct, "A"), "ps by up");
  EXPECT_EQ(port_at(direct, "B"), "ps by up");
  EXPECT_EQ(port_at(direct, "m"), "");  // it sums nothing
  const Topology quiet = parse_topology(with("[A, ps, B, root]}", "[ps, root]}"), "t.yaml");
  EXPECT_EQ(port_at(quiet, "B"), "");
}

}  // namespace
}  // namespace tributary::config
