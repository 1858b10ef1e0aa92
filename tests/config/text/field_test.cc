// Each kind of mistake in a single key, with the exact place it is reported at.
#include "config/text/field.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/config/sample.h"

namespace tributary::config {
namespace {

class BadKey : public testing::TestWithParam<BadLine> {};
TEST_P(BadKey, IsRefusedAtItsPlace) {
  expect_refused(GetParam());
}

INSTANTIATE_TEST_SUITE_P(
    WrongType, BadKey,
    testing::Values(
        BadLine{2, "  name: [leaf0]", "f.yaml:2:9: switch.name: is a list; allowed: 1 to 64"},
        BadLine{2, "  name: {a: b}", "f.yaml:2:9: switch.name: is a mapping; allowed: 1 to 64"},
        BadLine{2, "  name:", "f.yaml:2:3: switch.name: has no value"},
        BadLine{2, "  name: \"\"", "f.yaml:2:9: switch.name: '' is not a name"},
        BadLine{2, "  name: two words", "f.yaml:2:9: switch.name: 'two words' is not a name"},
        BadLine{3, "  address: 10.77.0", "f.yaml:3:12: switch.address: '10.77.0' is not an IPv4"},
        BadLine{4, "  mac: 02:74:0a:4d:00",
                "f.yaml:4:8: switch.mac: '02:74:0a:4d:00' is not a MAC"},
        BadLine{6, "  slots: 4k",
                "f.yaml:6:10: switch.slots: '4k' is not an integer; allowed: 1 to"},
        BadLine{6, "  slots: \"4096\"", "f.yaml:6:10: switch.slots: '4096' is not an integer"},
        BadLine{6, "  slots: 0x1000", "f.yaml:6:10: switch.slots: '0x1000' is not an integer"},
        BadLine{6, "  slots: 010", "f.yaml:6:10: switch.slots: '010' is not an integer"},
        BadLine{6, "  slots: 1e3", "f.yaml:6:10: switch.slots: '1e3' is not an integer"},
        BadLine{8, "  idle_sleep_max: 200",
                "f.yaml:8:19: switch.idle_sleep_max: '200' is not a dura"},
        BadLine{9, "  memory: 256",
                "f.yaml:9:11: switch.memory: is a single value; allowed: a map"},
        BadLine{
            9, "  memory: {hugepages: no}",
            "f.yaml:9:23: switch.memory.hugepages: 'no' is not a boolean; allowed: true, false"},
        BadLine{30, "    text",
                "f.yaml:30:5: forwarding.static_macs: is a single value; allowed: a list of"},
        BadLine{12, "  - {name: w1, devargs: net_null1, mtu: 9000, vlan: {mode: hybrid}}",
                "f.yaml:12:60: ports[1].vlan.mode: 'hybrid' is unknown; allowed: transparent, "
                "access, trunk"},
        BadLine{
            12,
            "  - {name: w1, devargs: net_null1, mtu: 9000, vlan: {mode: trunk, allowed: [9-5]}}",
            "f.yaml:12:77: ports[1].vlan.allowed[0]: '9-5' is out of range; allowed: 1 to 4094, "
            "or a range of these such as 100-199"},
        BadLine{
            12,
            "  - {name: w1, devargs: net_null1, mtu: 9000, vlan: {mode: trunk, allowed: [4095]}}",
            "f.yaml:12:77: ports[1].vlan.allowed[0]: '4095' is out of range"},
        BadLine{
            12,
            "  - {name: w1, devargs: net_null1, mtu: 9000, vlan: {mode: trunk, allowed: [a-b]}}",
            "f.yaml:12:77: ports[1].vlan.allowed[0]: 'a-b' is neither a number nor a range"},
        BadLine{12, "  - {name: w1, devargs: net_null1, mtu: 9000, storm: {broadcast: -1}}",
                "f.yaml:12:66: ports[1].storm.broadcast: '-1' is out of range; allowed: 0 to "
                "10000000"},
        BadLine{31, "acl: {default: drop}",
                "f.yaml:31:16: acl.default: 'drop' is unknown; allowed: allow, deny"},
        BadLine{31, "acl: {rules: [{source: 10.0.0.1/8}]}",
                "f.yaml:31:24: acl.rules[0].source: '10.0.0.1/8' has bits beyond its prefix"},
        BadLine{31, "acl: {rules: [{source: 10.0.0.0/33}]}",
                "f.yaml:31:24: acl.rules[0].source: '10.0.0.0/33' is not an address or prefix"},
        BadLine{31, "acl: {rules: [{source: \"2001:db8::/129\"}]}",
                "f.yaml:31:24: acl.rules[0].source: '2001:db8::/129' is not an address or prefix"},
        BadLine{31, "acl: {rules: [{protocol: ospf}]}",
                "f.yaml:31:26: acl.rules[0].protocol: 'ospf' is unknown; allowed: tcp, udp"},
        BadLine{31, "acl: {rules: [{protocol: 256}]}",
                "f.yaml:31:26: acl.rules[0].protocol: '256' is out of range"},
        BadLine{31, "acl: {rules: [{ether_type: 0x88}]}",
                "f.yaml:31:28: acl.rules[0].ether_type: '0x88' is unknown; allowed: ipv4, arp"},
        BadLine{31, "acl: {rules: [{protocol: tcp, source_ports: 9-1}]}",
                "f.yaml:31:45: acl.rules[0].source_ports: '9-1' is out of range; allowed: 1 to "
                "65535"},
        BadLine{27, "  snooping: {groups: 17}",
                "f.yaml:27:22: forwarding.snooping.groups: '17' is not a power of two"},
        BadLine{11, "  - w0", "f.yaml:11:5: ports[0]: is a single value; allowed: a mapping"},
        BadLine{
            22, "    integrity: md5",
            "f.yaml:22:16: jobs[0].integrity: 'md5' is unknown; allowed: udp-checksum, crc32c"}));

INSTANTIATE_TEST_SUITE_P(
    OutOfRange, BadKey,
    testing::Values(
        BadLine{3, "  address: 239.0.0.1",
                "f.yaml:3:12: switch.address: '239.0.0.1' is not a host's"},
        BadLine{3, "  address: 127.0.0.1",
                "f.yaml:3:12: switch.address: '127.0.0.1' is not a host's"},
        BadLine{3, "  address: 0.0.0.0", "f.yaml:3:12: switch.address: '0.0.0.0' is not a host's"},
        BadLine{4, "  mac: 01:00:5e:00:00:01",
                "f.yaml:4:8: switch.mac: '01:00:5e:00:00:01' is not a u"},
        BadLine{4, "  mac: 00:00:00:00:00:00",
                "f.yaml:4:8: switch.mac: '00:00:00:00:00:00' is not a u"},
        BadLine{5, "  udp_base_port: 80",
                "f.yaml:5:18: switch.udp_base_port: '80' is out of range; al"},
        BadLine{6, "  slots: 0",
                "f.yaml:6:10: switch.slots: '0' is out of range; allowed: 1 to 1048576"},
        BadLine{6, "  slots: 99999999999999999999999",
                "f.yaml:6:10: switch.slots: '99999999999999999999999' is out of range"},
        BadLine{7, "  lcore: -2",
                "f.yaml:7:10: switch.lcore: '-2' is out of range; allowed: -1 to"},
        BadLine{8, "  idle_sleep_max: 1s",
                "f.yaml:8:19: switch.idle_sleep_max: '1s' is out of range"},
        BadLine{11, "  - {name: w0, devargs: net_null0, mtu: 9217}",
                "f.yaml:11:41: ports[0].mtu: '9217' is out of range; allowed: 256 to 9216"},
        BadLine{14, "  - id: 0", "f.yaml:14:9: jobs[0].id: '0' is out of range; allowed: 1 to"},
        BadLine{16, "    workers: 1025",
                "f.yaml:16:14: jobs[0].workers: '1025' is out of range; al"},
        BadLine{17, "    window: 60",
                "f.yaml:17:13: jobs[0].window: '60' is not a power of two; allowed: 1 to 4096, "
                "power of"},
        BadLine{
            18, "    chunk_bytes: 1001",
            "f.yaml:18:18: jobs[0].chunk_bytes: '1001' is not a multiple of 8; allowed: 8 to 8192"},
        BadLine{19, "    shards: 17",
                "f.yaml:19:13: jobs[0].shards: '17' is out of range; allowed: 1"},
        BadLine{20, "    deadline: 199ms",
                "f.yaml:20:15: jobs[0].deadline: '199ms' is out of range; allowed: 200ms to 3600s"},
        BadLine{20, "    deadline: 9000000000h",
                "f.yaml:20:15: jobs[0].deadline: '9000000000h' is out"},
        BadLine{21, "    lease: 0s",
                "f.yaml:21:12: jobs[0].lease: '0s' is out of range; allowed: 300ms"},
        BadLine{21, "    lease: -1s", "f.yaml:21:12: jobs[0].lease: '-1s' is not a duration"},
        BadLine{21, "    lease: 1500500us",
                "f.yaml:21:12: jobs[0].lease: '1500500us' is not a whole multiple of 1ms; allowed"},
        BadLine{27, "  fdb_entries: 1000",
                "f.yaml:27:16: forwarding.fdb_entries: '1000' is not a pow"},
        BadLine{31, "metrics: {listen: 127.0.0.1:65536}",
                "f.yaml:31:19: metrics.listen: '127.0.0.1:65536' is not an address and a port"},
        BadLine{32, "control: {socket: run/s}",
                "f.yaml:32:19: control.socket: 'run/s' is not a usable"},
        BadLine{32, "control: {socket: \"/run/a\\0b\"}",
                "f.yaml:32:19: control.socket: '/run/a?b' is not a usable socket path"}));

INSTANTIATE_TEST_SUITE_P(
    UnknownOrMissing, BadKey,
    testing::Values(
        BadLine{
            8, "  idle_slep_max: 1us",
            "f.yaml:8:3: switch.idle_slep_max: unknown key; did you mean 'idle_sleep_max'?; al"},
        BadLine{8, "  colour: red",
                "f.yaml:8:3: switch.colour: unknown key; allowed: name, address,"},
        BadLine{8, "  \"a.b[0]\": 1",
                "f.yaml:8:3: switch.'a.b[0]': unknown key; allowed: name, addr"},
        BadLine{
            31, "metrics: {listn: 127.0.0.1:9400}",
            "f.yaml:31:11: metrics.listn: unknown key; did you mean 'listen'?; allowed: listen"},
        BadLine{3, "", "f.yaml:2:3: switch.address: is missing; it is required"},
        BadLine{14, "  - # no id", "f.yaml:15:5: jobs[0].id: is missing; it is required"},
        BadLine{24, "      - {rank: 0}", "f.yaml:24:9: jobs[0].members[0].port: is missing"}));

TEST(UnknownKey, HintsOnlyAtWhatIsNear) {
  EXPECT_EQ(unknown_key_message("windw", {"window", "workers"}),
            "unknown key; did you mean 'window'?; allowed: window, workers");
  EXPECT_EQ(unknown_key_message("x", {"window", "workers"}),
            "unknown key; allowed: window, workers");
  EXPECT_EQ(unknown_key_message(std::string(1 << 20, 'w'), {"window"}),
            "unknown key; allowed: window");
}

}  // namespace
}  // namespace tributary::config
