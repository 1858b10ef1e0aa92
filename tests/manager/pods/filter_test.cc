#include "manager/pods/filter.h"

#include <gtest/gtest.h>

#include "tests/manager/pods/nodes.h"

namespace tributary::manager {
namespace {

std::string reason(const std::vector<Node>& nodes, const Ask& ask) {
  const Thresholds thresholds;
  Tally tally(ask, thresholds);
  for (const Node& one : nodes) tally.add(judge(one, ask, thresholds));
  return tally.text();
}

TEST(Filter, C2_EachCauseIsCountedWithTheNearestFigure) {
  Ask ask = npu_ask("p");
  ask.device_memory = 8ull << 30;
  std::vector<Node> nodes = {node("a", {}),
                             node("b", {npu("n", 0, 1ull << 30)}),
                             node("c", {npu("n", 0, 4ull << 30)}),
                             node("d", {npu("n", 0.95)}),
                             node("e", {npu("n")}),
                             node("f", {npu("n")}),
                             node("g", {npu("n")})};
  nodes[4].ready = false;
  nodes[5].taints = {{"npu", "old", "NoSchedule"}};
  nodes[6].devices[0].claimed_by = "other";
  EXPECT_EQ(
      reason(nodes, ask),
      "0/7 nodes are available: 1 not ready, 1 with taint npu=old:NoSchedule, 1 without enough "
      "example.com/npu, 1 with example.com/npu in use, 2 with less than 8Gi free on "
      "example.com/npu (most 4Gi), 1 with load of example.com/npu not below 90% (least 95%)");
}

TEST(Filter, C2_MemoryIsAskedOfDevicesAndNotOfPorts) {
  Ask ask = npu_ask("p");
  ask.device_memory = 8ull << 30;
  ask.devices[kPortKind] = 1;
  const Device port = {.name = kPortPrefix + std::string("w0"), .kind = kPortKind};
  EXPECT_EQ(judge(node("a", {npu("n"), port}), ask, {}).cause, Cause::none);
  EXPECT_EQ(judge(node("a", {npu("n", 0, 1ull << 30), port}), ask, {}).cause, Cause::device_memory);
}

TEST(Filter, C2_CpusAndMemoryAreLeftAfterOthersRequests) {
  Ask ask;
  ask.cpu_millis = 1000;
  std::vector<Node> nodes = {node("a", {}), node("b", {}), node("c", {})};
  nodes[0].cpu_millis_used = 3500;
  nodes[1].cpu_load = 0.97;
  nodes[2].ready = false;
  EXPECT_EQ(
      reason(nodes, ask),
      "0/3 nodes are available: 1 not ready, 1 with CPU load not below 90% (least 97%), 1 with "
      "less than 1000m CPU free (most 500m)");
  ask.cpu_millis = 500;
  EXPECT_EQ(judge(nodes[0], ask, {}).cause, Cause::none);
  ask.memory_bytes = 9ull << 30;
  EXPECT_EQ(judge(nodes[0], ask, {}).cause, Cause::memory);
}

TEST(Filter, TaintsAreTolerated) {
  Node tainted = node("a", {npu("n")});
  tainted.taints = {{"npu", "old", "NoSchedule"}};
  Ask ask = npu_ask("p");
  const auto cause_with = [&](const Toleration& toleration) {
    ask.tolerations = {toleration};
    return judge(tainted, ask, {}).cause;
  };
  using Match = Toleration::Match;
  EXPECT_EQ(cause_with({"npu", Match::equal, "old", ""}), Cause::none);
  EXPECT_EQ(cause_with({"npu", Match::equal, "new", ""}), Cause::taint);
  EXPECT_EQ(cause_with({"npu", Match::exists, "", "NoSchedule"}), Cause::none);
  EXPECT_EQ(cause_with({"npu", Match::exists, "", "NoExecute"}), Cause::taint);
  EXPECT_EQ(cause_with({"", Match::exists, "", ""}), Cause::none);
}

TEST(Filter, ANamedDeviceIsTheOnlyOne) {
  const Node here = node("a", {npu("n0", 0.95), npu("n1")});
  Ask ask = npu_ask("p");
  ask.device = "n1";
  EXPECT_EQ(judge(here, ask, {}).cause, Cause::none);
  ask.device = "n0";
  EXPECT_EQ(judge(here, ask, {}).cause, Cause::device_load);
  ask.device = "n2";
  EXPECT_EQ(judge(here, ask, {}).cause, Cause::no_device);
}

TEST(Filter, RoomIsWhatIsScarcest) {
  Node here = node("a", {npu("n0"), npu("n1"), npu("n2")});
  Ask ask = npu_ask("p");
  EXPECT_EQ(room_for(here, ask, {}, 9), 3u);
  EXPECT_EQ(room_for(here, npu_ask("p", 2), {}, 9), 1u);
  ask.cpu_millis = 2000;
  EXPECT_EQ(room_for(here, ask, {}, 9), 2u);
  here.ready = false;
  EXPECT_EQ(room_for(here, ask, {}, 9), 0u);
}

TEST(Filter, AThresholdOfOneLetsEveryLoadIn) {
  Node busy = node("x", {npu("n0", 1)});
  busy.cpu_load = 1;
  EXPECT_EQ(judge(busy, npu_ask("a"), {}).cause, Cause::device_load);
  EXPECT_EQ(judge(busy, Ask{}, {}).cause, Cause::cpu_load);
  EXPECT_EQ(judge(busy, npu_ask("a"), {.load_below = 1}).cause, Cause::none);
  EXPECT_EQ(judge(busy, Ask{}, {.load_below = 1}).cause, Cause::none);
}

}  // namespace
}  // namespace tributary::manager
