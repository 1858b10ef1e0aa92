// C5, C6: keys of in-band telemetry, what they ask of each other, and what a topology derives.
#include "config/check/check_telemetry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/topology/topology.h"
#include "tests/config/sample.h"

namespace tributary::config {
namespace {

class BadTelemetry : public testing::TestWithParam<BadLine> {};
TEST_P(BadTelemetry, IsRefusedAtItsPlace) {
  expect_refused(GetParam());
}

// Line 6 of the sample has only a default.
INSTANTIATE_TEST_SUITE_P(
    C5, BadTelemetry,
    testing::Values(
        BadLine{6, "  telemetry: {node_id: 1}",
                "f.yaml:6:14: switch.telemetry.report_to: is missing; with node_id, the address"},
        BadLine{6, "  telemetry: {report_to: 10.0.0.9:32766}",
                "f.yaml:6:14: switch.telemetry.node_id: is missing; with report_to"},
        BadLine{6, "  telemetry: {key_file: /etc/tributary/telemetry.key}",
                "f.yaml:6:14: switch.telemetry.node_id: is missing; with key_file"},
        BadLine{6, "  telemetry: {node_id: 1, report_to: 10.0.0.9:1, key_file: key}",
                "f.yaml:6:60: switch.telemetry.key_file: 'key'"},
        BadLine{6, "  telemetry: {node_id: 1, report_to: 10.0.0.9:0}",
                "f.yaml:6:38: switch.telemetry.report_to: has port 0"},
        BadLine{6, "  telemetry: {node_id: 1, report_to: nowhere}",
                "f.yaml:6:38: switch.telemetry.report_to: 'nowhere'"},
        BadLine{6, "  telemetry: {node_id: 1, report_to: 10.0.0.9:1, ports: [{port: w9}]}",
                "f.yaml:6:65: switch.telemetry.ports[0].port: there is no port 'w9'; allowed: w0"},
        BadLine{6,
                "  telemetry: {node_id: 1, report_to: 10.0.0.9:1, ports: [{port: w0}, {port: w0}]}",
                "f.yaml:6:77: switch.telemetry.ports[1].port: 'w0' is listed already"},
        BadLine{6, "  telemetry: {node_id: 1, report_to: 10.0.0.9:1, udp_port: 47000}",
                "f.yaml:6:60: switch.telemetry.udp_port: 47000 is one of the ports of jobs"},
        BadLine{6, "  telemetry: {node_id: 1, report_to: 10.0.0.9:1, udp_port: 4791}",
                "f.yaml:6:60: switch.telemetry.udp_port: is RoCEv2's"},
        BadLine{
            6, "  telemetry: {node_id: 1, report_to: 10.0.0.9:1, probe: 251ms}",
            "f.yaml:6:57: switch.telemetry.probe: '251ms' is out of range; allowed: 0s to 250ms"},
        BadLine{6, "  telemetry: {ioam: {ports: [w0]}}",
                "f.yaml:6:14: switch.telemetry.node_id: is missing; with ioam.ports"},
        BadLine{6, "  telemetry: {node_id: 1, report_to: 10.0.0.9:1, ioam: {ports: [w9]}}",
                "f.yaml:6:65: switch.telemetry.ioam.ports[0]: there is no port 'w9'; allowed: w0"},
        BadLine{6, "  telemetry: {node_id: 1, report_to: 10.0.0.9:1, ioam: {ports: [w0, w0]}}",
                "f.yaml:6:69: switch.telemetry.ioam.ports[1]: 'w0' is listed already"},
        BadLine{6, "  telemetry: {node_id: 16777215, report_to: 10.0.0.9:1, ioam: {ports: [w0]}}",
                "f.yaml:6:24: switch.telemetry.node_id: 16777215 has no place in an IOAM trace"},
        BadLine{6, "  telemetry: {node_id: 1, report_to: 10.0.0.9:1, ioam: {namespace: 65536}}",
                "f.yaml:6:68: switch.telemetry.ioam.namespace: '65536' is out of range"},
        BadLine{6, "  telemetry: {node_id: 1, report_to: 10.0.0.9:1, dscp: 64}",
                "f.yaml:6:56: switch.telemetry.dscp: '64'"}));

constexpr const char* kOn =
    "switch:\n"
    "  address: 10.77.0.254\n"
    "  telemetry:\n"
    "    {node_id: 3, report_to: '10.0.0.9:32766', strip: mtu, dscp: 23, most_hops: 4,\n"
    "     ports: [{port: a, trusted: true, mbps: 25000}],\n"
    "     ioam: {namespace: 42, ports: [a]}}\n"
    "ports: [{name: a, devargs: net_null0, mtu: MTU}]\n"
    "jobs: [{id: 1, workers: 2, chunk_bytes: 1024,\n"
    "        telemetry: {latency: true, bandwidth: true, every: 16}}]\n";

std::string with_mtu(std::size_t mtu) {
  std::string text = kOn;
  return text.replace(text.find("MTU"), 3, std::to_string(mtu));
}

TEST(Telemetry, C5_KeysAreReadAndWrittenBack) {
  const SwitchConfig config = parse_switch_config(with_mtu(1500), "f.yaml");
  EXPECT_TRUE(config.telemetry.enabled());
  EXPECT_EQ(config.telemetry.strip, StripRule::mtu);
  EXPECT_EQ(config.telemetry.dscp, 23);
  EXPECT_EQ(config.telemetry.most_hops, 4);
  EXPECT_EQ(config.telemetry.ports, (std::vector{TelemetryPort{"a", true, 25000}}));
  EXPECT_EQ(config.telemetry.ioam, (IoamConfig{42, {"a"}}));
  EXPECT_EQ(config.jobs[0].telemetry, (JobTelemetry{true, true, 16}));
  const SwitchConfig again = parse_switch_config(dump(config), "again.yaml");
  EXPECT_EQ(again.telemetry, config.telemetry);
  EXPECT_EQ(again.jobs[0].telemetry, config.jobs[0].telemetry);
}

// Protocol rule 17: a full chunk has room for a hop on every port of the job.
TEST(Telemetry, Rule17_AChunkLeavesRoomForAHop) {
  const std::size_t bytes =
      metadata_bytes({.latency = true, .bandwidth = true, .every = 1}) + 1024 + 146;
  EXPECT_NO_THROW(parse_switch_config(with_mtu(bytes), "f.yaml"));
  EXPECT_THROW(parse_switch_config(with_mtu(bytes - 1), "f.yaml"), ConfigErrors);
}

constexpr const char* kTree =
    "switches:\n"
    "  - name: root\n"
    "    id: 1\n"
    "    address: 10.77.0.1\n"
    "    ports: [{name: a, devargs: net_null0}, {name: b, devargs: net_null1}]\n"
    "    telemetry: {node_id: 1, report_to: '10.0.0.9:32766', ports: [{port: a, mbps: 100}]}\n"
    "  - name: A\n"
    "    id: 2\n"
    "    address: 10.77.0.2\n"
    "    parent: root\n"
    "    parent_port: a\n"
    "    uplink: up\n"
    "    ports: [{name: up, devargs: net_null2}, {name: w, devargs: net_null3}]\n"
    "    telemetry: {node_id: 2, report_to: '10.0.0.9:32766'}\n"
    "  - name: B\n"
    "    id: 3\n"
    "    address: 10.77.0.3\n"
    "    parent: root\n"
    "    parent_port: b\n"
    "    uplink: up\n"
    "    ports: [{name: up, devargs: net_null4}]\n"
    "workers: []\n";

TEST(Telemetry, C5_ATopologyTrustsThePortsBetweenItsSwitchesWithTelemetry) {
  const Topology tree = parse_topology(kTree, "t.yaml");
  EXPECT_EQ(node_config(tree, "root").telemetry.ports,
            (std::vector{TelemetryPort{"a", true, 100}}));
  EXPECT_EQ(node_config(tree, "A").telemetry.ports, (std::vector{TelemetryPort{"up", true, 0}}));
  EXPECT_TRUE(node_config(tree, "B").telemetry.ports.empty());
}

}  // namespace
}  // namespace tributary::config
