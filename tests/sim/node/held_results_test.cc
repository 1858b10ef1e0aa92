#include "sim/node/held_results.h"

#include <gtest/gtest.h>

namespace tributary::sim {
namespace {

TEST(HeldResults, KnowsWhatCameInAndAheadOfTurnOverTheWrap) {
  constexpr std::uint32_t kFirst = 0xFFFF'FFFE;
  HeldResults held;
  held.reset(2, kFirst);
  EXPECT_FALSE(held.contains(0, kFirst));
  held.add(0, kFirst + 2);  // 0
  held.add(0, kFirst + 3);
  EXPECT_TRUE(held.contains(0, 0));
  EXPECT_FALSE(held.contains(0, kFirst + 1));
  EXPECT_FALSE(held.contains(1, 0)) << "shards have their own sequences";
  held.add(0, kFirst);
  held.add(0, kFirst + 1);
  for (std::uint32_t i = 0; i < 4; ++i) EXPECT_TRUE(held.contains(0, kFirst + i)) << i;
  EXPECT_FALSE(held.contains(0, kFirst + 4));
  EXPECT_FALSE(held.contains(2, kFirst)) << "no such shard";
}

}  // namespace
}  // namespace tributary::sim
