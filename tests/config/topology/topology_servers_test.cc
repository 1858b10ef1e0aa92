// T10, T21: parameter servers on a tree of switches; what each node is told, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/config/topology_sample.h"

namespace tributary::config {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// kSmall with a server behind m, and one behind A; all jobs but `more` are theirs.
std::string served(const std::string& from = "", const std::string& to = "") {
  std::string text = small_with("jobs:\n  - {id: 1, workers: 3, deadline: 8s}\n",
                                "servers:\n"                                                // 16
                                "  - {name: ps1, switch: m, port: s, address: 10.0.2.1}\n"  // 17
                                "  - {name: ps2, switch: A, port: s, address: 10.0.2.2,\n"  // 18
                                "     heartbeat: 50ms, megabytes: 1}\n"                     // 19
                                "jobs:\n"                                                   // 20
                                "  - {id: 1, workers: 3, deadline: 8s,\n"                   // 21
                                "     completion_hosts: [ps2, ps1, root]}\n"                // 22
                                "  - {id: 2, workers: 1, completion_hosts: [ps1]}\n");      // 23
  text = replaced(text, "{name: w, devargs: d2}]}",
                  "{name: w, devargs: d2}, {name: s, devargs: d3}]}");
  text = replaced(text, "{name: w, devargs: d1}]}",
                  "{name: w, devargs: d1}, {name: s, devargs: d2}]}");
  if (!from.empty()) text = replaced(text, from, to);
  return text;
}

// T10: jobs over a tree of switches have parameter servers, anywhere on it.
TEST(Topology, T10_TheRootOfAJobKnowsItsServersAndTheWayThere) {
  const Topology t = parse_topology(served(), "t.yaml");
  const SwitchConfig root = node_config(t, "root");
  ASSERT_THAT(root.completion.hosts, SizeIs(2));
  EXPECT_EQ(root.completion.hosts[0].name, "ps1");
  EXPECT_EQ(root.completion.hosts[0].ipv4, 0x0A000201u);
  EXPECT_EQ(root.completion.hosts[0].port, "m") << "down, through a switch that only forwards";
  EXPECT_EQ(root.completion.hosts[1].port, "a");
  EXPECT_THAT(root.jobs.at(0).completion_hosts, ElementsAre("ps2", "ps1", "root"));
  const SwitchConfig a = node_config(t, "A");
  ASSERT_THAT(a.completion.hosts, SizeIs(1)) << "job 2 ends at A";
  EXPECT_EQ(a.completion.hosts[0].name, "ps1");
  EXPECT_EQ(a.completion.hosts[0].port, "up");
  EXPECT_THAT(node_config(t, "m").completion.hosts, IsEmpty());
  EXPECT_THAT(describe_tree(root), HasSubstr("final here; completion hosts ps2, ps1, root;"));
}

TEST(Topology, T10_AServerKnowsTheRootsOfItsJobs) {
  const Topology t = parse_topology(served(), "t.yaml");
  const ServerConfig one = server_config(t, "ps1");
  EXPECT_EQ(one.ipv4, 0x0A000201u);
  ASSERT_THAT(one.jobs, SizeIs(2));
  EXPECT_EQ(one.jobs[0].root_ipv4, 0x0A000001u);
  EXPECT_EQ(one.jobs[1].root_ipv4, 0x0A000002u) << "A, where job 2 ends";
  EXPECT_EQ(one.jobs[0].job.workers, 3u);
  EXPECT_EQ(one.jobs[0].job.deadline, job_at(t, "root").deadline);
  const ServerConfig two = server_config(t, "ps2");
  EXPECT_EQ(two.heartbeat, Duration::ms(50));
  EXPECT_EQ(two.megabytes, 1u);
  ASSERT_THAT(two.jobs, SizeIs(1));
  EXPECT_THROW((void)server_config(t, "A"), std::invalid_argument);
  const std::string once = dump(t);
  EXPECT_EQ(dump(parse_topology(once, "dump")), once);
}

TEST(Topology, T10_RefusesServersThatCannotServe) {
  const auto refused = [](const std::string& from, const std::string& to,
                          const std::string& error) {
    EXPECT_THAT(topology_errors(served(from, to)), ElementsAre(HasSubstr(error)))
        << from << " > " << to;
  };
  refused("[ps2, ps1, root]", "[ps2, ps3, ps1]",
          "t.yaml:22:30: jobs[0].completion_hosts[1]: there is no server, switch or "
          "worker 'ps3'; allowed: ps1, ps2, a switch that sums the job, a worker with an address, "
          "root as the last");
  refused("[ps2, ps1, root]", "[root, ps2]", "jobs[0].completion_hosts[0]: never falls silent");
  refused("[ps2, ps1, root]", "[ps1, ps1, ps2]", "host 'ps1' is already used");
  refused("[ps2, ps1, root]", "[ps1]", "t.yaml:18:5: servers[1]: no job names 'ps2'");
  EXPECT_THAT(topology_errors(served("name: ps2", "name: A")),
              Contains(HasSubstr("name 'A' is already used by switches[1].name on line 4")));
  refused("10.0.2.2", "10.0.1.1", "address 10.0.1.1 is already used");
  refused("switch: m, port: s", "switch: q, port: s", "servers[0].switch: there is no switch 'q'");
  refused("switch: m, port: s", "switch: m, port: q", "switch m has no port 'q'; allowed: up, b");
  refused("switch: m, port: s", "switch: m, port: up", "port 'up' leads to server ps1");
  refused("heartbeat: 50ms", "heartbeat: 400ms",
          "t.yaml:19:17: servers[1].heartbeat: 400ms is not less than a third of 1s");
  refused("megabytes: 1", "megabytes: 1, udp_port: 80", "servers[1].udp_port: '80'");
  refused("deadline: 8s", "deadline: 8s, shards: 16",
          "servers[1].megabytes: 1 MiB cannot hold one chunk and the kept results of every job");
  refused("name: s, devargs: d3", "name: s, devargs: d3, mtu: 512",
          "servers[0].port: has an MTU of 512, and packets of its jobs have up to 1170");
  refused("id: 1, address: 10.0.0.1,",
          "id: 1, address: 10.0.0.1, completion: {hosts: [{name: x, address: 10.9.9.9}]},",
          "switches[0].completion.hosts: are `servers` in a topology; allowed: none");
}

// T10, C1: packets for a server are cut by the root of their job, to what its own port on the way
// takes; who only passes them on cuts nothing.
TEST(Topology, T10_TheRootOfAJobMayCutWhatAServersPortDoesNotHold) {
  const auto refused = [](const std::string& packet) {
    return ElementsAre(
        HasSubstr("port: has an MTU of 512, and packets of its jobs have up to " + packet + " "));
  };
  const auto cuts = [](const std::string& text, const std::string& ports) {
    return replaced(text, ports, "fragments: {datagrams: 8}, " + ports);
  };
  const std::string root = "ports: [{name: a, devargs: d0}";
  const std::string a = "ports: [{name: up, devargs: d0}, {name: w";
  const std::string m = "ports: [{name: up, devargs: d0}, {name: b";
  // Job 1 ends at root, job 2 at A; ps1, behind m, serves both.
  std::string text = served("name: s, devargs: d3", "name: s, devargs: d3, mtu: 512");
  EXPECT_THAT(topology_errors(text), refused("1170"));
  EXPECT_THAT(topology_errors(cuts(text, m)), refused("1170")) << "m is no root";
  EXPECT_THAT(topology_errors(cuts(text, root)), refused("1170")) << "of job 2";
  text = cuts(cuts(text, root), a);
  EXPECT_THAT(topology_errors(text), refused("1170")) << "which fit the roots' own ports";
  text = replaced(text, "{name: m, devargs: d1}", "{name: m, devargs: d1, mtu: 512}");
  EXPECT_THAT(topology_errors(text), refused("1170")) << "of job 2 still";
  text = replaced(text, "{name: up, devargs: d0}", "{name: up, devargs: d0, mtu: 700}");
  EXPECT_THAT(topology_errors(text), refused("700"));
  EXPECT_THAT(topology_errors(replaced(text, "mtu: 700", "mtu: 512")), IsEmpty());
  // ps2 hangs on A itself, the root of job 2.
  text = served("completion_hosts: [ps1]}", "completion_hosts: [ps2]}");
  text = replaced(replaced(text, "[ps2, ps1, root]", "[ps1, root]"), "name: s, devargs: d2",
                  "name: s, devargs: d2, mtu: 512");
  EXPECT_THAT(topology_errors(text), Contains(HasSubstr("servers[1].port: has an MTU of 512")));
  EXPECT_THAT(topology_errors(cuts(text, a)), IsEmpty());
}

// T21: the model is at one server, which is told so; the switches need not know.
TEST(Topology, T21_AJobsModelIsAtItsOnlyServer) {
  const std::string model =
      "completion_hosts: [ps1], optimizer: {kind: sgd, parameters: [10, 20]}}";
  const std::string text = served("completion_hosts: [ps1]}", model);
  const Topology t = parse_topology(text, "t.yaml");
  const ServerConfig server = server_config(t, "ps1");
  EXPECT_EQ(server.jobs.at(0).optimizer.kind, OptimizerKind::none);
  EXPECT_EQ(server.jobs.at(1).optimizer.kind, OptimizerKind::sgd);
  EXPECT_THAT(server.jobs[1].optimizer.parameters, ElementsAre(10u, 20u));
  EXPECT_EQ(dump(parse_topology(dump(t), "dump")), dump(t));
  EXPECT_THAT(server_config(parse_topology(dump(t), "dump"), "ps1").jobs[1].optimizer.parameters,
              ElementsAre(10u, 20u));
}

TEST(Topology, T21_RefusesAModelWithoutAServerOfItsOwn) {
  const auto errors = [](const std::string& hosts, const std::string& optimizer) {
    return topology_errors(
        served("completion_hosts: [ps1]}",
               "completion_hosts: " + hosts + ", optimizer: " + optimizer + "}"));
  };
  const std::string sgd = "{kind: sgd, parameters: [10]}";
  EXPECT_THAT(
      errors("[ps1, root]", sgd),
      ElementsAre(HasSubstr("jobs[1].completion_hosts: has 2 entries, and the job's model")));
  EXPECT_THAT(
      errors("[root]", sgd),
      Contains(HasSubstr("jobs[1].completion_hosts: has 1 entry, a switch, and the job's")));
  EXPECT_THAT(errors("[ps1]", "{kind: sgd, parameters: [10], schedule: {steps: 3}}"),
              ElementsAre(HasSubstr("t.yaml:23:109: jobs[1].optimizer.schedule.steps: has no")));
  EXPECT_THAT(errors("[ps1]", "{kind: sgd, parameters: [2000000000]}"),
              ElementsAre(HasSubstr("servers[0].megabytes: 256 MiB cannot hold")));
}

}  // namespace
}  // namespace tributary::config
