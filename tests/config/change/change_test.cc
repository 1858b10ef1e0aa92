// Changes that a reload may make, and those that it refuses by name.
#include "config/change/change.h"

#include <gmock/gmock.h>

#include <stdexcept>

#include "config/load/load.h"
#include "config/topology/topology.h"

namespace tributary::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

SwitchConfig parse(const std::string& jobs, const std::string& rest = "",
                   const std::string& in_switch = "") {
  return parse_switch_config("switch:\n  address: 10.77.0.254\n" + in_switch +
                                 "ports:\n"
                                 "  - {name: a, devargs: net_null0}\n"
                                 "  - {name: b, devargs: net_null1}\n"
                                 "jobs:\n" +
                                 jobs + rest,
                             "f.yaml");
}

std::string refusal(const SwitchConfig& a, const SwitchConfig& b) {
  try {
    difference(a, b);
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "";
}

TEST(Change, JobsAreToldApartByWhatTheyAreNotByTheirPlace) {
  const auto running = parse(
      "  - {id: 1, workers: 2}\n  - {id: 2, workers: 2}\n"
      "  - {id: 3, workers: 2}\n");
  const auto next = parse(
      "  - {id: 4, workers: 2}\n  - {id: 3, workers: 3}\n"
      "  - {id: 1, workers: 2}\n");
  const Change change = difference(running, next);
  EXPECT_THAT(change.added, ElementsAre(4));
  EXPECT_THAT(change.changed, ElementsAre(3));
  EXPECT_THAT(change.kept, ElementsAre(1));
  EXPECT_THAT(change.removed, ElementsAre(2));
  EXPECT_EQ(describe(change), "jobs: 3 changed, 4 added, 2 removed; 1 as before");
  EXPECT_TRUE(difference(running, running).empty());
  EXPECT_EQ(describe(difference(running, running)), "nothing changed");
}

TEST(Change, WhatOnlyARestartChangesIsNamed) {
  const auto running = parse("  - {id: 1, workers: 2}\n");
  EXPECT_THAT(refusal(running, parse("  - {id: 1, workers: 2}\n", "", "  slots: 128\n")),
              HasSubstr("\nswitch.slots: only a restart changes it"));
  EXPECT_THAT(refusal(running, parse("  - {id: 1, workers: 2}\n", "cache: {megabytes: 3}\n")),
              HasSubstr("\ncache.megabytes: "));
  EXPECT_THAT(
      refusal(running, parse("  - {id: 1, workers: 2}\n", "metrics: {listen: '127.0.0.1:9'}\n")),
      HasSubstr("\nmetrics"));
  SwitchConfig other = running;
  other.id = 5;
  other.memory.reserve_megabytes = 1;
  EXPECT_THAT(
      refusal(running, other),
      testing::AllOf(HasSubstr("\nswitch.id: "), HasSubstr("\nswitch.memory.reserve_megabytes: ")));
}

TEST(Change, RulesForOtherFramesChangeWhileTheSwitchRuns) {
  const auto running = parse("  - {id: 1, workers: 2}\n");
  SwitchConfig next = running;
  next.ports[1].storm.broadcast_pps = 100;
  next.ports[0].vlan.mode = VlanMode::access;
  next.ports[0].vlan.id = 7;
  Change change = difference(running, next);
  EXPECT_THAT(change.kept, ElementsAre(1));
  EXPECT_FALSE(change.empty());
  EXPECT_TRUE(change.forwarding.vlans && change.forwarding.storm);
  EXPECT_FALSE(change.forwarding.acl || change.forwarding.addresses || change.forwarding.rdma);
  EXPECT_THAT(describe(change),
              testing::AllOf(HasSubstr("changed: ports[0].vlan"), HasSubstr(", ports[1].storm")));
  next = running;
  next.acl.otherwise = AclAction::deny;
  next.ports[0].max_addresses = 5;
  next.ports[0].rdma = true;
  next.forwarding.static_macs.push_back({{2, 0, 0, 0, 0, 1}, "a"});
  next.jobs[0].workers = 3;
  change = difference(running, next);
  EXPECT_TRUE(change.forwarding.acl && change.forwarding.addresses && change.forwarding.rdma);
  EXPECT_FALSE(change.forwarding.vlans || change.forwarding.storm);
  EXPECT_THAT(describe(change), HasSubstr("jobs: 1 changed; 0 as before; changed: acl"));
  next.slots = 128;  // refused whole
  EXPECT_THAT(refusal(running, next), testing::AllOf(HasSubstr("\nswitch.slots: only a restart"),
                                                     testing::Not(HasSubstr("acl"))));
}

TEST(Change, APortGetsAnotherDevice) {
  const auto running = parse("  - {id: 1, workers: 2}\n");
  SwitchConfig next = running;
  next.ports[1].devargs = "net_null7";
  EXPECT_THAT(difference(running, next).ports.exchanged, ElementsAre(1));
  EXPECT_EQ(describe(difference(running, next)), "changed: ports[1].devargs");
  EXPECT_FALSE(difference(running, next).empty());
  next.ports[0].mtu = 1400;
  next.ports[0].devargs = "net_null8";
  EXPECT_THAT(difference(running, next).ports.exchanged, ElementsAre(0, 1));
  next.ports[0].mtu = 9000;
  EXPECT_THAT(
      refusal(running, next),
      HasSubstr("ports[].mtu, jobs[].chunk_bytes: need frames of 9018 bytes; packet buffers "
                "have 2048 since the start, and only a restart makes larger ones"));
  EXPECT_THAT(difference(running, next, {9018 + 4, 4096}).ports.exchanged, ElementsAre(0, 1));
  next.ports[0] = running.ports[0];
}

// What the device is told at its start takes a new start; an MTU that only we enforce does not.
TEST(Change, C1_APortGetsMoreQueuesOrAnotherMtu) {
  auto running = parse("  - {id: 1, workers: 2}\n", "", "  lcores: [-1, -1]\n");
  SwitchConfig next = running;
  next.ports[1].mtu = 1600;
  Change change = difference(running, next, {2048, 8192});
  EXPECT_THAT(change.ports.resized, ElementsAre(1));
  EXPECT_THAT(change.ports.reopened, IsEmpty());
  EXPECT_THAT(change.kept, ElementsAre(1));
  EXPECT_EQ(describe(change), "changed: ports[1].mtu");
  EXPECT_FALSE(change.forwarding.addresses || change.forwarding.vlans);

  next.ports[1].queues = 2;
  change = difference(running, next, {2048, 8192});
  EXPECT_THAT(change.ports.reopened, ElementsAre(1));
  EXPECT_THAT(change.ports.resized, IsEmpty());
  EXPECT_FALSE(change.ports.queues_move) << "no other's";
  EXPECT_EQ(describe(change), "changed: ports[1].mtu, ports[1].queues");
  EXPECT_THAT(refusal(running, next), HasSubstr("\nports: 3 pairs of queues need"));

  // The same device with other arguments is in its own way, as is another one on its interface.
  next = running;
  next.ports[0].devargs = "net_null0,size=100";
  EXPECT_THAT(difference(running, next).ports.reopened, ElementsAre(0));
  running.ports[0].devargs = "net_vhost0,iface=/run/a";
  next.ports[0].devargs = "net_vhost1,iface=/run/a,queues=2";
  EXPECT_THAT(difference(running, next).ports.reopened, ElementsAre(0));
  next.ports[0].devargs = "net_vhost1,iface=/run/b,queues=2";
  EXPECT_THAT(difference(running, next).ports.exchanged, ElementsAre(0));
  running.ports[0].devargs = next.ports[0].devargs = "0000:01:00.0";
  next.ports[0].mtu = 1400;
  EXPECT_THAT(difference(running, next).ports.reopened, ElementsAre(0)) << "hardware has to know";
}

TEST(Change, C1_AClosedPortIsOpenedByTheNextFile) {
  const auto next = parse("  - {id: 1, workers: 2}\n");
  SwitchConfig running = next;
  running.ports[1].queues = 0;
  const Change change = difference(running, next, {2048, 4096});
  EXPECT_THAT(change.ports.reopened, ElementsAre(1));
  EXPECT_EQ(describe(change), "changed: port b is opened again");
}

TEST(Change, PortsComeAndGoByName) {
  const auto running = parse("  - {id: 1, workers: 2}\n");
  SwitchConfig next = running;
  next.ports.push_back({"c", "net_null2"});
  Change change = difference(running, next, {2048, 4096});
  EXPECT_THAT(change.ports.added, ElementsAre(2));
  EXPECT_THAT(change.kept, ElementsAre(1));
  EXPECT_TRUE(change.forwarding.vlans && change.forwarding.storm && change.forwarding.addresses);
  EXPECT_FALSE(change.ports.queues_move);
  EXPECT_EQ(describe(change), "changed: port c added");

  next = running;
  next.ports.erase(next.ports.begin());
  change = difference(running, next);
  EXPECT_THAT(change.ports.removed, ElementsAre(0));
  EXPECT_THAT(change.ports.added, IsEmpty());
  EXPECT_EQ(describe(change), "changed: port a removed");

  next.ports.push_back({"d", "net_null0", 9000});  // a's device, and not as it was
  EXPECT_EQ(describe(difference(running, next, {9100, 4096})),
            "changed: port a is called d, ports[1].mtu");
}

TEST(Change, AnotherOrderIsNoChangeAndAnotherNameIsASmallOne) {
  const auto running = parse("  - {id: 1, workers: 2, members: [{rank: 0, port: a}]}\n");
  SwitchConfig next = running;
  std::swap(next.ports[0], next.ports[1]);
  EXPECT_EQ(describe(difference(running, next)), "nothing changed");
  next.ports[1].name = "c";
  next.jobs[0].members[0].port = "c";
  const Change change = difference(running, next);
  EXPECT_THAT(change.ports.renamed, ElementsAre(0));
  EXPECT_THAT(change.ports.exchanged, IsEmpty());
  EXPECT_THAT(change.changed, ElementsAre(1)) << "it says where its ranks are";
  EXPECT_FALSE(change.forwarding.vlans);
  EXPECT_EQ(describe(change), "jobs: 1 changed; 0 as before; changed: port a is called c");
  next.ports[0].storm.broadcast_pps = 5;  // named by its place in the file
  EXPECT_THAT(describe(difference(running, next)), HasSubstr("ports[0].storm"));
}

TEST(Change, QueuesMoveToOtherLcores) {
  auto running = parse("  - {id: 1, workers: 2}\n", "", "  lcores: [-1, -1]\n");
  SwitchConfig next = running;
  next.ports[0].lcores = {0};
  next.ports[1].lcores = {0};
  const Change change = difference(running, next);
  EXPECT_TRUE(change.ports.queues_move);
  EXPECT_EQ(describe(change), "changed: ports[1].lcores") << "the other is where it was";
}

TEST(Change, PortsThatComeNeedTheirBuffers) {
  const auto running = parse("  - {id: 1, workers: 2}\n");
  SwitchConfig next = running;
  next.ports.push_back({"c", "net_null2"});
  EXPECT_THAT(
      refusal(running, next),
      HasSubstr("\nports: 3 pairs of queues need 2048 packet buffers; since the start there "
                "are 1536; switch.memory.spare_queues reserves them"));
  SwitchConfig roomy = running;
  roomy.memory.spare_queues = 1;
  next.memory.spare_queues = 1;
  EXPECT_THAT(difference(roomy, next).ports.added, ElementsAre(2));
}

TEST(Change, AJobWithServersElsewhereKeepsThem) {
  const std::string hosts =
      "  completion: {hosts: [{name: ps, address: 10.77.0.9}, {name: qs, address: 10.77.0.8}]}\n";
  const auto job = [&](const std::string& keys) {
    return parse("  - {id: 1, workers: 2" + keys + "}\n", "", hosts);
  };
  const auto served = job(", completion_hosts: [ps, root]");
  EXPECT_THAT(refusal(served, job("")), HasSubstr("\njob 1: has completion_hosts elsewhere"));
  EXPECT_THAT(refusal(job(", completion_hosts: [root]"), served), HasSubstr("\njob 1: "));
  EXPECT_THAT(refusal(served, job(", completion_hosts: [qs]")), HasSubstr("\njob 1: "));
  EXPECT_THAT(refusal(served, job(", completion_hosts: [ps, root], shards: 2")),
              HasSubstr("\njob 1: "));
  EXPECT_THAT(difference(served, job(", completion_hosts: [ps, root], window: 8")).changed,
              ElementsAre(1));
}

TEST(Change, T10_JobsWithCompletionHostsElsewhereComeAndGo) {
  const auto with = [](const std::string& hosts, const std::string& jobs) {
    return parse("  - {id: 1, workers: 2}\n" + jobs, "",
                 "  completion: {hosts: [" + hosts + "]}\n");
  };
  const auto none = parse("  - {id: 1, workers: 2}\n", "");
  const auto served = with("{name: ps, address: 10.77.0.9}",
                           "  - {id: 2, workers: 2, completion_hosts: [ps, root]}\n");
  Change change = difference(none, served);
  EXPECT_THAT(change.added, ElementsAre(2));
  EXPECT_EQ(describe(change), "jobs: 2 added; 1 as before; changed: switch.completion.hosts");
  EXPECT_THAT(difference(served, none).removed, ElementsAre(2));
  const auto moved = with("{name: ps, address: 10.77.0.8}",
                          "  - {id: 2, workers: 2, completion_hosts: [ps, root]}\n");
  EXPECT_THAT(refusal(served, moved),
              HasSubstr("\njob 2: only a restart changes where its completion hosts are"));
}

const char* const kTree = R"(
switches:
  - {name: r, id: 1, address: 10.0.0.1, ports: [{name: a, devargs: net_null0}, {name: b, devargs: net_null1}]}
  - {name: A, id: 2, address: 10.0.0.2, parent: r, parent_port: a, uplink: u, ports: [{name: u, devargs: net_null0}, {name: p, devargs: net_null1}, {name: q, devargs: net_null2}]}
  - {name: B, id: 3, address: 10.0.0.3, parent: r, parent_port: b, uplink: u, ports: [{name: u, devargs: net_null0}, {name: p, devargs: net_null1}, {name: q, devargs: net_null2}]}
workers:
  - {name: w0, switch: A, port: p}
  - {name: w1, switch: A, port: q}
  - {name: w2, switch: B, port: p}
  - {name: w3, switch: B, port: q}
jobs:
  - {id: 1, workers: 4}
  - {id: 2, workers: 1}
)";

