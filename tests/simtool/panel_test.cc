#include "tools/sim/panel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tributary::simtool {
namespace {

using ::testing::ElementsAre;

TEST(Axis, TicksAreRoundInTheAxisUnit) {
  EXPECT_THAT((Axis{0, 10, false, {}, 1}.ticks()), ElementsAre(0, 2, 4, 6, 8, 10));
  EXPECT_THAT((Axis{0, 3 * 1024.0, false, {}, 1024}.ticks()),
              ElementsAre(0, 512, 1024, 1536, 2048, 2560, 3072));
  EXPECT_THAT((Axis{3, 40, true, {}, 1}.ticks()), ElementsAre(5, 10, 20));
  EXPECT_THAT((Axis{1, 10'000, true, {}, 1}.ticks()), ElementsAre(1, 10, 100, 1000, 10'000));
}

TEST(Axis, PositionsGoFromZeroToOne) {
  const Axis linear{10, 20, false, {}, 1};
  EXPECT_DOUBLE_EQ(linear.position(15), 0.5);
  const Axis logarithmic{1, 100, true, {}, 1};
  EXPECT_DOUBLE_EQ(logarithmic.position(10), 0.5);
}

}  // namespace
}  // namespace tributary::simtool
