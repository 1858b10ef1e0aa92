#include "sim/network/tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <numeric>

namespace tributary::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Tree, ASmallFatTreeIsWhatOneWouldDraw) {
  EXPECT_THAT(generate({2, 4}, 6),
              ElementsAre(TreeSwitch{"s0.0", "", 0}, TreeSwitch{"s1.0", "s0.0", 3},
                          TreeSwitch{"s1.1", "s0.0", 3}));
  EXPECT_THAT(generate({1, 4}, 3), ElementsAre(TreeSwitch{"s0.0", "", 3}));
}

TEST(Tree, GeneratedTreesOfAllSizesAreTreesWithinTheirRadix) {
  for (const std::uint32_t levels : {1u, 2u, 3u, 4u})
    for (const std::uint32_t workers : {1u, 2u, 15u, 16u, 17u, 255u, 4096u, 65'535u}) {
      const FatTree tree{levels, 16};
      if (workers > capacity_of(tree)) continue;
      const auto switches = generate(tree, workers);
      EXPECT_TRUE(problems_of(switches, workers).empty()) << levels << " levels, " << workers;
      std::map<std::string, std::uint32_t> children;
      for (const TreeSwitch& s : switches) {
        children[s.name] += s.workers;
        if (!s.parent.empty()) ++children[s.parent];
      }
      for (const auto& [name, count] : children) {
        EXPECT_LE(count, 16u) << name << " of " << levels << " levels, " << workers;
        EXPECT_GE(count, 1u) << name << " of " << levels << " levels, " << workers;
      }
    }
}

TEST(Tree, WhatIsNoTreeIsNamed) {
  const auto first = [](const std::vector<TreeSwitch>& switches, std::uint32_t workers) {
    const auto problems = problems_of(switches, workers);
    return problems.empty() ? "" : problems.front().what;
  };
  EXPECT_EQ(first({{"root", "", 0}, {"A", "root", 2}}, 2), "");
  EXPECT_THAT(first({{"root", "A", 0}}, 0), HasSubstr("root"));
  EXPECT_THAT(first({{"root", "", 0}, {"A", "B", 0}, {"B", "root", 0}}, 0), HasSubstr("'B'"));
  EXPECT_THAT(first({{"root", "", 0}, {"other", "", 0}}, 0), HasSubstr("no parent"));
  EXPECT_THAT(first({{"root", "", 0}, {"root", "root", 0}}, 0), HasSubstr("another switch"));
  EXPECT_THAT(first({{"root", "", 3}}, 4), HasSubstr("carry 3 workers, the jobs have 4"));
}

}  // namespace
}  // namespace tributary::sim