Topology exchanged() {
  Topology t = parse_topology(kTree, "t.yaml");
  std::swap(t.workers[1].attached_to, t.workers[2].attached_to);
  std::swap(t.workers[1].port, t.workers[2].port);
  return t;
}

// Each switch has as many children and workers below as before, and the root's look the same.
TEST(Change, AJobWithServersElsewhereStaysOnItsLcore) {
  const std::string lcores = "  lcores: [-1, -1]\n";
  const std::string hosts =
      "  completion: {hosts: [{name: psd0, address: 10.77.0.200}]}\n" + lcores;
  const auto job = [](const std::string& more) {
    return "  - {id: 2, workers: 2, completion_hosts: [psd0]" + more + "}\n";
  };
  const auto running = parse(job(""), "", hosts);
  EXPECT_THAT(refusal(running, parse(job(", lcore: 1"), "", hosts)),
              HasSubstr("\njob 2: its completion hosts know it where it is"));
  EXPECT_EQ(refusal(running, parse(job(", lcore: 0"), "", hosts)), "");
  const auto plain = parse("  - {id: 2, workers: 2}\n", "", lcores);
  EXPECT_THAT(difference(plain, parse("  - {id: 2, workers: 2, lcore: 1}\n", "", lcores)).changed,
              ElementsAre(2));
}

