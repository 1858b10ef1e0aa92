#include "manager/pods/scheduler.h"

#include <gmock/gmock.h>

#include "tests/manager/pods/nodes.h"

namespace tributary::manager {
namespace {

using testing::HasSubstr;

Gang gang_of(std::size_t pods, std::uint32_t devices = 1, Together together = Together::anywhere) {
  Gang gang{.asks = {}, .least = pods, .together = together};
  for (std::size_t i = 0; i < pods; ++i)
    gang.asks.push_back(npu_ask("p" + std::to_string(i), devices));
  return gang;
}

std::string node_of(const std::vector<Node>& nodes, const Placement& placement, std::size_t pod) {
  return placement.spots[pod] ? nodes[placement.spots[pod]->node].name : "none";
}

TEST(Scheduler, C2_TheLeastLoadedDeviceIsChosen) {
  const std::vector<Node> nodes = {node("a", {npu("n", 0.4)}), node("b", {npu("n", 0.1)}),
                                   node("c", {npu("n", 0.95)})};
  const Placement placement = schedule(nodes, gang_of(1), {}, {});
  ASSERT_TRUE(placement.placed);
  EXPECT_EQ(node_of(nodes, placement, 0), "b");
  EXPECT_EQ(placement.reasons[0], "score 10: load 10, distance 0, leaf 0, spread 0");
}

TEST(Scheduler, C2_ANamedNodeAndDeviceAreTaken) {
  const std::vector<Node> nodes = {node("a", {npu("n0"), npu("n1", 0.5)}), node("b", {npu("n1")})};
  Gang gang = gang_of(1);
  gang.asks[0].node = "a";
  gang.asks[0].device = "n1";
  const Placement placement = schedule(nodes, gang, {}, {});
  EXPECT_EQ(placement.spots[0], (Spot{0, {1}}));
}

TEST(Scheduler, TheNearestNodeToTheJobIsChosen) {
  const std::vector<Node> nodes = {node("a", {npu("n")}, "A"), node("b", {npu("n")}, "B"),
                                   node("c", {npu("n")}, "")};
  Gang gang = gang_of(1);
  gang.asks[0].job = "train";
  const Distances distances{{{{"train", "A"}, 2}, {{"train", "B"}, 0}}};
  EXPECT_EQ(node_of(nodes, schedule(nodes, gang, distances, {}), 0), "b");
}

TEST(Scheduler, PodsSpreadOrPack) {
  std::vector<Node> nodes = {node("a", {npu("n0"), npu("n1")}), node("b", {npu("n0"), npu("n1")})};
  nodes[0].devices[0].claimed_by = "other";
  Gang gang = gang_of(1);
  EXPECT_EQ(node_of(nodes, schedule(nodes, gang, {}, {}), 0), "b");
  gang.asks[0].pack = true;
  EXPECT_EQ(node_of(nodes, schedule(nodes, gang, {}, {}), 0), "a");
}

TEST(Scheduler, AGangStaysAtOneLeafIfItCan) {
  const std::vector<Node> nodes = {node("a", {npu("n")}, "A"), node("b", {npu("n", 0.3)}, "B"),
                                   node("c", {npu("n", 0.3)}, "B")};
  const Placement two = schedule(nodes, gang_of(2), {}, {});
  EXPECT_EQ(node_of(nodes, two, 0) + node_of(nodes, two, 1), "bc");
  EXPECT_TRUE(schedule(nodes, gang_of(3), {}, {}).placed);
  const Placement never = schedule(nodes, gang_of(3, 1, Together::leaf), {}, {});
  EXPECT_FALSE(never.placed);
  EXPECT_THAT(never.reasons[0], HasSubstr("places for 3 pods at once at one leaf switch"));
}

TEST(Scheduler, C2_AGroupOnOneHost) {
  const std::vector<Node> nodes = {node("a", {npu("n0")}),
                                   node("b", {npu("n0", 0.5), npu("n1", 0.5)})};
  const Placement placement = schedule(nodes, gang_of(2, 1, Together::host), {}, {});
  EXPECT_EQ(node_of(nodes, placement, 0) + node_of(nodes, placement, 1), "bb");
}

TEST(Scheduler, AGangGoesBackWhereItsFirstChoiceBlocksTheRest) {
  // The pod that needs much memory fits only where the first pod would go.
  const std::vector<Node> nodes = {node("a", {npu("n", 0)}),
                                   node("b", {npu("n", 0.5, 1ull << 30)})};
  Gang gang = gang_of(2);
  gang.asks[1].device_memory = 8ull << 30;
  const Placement placement = schedule(nodes, gang, {}, {});
  ASSERT_TRUE(placement.placed);
  EXPECT_EQ(node_of(nodes, placement, 0) + node_of(nodes, placement, 1), "ba");
}

TEST(Scheduler, AGangThatDoesNotFitHasNoSpotAtAll) {
  const std::vector<Node> nodes = {node("a", {npu("n0"), npu("n1")}), node("b", {npu("n0")})};
  const Placement placement = schedule(nodes, gang_of(4), {}, {});
  EXPECT_FALSE(placement.placed);
  for (const auto& spot : placement.spots) EXPECT_EQ(spot, std::nullopt);
  EXPECT_EQ(placement.reasons[0],
            "the group needs places for 4 pods at once, and there is no room for all of them; this "
            "pod alone fits");
}

TEST(Scheduler, MoreThanTheLeastComeAlongWhereTheyFit) {
  const std::vector<Node> nodes = {node("a", {npu("n0"), npu("n1")}), node("b", {npu("n0")}, "B")};
  Gang gang = gang_of(4);
  gang.least = 2;
  const Placement placement = schedule(nodes, gang, {}, {});
  ASSERT_TRUE(placement.placed);
  EXPECT_EQ(std::count_if(placement.spots.begin(), placement.spots.end(),
                          [](const auto& spot) { return spot.has_value(); }),
            3);
}

TEST(Scheduler, ThousandPodsOnHundredNodesAreEachDecidedInFewSteps) {
  std::vector<Node> nodes;
  for (int i = 0; i < 100; ++i) {
    std::vector<Device> devices;
    for (int d = 0; d < 10; ++d) devices.push_back(npu("n" + std::to_string(d)));
    nodes.push_back(node("node" + std::to_string(i), devices, "leaf" + std::to_string(i / 10)));
  }
  for (int pod = 0; pod < 1000; ++pod) {
    const Placement placement = schedule(nodes, gang_of(1), {}, {});
    ASSERT_TRUE(placement.placed) << pod;
    const Spot& spot = *placement.spots[0];
    std::string& claim = nodes[spot.node].devices[spot.devices[0]].claimed_by;
    ASSERT_EQ(claim, "");
    claim = "pod" + std::to_string(pod);
  }
  EXPECT_FALSE(schedule(nodes, gang_of(1), {}, {}).placed);
  EXPECT_FALSE(schedule(nodes, gang_of(64), {}, {}).placed);
}

}  // namespace
}  // namespace tributary::manager
