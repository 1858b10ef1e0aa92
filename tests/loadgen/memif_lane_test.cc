// Without a switch; with one: tests/system/test_loadgen.py.
#include "tools/loadgen/memif_lane.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tributary::loadgen {
namespace {

constexpr Instant kNow = Instant::from_ns(1'000'000'000);

TEST(MemifLane, SaysWhyThereIsNoLink) {
  MemifLane lane({"/nowhere/memif.sock", 0, 1024});
  EXPECT_FALSE(lane.link_up(kNow));
  EXPECT_THAT(lane.trouble(), testing::HasSubstr("/nowhere/memif.sock"));
  EXPECT_FALSE(lane.link_up(kNow + Duration::ms(1)));
}

TEST(MemifLane, TakesAndGivesNothingWhileItIsDown) {
  MemifLane lane({"/nowhere/memif.sock", 0, 1024});
  EXPECT_FALSE(lane.roomy());
  EXPECT_TRUE(lane.frame().empty());
  lane.commit(100);
  EXPECT_EQ(lane.flush(), 0u);
  EXPECT_TRUE(lane.receive(kNow).empty());
}

}  // namespace
}  // namespace tributary::loadgen
