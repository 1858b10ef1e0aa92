// Values that are fine one by one and contradict each other.
#include "config/check/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/config/sample.h"

namespace tributary::config {
namespace {

using testing::ElementsAre;
using testing::StartsWith;

class Contradiction : public testing::TestWithParam<BadLine> {};
TEST_P(Contradiction, IsRefusedAtItsPlace) {
  expect_refused(GetParam());
}

INSTANTIATE_TEST_SUITE_P(
    All, Contradiction,
    testing::Values(
        BadLine{12, "  - {name: w1, devargs: net_null0, mtu: 9000}",
                "f.yaml:12:25: ports[1].devargs: device 'net_null0' is already used by "
                "ports[0].devargs on line 11"},
        BadLine{
            11,
            "  - {name: w0, devargs: \"net_vhost0,iface=/run/v\", mtu: 9000}\n"
            "  - {name: x, devargs: \"net_vhost1,iface=/run//v\", mtu: 9000}",
            "f.yaml:12:24: ports[1].devargs: port 'x' wants socket '/run/v', which port 'w0' on "
            "line 11 has; allowed: another one for each port"},
        BadLine{11,
                "  - {name: w0, devargs: \"net_memif0,role=server,socket=/m,id=1\", mtu: 9000}\n"
                "  - {name: x, devargs: \"net_memif1,role=server,socket=/m,id=1\", mtu: 9000}",
                "f.yaml:12:24: ports[1].devargs: port 'x' wants socket '/m' with id 1, which port "
                "'w0' on line 11 has"},
        BadLine{11,
                "  - {name: w0, devargs: \"net_af_packet0,iface=e\", mtu: 9000}\n"
                "  - {name: x, devargs: \"net_af_packet1,iface=e\", mtu: 9000}",
                "f.yaml:12:24: ports[1].devargs: port 'x' wants interface 'e', which port 'w0' on "
                "line 11 has"},
        BadLine{12, "  - {name: w1, devargs: net_null1, mtu: 9000, vlan: {mode: access}}",
                "f.yaml:12:53: ports[1].vlan.id: is missing; an access port has one VLAN"},
        BadLine{12, "  - {name: w1, devargs: net_null1, mtu: 9000, vlan: {mode: trunk, id: 3}}",
                "f.yaml:12:71: ports[1].vlan.id: is of access ports only"},
        BadLine{12, "  - {name: w1, devargs: net_null1, mtu: 9000, vlan: {native: 3}}",
                "f.yaml:12:62: ports[1].vlan.native: is of trunks only"},
        BadLine{
            12,
            "  - {name: w1, devargs: net_null1, mtu: 9000, vlan: {mode: access, id: 3, allowed: "
            "[3]}}",
            "f.yaml:12:84: ports[1].vlan.allowed: is of trunks only"},
        BadLine{12, "  - {name: w1, devargs: net_null1, mtu: 9000, paths: [10.0.0.1, 10.0.0.1]}",
                "f.yaml:12:65: ports[1].paths[1]: is in ports[1].paths[0], too; allowed: one port"},
        BadLine{12,
                "  - {name: w1, devargs: net_null1, mtu: 9000, paths: [10.0.0.1], vlan: {mode: "
                "none}}",
                "f.yaml:12:54: ports[1].paths: the port is in no VLAN; allowed: another vlan.mode, "
                "such as paths"},
        BadLine{12, "  - {name: w1, devargs: net_null1, mtu: 9000, paths: [10.0.0.1/24]}",
                "f.yaml:12:55: ports[1].paths[0]: '10.0.0.1/24' has bits beyond its prefix"},
        BadLine{
            12, "  - {name: w1, devargs: net_null1, mtu: 9000, paths: ['01:00:5e:00:00:01']}",
            "f.yaml:12:55: ports[1].paths[0]: '01:00:5e:00:00:01' is not a unicast MAC address"},
        BadLine{12, "  - {name: w1, devargs: net_null1, mtu: 9000, paths: [w0]}",
                "f.yaml:12:55: ports[1].paths[0]: 'w0' is not an address or prefix; allowed: a "
                "unicast MAC "},
        BadLine{31, "acl: {rules: [{port: w9}]}",
                "f.yaml:31:22: acl.rules[0].port: there is no port 'w9'; allowed: w0, w1"},
        BadLine{31, "acl: {rules: [{name: a}, {name: a}]}",
                "f.yaml:31:33: acl.rules[1].name: name 'a' is already used by acl.rules[0]"},
        BadLine{31, "acl: {rules: [{}, {name: rule-0}]}",
                "f.yaml:31:26: acl.rules[1].name: name 'rule-0' is already used by acl.rules[0]"},
        BadLine{31, "acl: {rules: [{action: allow, watch: 64}]}",
                "f.yaml:31:38: acl.rules[0].watch: needs telemetry; allowed: with "
                "switch.telemetry.node_id"},
        BadLine{31, "acl: {rules: [{action: deny, watch: 1}]}",
                "f.yaml:31:37: acl.rules[0].watch: is of frames that go on; allowed: with action: "
                "allow"},
        BadLine{31, "acl: {rules: [{source: 10.0.0.0/8, destination: \"::1\"}]}",
                "f.yaml:31:49: acl.rules[0].destination: and `source` are not both IPv4"},
        BadLine{31, "acl: {rules: [{ether_type: arp, protocol: tcp}]}",
                "f.yaml:31:28: acl.rules[0].ether_type: has no IP addresses or protocols"},
        BadLine{31, "acl: {rules: [{ether_type: ipv6, source: 10.0.0.1}]}",
                "f.yaml:31:28: acl.rules[0].ether_type: is not that of the addresses; allowed: "
                "ipv4"},
        BadLine{31, "acl: {rules: [{destination_ports: 80}]}",
                "f.yaml:31:35: acl.rules[0].destination_ports: needs a protocol that has ports"},
        BadLine{27, "  snooping: {host_ports: [up]}",
                "f.yaml:27:27: forwarding.snooping.host_ports[0]: there is no port 'up'"},
        BadLine{27, "  snooping: {router_ports: [w0], host_ports: [w0]}",
                "f.yaml:27:47: forwarding.snooping.host_ports[0]: 'w0' is in router_ports, too; "
                "allowed: one of the two"},
        BadLine{27, "  snooping: {router_ports: [w0, up]}",
                "f.yaml:27:33: forwarding.snooping.router_ports[1]: there is no port 'up'"},
        BadLine{13, "jobs:\n  - {id: 1, workers: 1}",
                "f.yaml:15:9: jobs[1].id: id 1 is already used by jobs[0]"},
        BadLine{13, "jobs:\n  - {id: 65537, workers: 1}",
                "f.yaml:15:9: jobs[1].id: shares its low 16 bits with id 65537 of jobs[0], so both "
                "would use the multicast group 239.195.0.1; allowed: ids that differ modulo 65536"},
        BadLine{
            13, "jobs:\n  - {id: 2, name: train, workers: 1}",
            "f.yaml:16:11: jobs[1].name: name 'train' is already used by jobs[0].name on line 14"},
        BadLine{22, "    stragglers: {exclude: threshold, recovered_below: 101ms}",
                "f.yaml:22:55: jobs[0].stragglers.recovered_below: a child that is well again "
                "would be excluded again; allowed: at most `threshold`"},
        BadLine{22, "    stragglers: {exclude: latest}",
                "f.yaml:22:27: jobs[0].stragglers.exclude: 'latest' is unknown; allowed: "
                "none, largest, threshold"},
        BadLine{22, "    stragglers: {ops: 33}",
                "f.yaml:22:23: jobs[0].stragglers.ops: '33' is out of range; allowed: 1 to 32"},
        BadLine{25, "      - {rank: 0, port: w1}",
                "f.yaml:25:16: jobs[0].members[1].rank: rank 0 is already used by "
                "jobs[0].members[0].rank on line 24"},
        BadLine{
            25, "      - {rank: 2, port: w1}",
            "f.yaml:25:16: jobs[0].members[1].rank: rank 2 is outside the job; allowed: 0 to 1"},
        BadLine{25, "      - {rank: 1, port: w9}",
                "f.yaml:25:25: jobs[0].members[1].port: there is no port 'w9'; allowed: w0, w1"},
        BadLine{
            30, "    - {mac: 00:00:5e:00:01:01, port: w9}",
            "f.yaml:30:38: forwarding.static_macs[0].port: there is no port 'w9'; allowed: w0, w1"},
        BadLine{30, "    - {mac: 02:74:0a:4d:00:fe, port: w0}",
                "f.yaml:30:13: forwarding.static_macs[0].mac: is the switch's own address"},
        BadLine{
            30,
            "    - {mac: 00:00:5e:00:01:01, port: w0}\n    - {mac: 00:00:5E:00:01:01, port: w1}",
            "f.yaml:31:13: forwarding.static_macs[1].mac: address 00:00:5e:00:01:01 is already "
            "used"},
        BadLine{
            6, "  slots: 63",
            "f.yaml:6:10: switch.slots: 63 slots cannot hold the windows of all jobs, 64 together; "
            "allowed: at least 64"},
        BadLine{5, "  udp_base_port: 4791",
                "f.yaml:5:18: switch.udp_base_port: ports 4791 to 4791 include 4791, which is "
                "RoCEv2's; "
                "allowed: below 4791 or above 4791"},
        BadLine{25, "    completion_hosts: [ps1, root]",
                "f.yaml:25:24: jobs[0].completion_hosts[0]: there is no completion host 'ps1'; "
                "allowed: root, or a name in switch.completion.hosts"},
        BadLine{2, "  completion: {hosts: [{name: root, address: 10.0.0.1}]}",
                "f.yaml:2:31: switch.completion.hosts[0].name: means the switch itself; allowed: "
                "any other name"},
        BadLine{2, "  completion: {hosts: [{name: a, address: 10.77.0.254}]}",
                "f.yaml:2:43: switch.completion.hosts[0].address: is the switch's own; allowed: a "
                "server's"},
        BadLine{2, "  completion: {hosts: [{name: a, address: 10.0.0.1, port: w9}]}",
                "f.yaml:2:59: switch.completion.hosts[0].port: there is no port 'w9'; allowed: "
                "w0, w1"},
        BadLine{2,
                "  completion: {hosts: [{name: a, address: 10.0.0.1}, {name: b, address: "
                "10.0.0.1}]}",
                "f.yaml:2:73: switch.completion.hosts[1].address: address 10.0.0.1 is already "
                "used by switch.completion.hosts[0].address on line 2"}));

// Protocol rule 17: 8,192 bytes need 146 more for IP, UDP, header and extensions.
TEST(ChunkSize, MustFitTheSmallestMtuOfTheJobsPorts) {
  const auto with_mtu = [](const char* mtu) {
    return sample_with(12, std::string("  - {name: w1, devargs: net_null1, mtu: ") + mtu + "}");
  };
  EXPECT_THAT(errors_of(with_mtu("8338")), ElementsAre());
  EXPECT_THAT(errors_of(with_mtu("8337")),
              ElementsAre("f.yaml:18:18: jobs[0].chunk_bytes: 8192 bytes and 146 of headers exceed "
                          "the MTU of port 'w1', 8337; allowed: at most 8184, an mtu of at least "
                          "8338, or switch.fragments.datagrams for packets that are cut"));
}

// C1: cut, they are shorter.
TEST(ChunkSize, MayExceedTheMtuWherePacketsAreCut) {
  const std::string small = "  - {name: w1, devargs: net_null1, mtu: 1500}";
  std::string text = sample_with(12, small);
  EXPECT_THAT(errors_of(text), ElementsAre(testing::HasSubstr("switch.fragments.datagrams")));
  text.insert(text.find("switch:\n") + 8, "  fragments: {datagrams: 64, timeout: 20ms}\n");
  EXPECT_THAT(errors_of(text), ElementsAre());
}

TEST(ChunkSize, PortsThatAFullyPinnedJobCannotUseDoNotMatter) {
  const std::string third =
      "  - {name: w1, devargs: net_null1, mtu: 9000}\n"
      "  - {name: w2, devargs: net_null2, mtu: 1500}";
  EXPECT_THAT(errors_of(sample_with(12, third)), ElementsAre());
  std::string unpinned = sample_with(12, third);
  unpinned.replace(unpinned.find("      - {rank: 1, port: w1}\n"), 28, "");
  EXPECT_THAT(errors_of(unpinned),
              ElementsAre(StartsWith("f.yaml:19:18: jobs[0].chunk_bytes: 8192 bytes and 146")));
}

TEST(Memory, HoldsTheLeastThatThePortsNeed) {
  const auto with_ports = [](int count, const char* megabytes) {
    std::string text = std::string("switch: {address: 10.0.0.1, memory: {megabytes: ") + megabytes +
                       "}}\nports:\n";
    for (int i = 0; i < count; ++i) {
      const std::string n = std::to_string(i);
      text.append("  - {name: p").append(n).append(", devargs: net_null").append(n);
      text += ", mtu: 9000}\n";
    }
    return text;
  };
  EXPECT_THAT(errors_of(with_ports(3, "35")), ElementsAre());
  EXPECT_THAT(errors_of(with_ports(3, "34")),
              ElementsAre("f.yaml:1:49: switch.memory.megabytes: 34 MiB cannot hold 2048 packet "
                          "buffers of 9018 bytes for 3 ports and what DPDK itself takes; allowed: "
                          "at least 35"));
}

TEST(Completion, HoldsAChunkOfEachJob) {
  const auto with = [](const char* megabytes) {
    return std::string("switch: {address: 10.0.0.1, completion: {megabytes: ") + megabytes +
           "}}\nports: [{name: a, devargs: net_null0, mtu: 9000}]\n"
           "jobs: [{id: 1, workers: 128, chunk_bytes: 8192}, {id: 2, workers: 1}]\n";
  };
  EXPECT_THAT(errors_of(with("2")), ElementsAre());
  EXPECT_THAT(
      errors_of(with("1")),
      ElementsAre("f.yaml:1:53: switch.completion.megabytes: 1 MiB cannot hold one chunk of "
                  "every job, workers x chunk_bytes each; allowed: at least 2"));
}

TEST(UdpPorts, AllShardsCount) {
  EXPECT_THAT(
      errors_of("switch: {address: 10.0.0.1, udp_base_port: 65533}\n"
                "ports: [{name: a, devargs: net_null0}]\n"
                "jobs: [{id: 1, workers: 2, shards: 4}]\n"),
      ElementsAre("f.yaml:1:44: switch.udp_base_port: ports 65533 to 65536 of 4 shards pass "
                  "65535; allowed: at most 65532"));
  EXPECT_THAT(errors_of("switch: {address: 10.0.0.1, udp_base_port: 4788}\n"
                        "ports: [{name: a, devargs: net_null0}]\n"
                        "jobs: [{id: 1, workers: 2, shards: 4}]\n"),
              ElementsAre(StartsWith("f.yaml:1:44: switch.udp_base_port: ports 4788 to 4791")));
}

TEST(Slots, AreSharedByAllJobs) {
  EXPECT_THAT(errors_of("switch: {address: 10.0.0.1, slots: 100}\n"
                        "ports: [{name: a, devargs: net_null0}]\n"
                        "jobs:\n"
                        "  - {id: 1, workers: 2, window: 64}\n"
                        "  - {id: 2, workers: 2, window: 64}\n"),
              ElementsAre(StartsWith("f.yaml:1:36: switch.slots: 100 slots cannot hold")));
}

// A value that could not be read is reported once, not again by every rule that needs it.
TEST(Check, SkipsWhatCouldNotBeRead) {
  EXPECT_THAT(errors_of(sample_with(11, "  - {name: [], devargs: \"net_null0\", mtu: 9000}")),
              ElementsAre(StartsWith("f.yaml:11:12: ports[0].name: is a list")));
  EXPECT_THAT(errors_of(sample_with(16, "    workers: x")),
              ElementsAre(StartsWith("f.yaml:16:14: jobs[0].workers: 'x' is not an integer")));
  EXPECT_THAT(errors_of(sample_with(6, "  slots: x")),
              ElementsAre(StartsWith("f.yaml:6:10: switch.slots: 'x' is not an integer")));
}

// The root never falls silent: it can only be the last.
TEST(CompletionHosts, TheRootIsTheLast) {
  const std::string text =
      "switch: {address: 10.0.0.9, completion: {hosts: [{name: a, address: 10.0.0.1}]}}\n"
      "ports: [{name: p, devargs: net_null0}]\n"
      "jobs: [{id: 1, workers: 2, completion_hosts: ";
  EXPECT_THAT(errors_of(text + "[a, root]}]\n"), ElementsAre());
  EXPECT_THAT(errors_of(text + "[root, a]}]\n"),
              ElementsAre(StartsWith("f.yaml:3:47: jobs[0].completion_hosts[0]: never falls "
                                     "silent, so no host would follow it; allowed: as the last")));
  EXPECT_THAT(errors_of(text + "[a, a]}]\n"),
              ElementsAre(StartsWith("f.yaml:3:50: jobs[0].completion_hosts[1]: host 'a' is "
                                     "already used")));
}

// One memif socket serves many ports by their ids.
TEST(Check, PortsMayShareAMemifSocket) {
  EXPECT_NO_THROW(parse_switch_config(
      sample_with(11,
                  "  - {name: w0, devargs: \"net_memif0,role=server,socket=/m,id=1\", mtu: 9000}\n"
                  "  - {name: x, devargs: \"net_memif1,role=server,socket=/m,id=2\", mtu: 9000}"),
      "f.yaml"));
}

}  // namespace
}  // namespace tributary::config
