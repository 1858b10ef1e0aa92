// Free space: best fit, merging.
#include "pool/segment/extents.h"

#include <gtest/gtest.h>

namespace tributary::pool {
namespace {

TEST(PoolExtents, NeighboursMerge) {
  Extents extents;
  extents.release({0, 64});
  extents.release({128, 64});
  EXPECT_EQ(extents.largest(), 64u);
  extents.release({64, 64});
  EXPECT_EQ(extents.largest(), 192u);
  EXPECT_EQ(extents.free_bytes(), 192u);
  EXPECT_EQ(extents.take(192), 0u);
  EXPECT_EQ(extents.take(64), std::nullopt);
}

TEST(PoolExtents, TheSmallestThatFitsIsTaken) {
  Extents extents;
  extents.release({0, 640});
  extents.release({1024, 128});
  EXPECT_EQ(extents.take(128), 1024u);
  EXPECT_EQ(extents.take(128), 0u);
  EXPECT_EQ(extents.take(128), 128u);
  EXPECT_EQ(extents.free_bytes(), 384u);
}

}  // namespace
}  // namespace tributary::pool
