#include "manager/pods/score.h"

#include <gtest/gtest.h>

#include "tests/manager/pods/nodes.h"

namespace tributary::manager {
namespace {

TEST(Score, C2_EachPartHasItsPoints) {
  Node here = node("a", {npu("n0", 0.2), npu("n1", 0.6), npu("n2", 0.1)}, "A");
  here.devices[2].claimed_by = "other";
  Ask ask = npu_ask("p", 2);
  ask.job = "train";
  const Score found = score(here, ask, "B", {{{{"train", "A"}, 3}}}, {});
  EXPECT_EQ(found.load, 40);
  EXPECT_EQ(found.distance, 30);
  EXPECT_EQ(found.leaf, 20);
  EXPECT_EQ(found.packing, 17);
  EXPECT_EQ(found.points(), 107);
  ask.pack = true;
  EXPECT_EQ(score(here, ask, "A", {}, {}).packing, 33);
}

TEST(Score, ANodeWithoutAFigureIsFar) {
  Ask ask = npu_ask("p");
  ask.job = "train";
  EXPECT_EQ(score(node("a", {npu("n")}), ask, "", {}, {}).distance, 160);
}

TEST(Score, CpuPodsGoByTheLoadOfTheCpus) {
  Node here = node("a", {npu("n0", 0.9)});
  here.cpu_load = 0.25;
  here.cpu_millis_used = 2000;
  EXPECT_EQ(score(here, Ask{}, "", {}, {}).load, 25);
  EXPECT_EQ(score(here, Ask{}, "", {}, {}).packing, 25);
}

}  // namespace
}  // namespace tributary::manager
