// Pinned paths in a topology: what each switch is told, and loops (C7).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/change/override.h"
#include "config/topology/topology_tree.h"
#include "tests/config/topology_sample.h"

namespace tributary::config {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// R hangs on A, and might on B; both are on L. x is on L, y on R.
struct Paths {
  std::string l_b;
  std::string b_r;
  std::string r_b;
};
std::string diamond(const Paths& paths) {
  const auto of = [](const std::string& list) { return list.empty() ? "" : ", paths: " + list; };
  return "switches:\n"
         "  - {name: L, id: 1, address: 10.0.0.1, ports: [{name: a, devargs: d0},\n"
         "     {name: b, devargs: d1" +
         of(paths.l_b) +
         "}, {name: w, devargs: d2}]}\n"
         "  - {name: A, id: 2, address: 10.0.0.2, parent: L, parent_port: a, uplink: up,\n"
         "     ports: [{name: up, devargs: d0}, {name: r, devargs: d1}], aggregate: false}\n"
         "  - {name: B, id: 3, address: 10.0.0.3, parent: L, parent_port: b, uplink: up,\n"
         "     ports: [{name: up, devargs: d0}, {name: r, devargs: d1" +
         of(paths.b_r) +
         "}], aggregate: false}\n"
         "  - {name: R, id: 4, address: 10.0.0.4, parent: A, parent_port: r, uplink: a,\n"
         "     other_uplinks: [{parent: B, parent_port: r, uplink: b}],\n"
         "     ports: [{name: a, devargs: d0}, {name: b, devargs: d1" +
         of(paths.r_b) +
         "}, {name: w, devargs: d2}]}\n"
         "workers:\n"
         "  - {name: x, switch: L, port: w, address: 10.0.1.1}\n"
         "  - {name: y, switch: R, port: w, address: 10.0.1.2}\n"
         "jobs:\n"
         "  - {id: 1, workers: 2}\n";
}
const Paths kToY = {.l_b = "[10.0.1.2]", .b_r = "[10.0.1.2]", .r_b = {}};

TEST(TopologyPaths, C7_EndsOfOtherWaysTakePathsWhereThereAreSome) {
  const Topology with = parse_topology(diamond(kToY), "t");
  EXPECT_THAT(ports_in(with, "B", VlanMode::paths), ElementsAre("r"));
  EXPECT_THAT(ports_in(with, "R", VlanMode::paths), ElementsAre("b"));
  EXPECT_THAT(ports_in(with, "L", VlanMode::paths), IsEmpty());
  const SwitchConfig b = node_config(with, "B");
  ASSERT_EQ(b.ports[1].paths.size(), 1u);
  EXPECT_EQ(b.ports[1].paths[0].prefix.bits, 32);
  const Topology without = parse_topology(diamond({}), "t");
  EXPECT_THAT(ports_in(without, "B", VlanMode::paths), IsEmpty());
  EXPECT_EQ(dump(parse_topology(dump(with), "again")), dump(with));
}

TEST(TopologyPaths, C7_APathThatTheNextSwitchSendsBackIsRefusedWithTheCycle) {
  // B does not know of it, and its tree leads back to L.
  EXPECT_THAT(topology_errors(diamond({.l_b = "[10.0.1.2]", .b_r = {}, .r_b = {}})),
              Contains(HasSubstr("switches[0].ports[1].paths: the way of 10.0.1.2/32 is a cycle: "
                                 "L -> B -> L")));
  EXPECT_THAT(topology_errors(diamond({.l_b = "[10.0.1.0/24]", .b_r = {}, .r_b = {}})),
              Contains(HasSubstr("the way of 10.0.1.1/32 is a cycle: L -> B -> L")));
  // Also where the file does not say where the destination is.
  EXPECT_THAT(topology_errors(diamond(
                  {.l_b = {}, .b_r = "['02:00:00:00:00:09']", .r_b = "['02:00:00:00:00:09']"})),
              Contains(HasSubstr("02:00:00:00:00:09 is a cycle: B -> R -> B")));
  EXPECT_THAT(topology_errors(diamond(kToY)), IsEmpty());
}

TEST(TopologyPaths, C7_ALongerPrefixLeadsOutOfAShortersWay) {
  EXPECT_THAT(
      topology_errors(diamond({.l_b = "[10.0.1.2]", .b_r = "[10.0.1.0/24]", .r_b = "[10.0.1.1]"})),
      Contains(HasSubstr("the way of 10.0.1.1/32 is a cycle: B -> R -> B")));
  EXPECT_THAT(
      topology_errors(diamond({.l_b = "[10.0.1.2]", .b_r = "[10.0.1.2/31]", .r_b = "[10.0.1.1]"})),
      IsEmpty());
}

TEST(TopologyPaths, C7_EachSwitchIsToldOfAllOfThemOneByOne) {
  Document document = parse_document(diamond({}), "t.yaml", "L");
  const auto put = [&](const std::string& path, const std::string& value) {
    put_value(document, find_place(document, path), parse_value(path, value));
  };
  put("switches.B.ports.r.paths", "[10.0.1.2]");
  EXPECT_TRUE(switch_config(document).ports[1].paths.empty());
  put("switches.L.ports.b.paths", "[10.0.1.2]");
  EXPECT_EQ(switch_config(document).ports[1].paths.size(), 1u);
  EXPECT_EQ(find_place(document, "switches.L.ports.b.paths").path, "ports.b.paths");
  put("switches.B.ports.r.paths", "[]");
  EXPECT_THROW(switch_config(document), ConfigErrors) << "downstream goes last";
  EXPECT_THROW(find_place(document, "switches.B.ports.q.paths"), std::invalid_argument);
  EXPECT_THROW(find_place(document, "switches.Q.ports.r.paths"), std::invalid_argument);
}

}  // namespace
}  // namespace tributary::config
