// Further ways up of a switch: which one is in use, and what each switch is told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/topology/topology_tree.h"
#include "tests/config/topology_sample.h"

namespace tributary::config {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// R hangs on A or on B, which are both on L.
std::string diamond(const std::string& ways) {
  return "switches:\n"
         "  - {name: L, id: 1, address: 10.0.0.1, telemetry: {node_id: 1, report_to: "
         "'10.9.9.9:1'},\n"
         "     ports: [{name: a, devargs: d0}, {name: b, devargs: d1}, {name: w, devargs: d2}]}\n"
         "  - {name: A, id: 2, address: 10.0.0.2, parent: L, parent_port: a, uplink: up,\n"
         "     aggregate: false, telemetry: {node_id: 2, report_to: '10.9.9.9:1'},\n"
         "     ports: [{name: up, devargs: d0}, {name: r, devargs: d1}]}\n"
         "  - {name: B, id: 3, address: 10.0.0.3, parent: L, parent_port: b, uplink: up,\n"
         "     aggregate: false, telemetry: {node_id: 3, report_to: '10.9.9.9:1'},\n"
         "     ports: [{name: up, devargs: d0}, {name: r, devargs: d1}]}\n"
         "  - {name: R, id: 4, address: 10.0.0.4, parent: A, parent_port: r, uplink: a,\n"
         "     telemetry: {node_id: 4, report_to: '10.9.9.9:1'},\n"
         "     ports: [{name: a, devargs: d0}, {name: b, devargs: d1}, {name: w, devargs: d2}]" +
         ways +
         "}\n"
         "workers:\n"
         "  - {name: x, switch: L, port: w}\n"
         "  - {name: y, switch: R, port: w}\n"
         "jobs:\n"
         "  - {id: 1, workers: 2}\n";
}
const std::string kWays = ", other_uplinks: [{parent: B, parent_port: r, uplink: b}]";

TEST(TopologyUplinks, C7_TheActiveWayIsTheTree) {
  const Topology by_a = parse_topology(diamond(kWays), "t");
  const Topology by_b = parse_topology(diamond(kWays + ", active_uplink: b"), "t");
  EXPECT_EQ(job_at(by_a, "R").parent->uplink, "a");
  EXPECT_EQ(job_at(by_b, "R").parent->uplink, "b");
  EXPECT_EQ(job_at(by_a, "L").children.at(1).port, "a");
  EXPECT_EQ(job_at(by_b, "L").children.at(1).port, "b");
  EXPECT_EQ(job_at(by_a, "L").tree_digest, job_at(by_b, "L").tree_digest)
      << "the same switches sum the same ranks";
}

TEST(TopologyUplinks, C7_EndsOfOtherWaysAreInNoVlan) {
  const Topology by_a = parse_topology(diamond(kWays), "t");
  EXPECT_THAT(ports_in(by_a, "R", VlanMode::none), ElementsAre("b"));
  EXPECT_THAT(ports_in(by_a, "B", VlanMode::none), ElementsAre("r"));
  EXPECT_THAT(ports_in(by_a, "A", VlanMode::none), IsEmpty());
  EXPECT_THAT(ports_in(by_a, "L", VlanMode::none), IsEmpty());
  const Topology by_b = parse_topology(diamond(kWays + ", active_uplink: b"), "t");
  EXPECT_THAT(ports_in(by_b, "R", VlanMode::none), ElementsAre("a"));
  EXPECT_THAT(ports_in(by_b, "A", VlanMode::none), ElementsAre("r"));
  EXPECT_THAT(ports_in(by_b, "B", VlanMode::none), IsEmpty());
}

TEST(TopologyUplinks, AllWaysAreOfTheTelemetryDomain) {
  const SwitchConfig r = node_config(parse_topology(diamond(kWays), "t"), "R");
  std::vector<std::string> trusted;
  for (const TelemetryPort& port : r.telemetry.ports)
    if (port.trusted) trusted.push_back(port.port);
  EXPECT_THAT(trusted, testing::UnorderedElementsAre("a", "b"));
}

TEST(TopologyUplinks, ADumpedTopologyIsTheSame) {
  for (const std::string active : {"", ", active_uplink: a", ", active_uplink: b"}) {
    const Topology read = parse_topology(diamond(kWays + active), "t");
    const std::string text = dump(read);
    EXPECT_EQ(dump(parse_topology(text, "again")), text);
    EXPECT_EQ(job_at(parse_topology(text, "again"), "R").parent->uplink,
              job_at(read, "R").parent->uplink);
  }
}

TEST(TopologyUplinks, MistakesAreNamed) {
  const auto expect = [](const std::string& ways, const std::string& error) {
    EXPECT_THAT(topology_errors(diamond(ways)), Contains(HasSubstr(error))) << ways;
  };
  expect(kWays + ", active_uplink: w",
         "switches[3].active_uplink: 'w' is no way up of R; allowed: a, b");
  expect(", other_uplinks: [{parent: Q, parent_port: r, uplink: b}]", "'Q' is no other switch");
  expect(", other_uplinks: [{parent: R, parent_port: w, uplink: b}]", "'R' is no other switch");
  expect(", other_uplinks: [{parent: B, parent_port: q, uplink: b}]", "switch B has no port 'q'");
  expect(", other_uplinks: [{parent: B, parent_port: r, uplink: q}]", "switch R has no port 'q'");
  expect(", other_uplinks: [{parent: B, parent_port: r, uplink: a}]",
         "'a' is the port of another way");
  expect(", other_uplinks: [{parent: B, parent_port: r, uplink: w}]",
         "port 'w' leads to worker y; allowed: a port of its own");
  EXPECT_THAT(topology_errors(small_with("ports: [{name: a, devargs: d0}",
                                         "active_uplink: a, ports: [{name: a, devargs: d0}")),
              Contains(HasSubstr("has other ways up, and no parent")));
}

TEST(TopologyUplinks, C7_AWayThatWouldMakeALoopIsRefusedWithTheCycle) {
  // A may hang on R, which hangs on A.
  const std::string text =
      replaced(diamond(kWays), "uplink: up,\n     aggregate: false, telemetry: {node_id: 2",
               "uplink: up,\n     other_uplinks: [{parent: R, parent_port: spare, uplink: back}],\n"
               "     active_uplink: back, aggregate: false, telemetry: {node_id: 2");
  const std::string with_ports = replaced(
      replaced(text, "[{name: up, devargs: d0}, {name: r, devargs: d1}]",
               "[{name: up, devargs: d0}, {name: r, devargs: d1}, {name: back, devargs: d7}]"),
      "{name: b, devargs: d1}, {name: w, devargs: d2}], other",
      "{name: b, devargs: d1}, {name: w, devargs: d2}, {name: spare, devargs: d8}], other");
  EXPECT_THAT(topology_errors(with_ports), Contains(HasSubstr("is a cycle: A -> R -> A")));
}

}  // namespace
}  // namespace tributary::config
