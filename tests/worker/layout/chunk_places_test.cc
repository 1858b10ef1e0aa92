#include "worker/layout/chunk_places.h"

#include <gtest/gtest.h>

#include <array>

namespace tributary::layout {
namespace {

TEST(ChunkPlaces, AreEveryChunkUnlessSomeAreNamed) {
  const ChunkPlaces every;
  EXPECT_TRUE(every.all());
  EXPECT_FALSE(every.none());
  EXPECT_EQ(every[7], 7u);
}

TEST(ChunkPlaces, A3_CountTheNamedOnesFromZero) {
  const std::array<std::uint32_t, 4> named = {1, 2, 6, 7};
  const ChunkPlaces some(named);
  EXPECT_FALSE(some.all());
  EXPECT_FALSE(some.none());
  EXPECT_EQ(some.size(), 4u);
  EXPECT_EQ(some[2], 6u);
  const ChunkPlaces end = some.part(2, 2);
  EXPECT_EQ(end.size(), 2u);
  EXPECT_EQ(end[1], 7u);
  EXPECT_EQ(end[2], 0u) << "none of its chunks";
}

TEST(ChunkPlaces, A3_NoneIsNotAll) {
  const ChunkPlaces none{std::span<const std::uint32_t>()};
  EXPECT_FALSE(none.all());
  EXPECT_TRUE(none.none());
  EXPECT_EQ(none[0], 0u);
}

}  // namespace
}  // namespace tributary::layout
