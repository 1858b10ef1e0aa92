#include "aggregator/chunk/reserve.h"

#include <gtest/gtest.h>

#include <array>

namespace tributary::aggregator {
namespace {

TEST(Reserve, GapsAreFoundAndNothingOverlaps) {
  std::array<std::byte, 640> memory;
  Reserve reserve(memory);
  auto a = reserve.take(256);
  auto b = reserve.take(128);
  auto c = reserve.take(256);
  ASSERT_TRUE(a && b && c);
  EXPECT_EQ(a->bytes().data(), memory.data());
  EXPECT_EQ(b->bytes().data(), memory.data() + 256);
  EXPECT_EQ(c->bytes().data(), memory.data() + 384);
  EXPECT_FALSE(reserve.take(64));
  EXPECT_EQ(reserve.free_bytes(), 0u);
  b.reset();
  EXPECT_FALSE(reserve.take(192));
  auto d = reserve.take(64);
  EXPECT_EQ(d->bytes().data(), memory.data() + 256);
  a.reset();
  EXPECT_EQ(reserve.free_bytes(), 320u);
  EXPECT_FALSE(reserve.take(320)) << "not in one piece";
  d.reset();
  EXPECT_TRUE(reserve.take(384)) << "neighbours are one gap again";
}

TEST(Reserve, APieceThatMovesIsGivenBackOnce) {
  std::array<std::byte, 128> memory;
  Reserve reserve(memory);
  {
    Reserve::Piece kept;
    {
      auto piece = reserve.take(128);
      kept = std::move(*piece);
    }
    EXPECT_EQ(reserve.free_bytes(), 0u);
    EXPECT_EQ(kept.bytes().size(), 128u);
  }
  EXPECT_EQ(reserve.free_bytes(), 128u);
}

}  // namespace
}  // namespace tributary::aggregator
