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

}  // namespace
}  // namespace tributary::manager