TEST(Change, Rule16_EverySwitchOfAJobNoticesAnotherTree) {
  const Topology before = parse_topology(kTree, "t.yaml");
  for (const char* const name : {"r", "A", "B"}) {
    const auto a = node_config(before, name);
    const auto b = node_config(exchanged(), name);
    EXPECT_NE(a.jobs[0].tree_digest, 0u);
    EXPECT_NE(a.jobs[0].tree_digest, b.jobs[0].tree_digest);
    EXPECT_EQ(a.jobs[0].tree_digest, node_config(before, "r").jobs[0].tree_digest);
    EXPECT_THAT(difference(a, b).changed, ElementsAre(1)) << name;
  }
  EXPECT_THAT(difference(node_config(before, "A"), node_config(exchanged(), "A")).kept,
              ElementsAre(2))
      << "job 2 is rank 0 alone, who stays";
}

TEST(Change, Rule16_TheOrderOfTheFileIsNoOtherTree) {
  Topology t = parse_topology(kTree, "t.yaml");
  std::swap(t.switches[1], t.switches[2]);
  const auto before = node_config(parse_topology(kTree, "t.yaml"), "r");
  EXPECT_THAT(difference(before, node_config(t, "r")).changed, IsEmpty());
}

// A declared order is part of it: a switch that combines in another one makes other bits (T15).
TEST(Change, T15_ADeclaredOrderIsPartOfTheTree) {
  Topology t = parse_topology(kTree, "t.yaml");
  t.jobs[0].config.order = wire::Order::reproducible;
  const auto by_rank = node_config(t, "A").jobs[0].tree_digest;
  t.jobs[0].config.bracketing = Bracket{{{{{{}, 3}, {{}, 2}}, 0}, {{{{}, 0}, {{}, 1}}, 0}}, 0};
  EXPECT_NE(node_config(t, "A").jobs[0].tree_digest, by_rank);
}

}  // namespace
}  // namespace tributary::config
