#include "completion/pieces/piece_pool.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/core/survived_breaches.h"

namespace tributary::completion {
namespace {

TEST(PiecePool, GivesEachPieceOnceAndNoMoreThanThereAre) {
  PiecePool pool(3, 64, 2);
  std::set<const std::byte*> buffers;
  std::vector<Piece*> taken;
  for (int i = 0; i < 3; ++i) {
    taken.push_back(pool.take());
    ASSERT_NE(taken.back(), nullptr);
    buffers.insert(taken.back()->buffer.data());
    EXPECT_EQ(taken.back()->buffer.size(), 64u);
    EXPECT_EQ(taken.back()->ranks.size(), 2u);
  }
  EXPECT_EQ(buffers.size(), 3u);
  EXPECT_EQ(pool.take(), nullptr);
  EXPECT_EQ(pool.taken(), 3u);
  for (Piece* piece : taken) pool.give_back(piece);
  EXPECT_EQ(pool.taken(), 0u);
}

TEST(PiecePool, AUsedPieceComesBackClean) {
  PiecePool pool(1, 64, 1);
  Piece* piece = pool.take();
  insert(piece->ranks, 5);
  piece->wide = piece->overflow = true;
  piece->count = piece->first = piece->payload_bytes = 9;
  pool.give_back(piece);
  piece = pool.take();
  EXPECT_EQ(count(piece->ranks), 0u);
  EXPECT_FALSE(piece->wide || piece->overflow);
  EXPECT_EQ(piece->count + piece->first + piece->payload_bytes, 0u);
}

TEST(PiecePool, APieceIsGivenBackOnce) {
  PiecePool pool(2, 64, 1);
  Piece* const piece = pool.take();
  EXPECT_TRUE(pool.give_back(piece));
  const SurvivedBreaches breaches;
  EXPECT_FALSE(pool.give_back(piece));
  EXPECT_EQ(breaches.count(), 1u);
  EXPECT_EQ(pool.taken(), 0u);
  EXPECT_NE(pool.take(), pool.take());
  EXPECT_EQ(pool.take(), nullptr);
  pool.reset();
  EXPECT_EQ(pool.taken(), 0u);
  EXPECT_NE(pool.take(), pool.take());
}

}  // namespace
}  // namespace tributary::completion
