#include "manager/topology/ways.h"

#include <gmock/gmock.h>

#include <stdexcept>

#include "tests/manager/two_ways.h"

namespace tributary::manager {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::Property;
using testing::Throws;

auto refused_with(const std::string& text) {
  return Throws<std::invalid_argument>(Property(&std::exception::what, HasSubstr(text)));
}

TEST(Ways, ASwitchGoesUpByAnotherPortAndBack) {
  const config::Topology moved = with_way(two_ways(), "R", "b");
  EXPECT_EQ(way_of(moved, "R"), "b");
  EXPECT_EQ(moved.switches[3].parent, "B");
  const config::Topology back = with_way(moved, "R", "a");
  EXPECT_EQ(back.switches[3].parent, "A");
  EXPECT_EQ(way_of(back, "R"), "a");
  EXPECT_EQ(way_of(back, "L"), "");
}

TEST(Ways, WhatIsNoneIsRefusedByName) {
  EXPECT_THAT([] { with_way(two_ways(), "Q", "b"); },
              refused_with("there is no switch Q; allowed: L, A, B, R"));
  EXPECT_THAT([] { with_way(two_ways(), "R", "w1"); },
              refused_with("'w1' is no way up of R; allowed: a, b"));
  EXPECT_THAT([] { with_way(two_ways(), "A", "r"); },
              refused_with("'r' is no way up of A; allowed: up"));
  EXPECT_THAT([] { with_way(two_ways(), "L", "a"); }, refused_with("L is the root"));
}

TEST(Ways, ACycleIsRefusedWithItsWayRound) {
  const auto below_r = two_ways(
      false, ", other_uplinks: [{parent: R, parent_port: x, uplink: x}], active_uplink: x");
  EXPECT_THAT([&] { with_way(below_r, "R", "b"); }, refused_with("is a cycle: B -> R -> B"));
}

TEST(Ways, ThoseThatTheTopologyDoesNotHaveAreForgotten) {
  Ways ways = {{"Q", "b"}, {"R", "b"}, {"A", "c"}};
  EXPECT_EQ(way_of(with_ways(two_ways(), ways), "R"), "b");
  EXPECT_THAT(ways, ElementsAre(Pair("R", "b")));
}

// X by Z alone would be a cycle: Z is below Y, which is below X unless it goes up by the root.
TEST(Ways, SeveralAreOneTreeWhateverTheirNames) {
  const auto ports = [](const std::string& sw, std::initializer_list<const char*> names) {
    std::string text = ", ports: [";
    for (const char* name : names)
      text.append("{name: ").append(name).append(", devargs: net_null_").append(sw).append(name) +=
          "}, ";
    return text + "]}\n";
  };
  const config::Topology ring = config::parse_topology(
      "switches:\n"
      "  - {name: root, id: 1, address: 10.0.0.1" +
          ports("root", {"x", "y"}) +
          "  - {name: X, id: 2, address: 10.0.0.2, parent: root, parent_port: x, uplink: r, "
          "other_uplinks: [{parent: Z, parent_port: x, uplink: z}]" +
          ports("X", {"r", "z", "y"}) +
          "  - {name: Y, id: 3, address: 10.0.0.3, parent: X, parent_port: y, uplink: x, "
          "other_uplinks: [{parent: root, parent_port: y, uplink: r}]" +
          ports("Y", {"x", "r", "z"}) +
          "  - {name: Z, id: 4, address: 10.0.0.4, parent: Y, parent_port: z, uplink: y" +
          ports("Z", {"y", "x"}) + "workers: []\n",
      "ring.yaml");
  Ways ways = {{"X", "z"}, {"Y", "r"}};
  const config::Topology moved = with_ways(ring, ways);
  EXPECT_THAT(ways, ElementsAre(Pair("X", "z"), Pair("Y", "r")));
  EXPECT_EQ(way_of(moved, "X"), "z");
  EXPECT_EQ(way_of(moved, "Y"), "r");
}

}  // namespace
}  // namespace tributary::manager
