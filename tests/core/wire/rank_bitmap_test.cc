#include "core/wire/rank_bitmap.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "core/prng.h"
#include "core/wire/header.h"

namespace tributary::wire {
namespace {

using Ranks = std::vector<std::uint64_t>;

class RankBitmapTest : public ::testing::Test {
 protected:
  static Ranks set_of(std::uint32_t workers, std::initializer_list<std::uint32_t> ranks) {
    Ranks set(rank_words(workers));
    for (const auto r : ranks) set[r / 64] |= 1ULL << (r % 64);
    return set;
  }
  std::array<std::byte, kMaxExtensionBytes> area_{};
  ExtensionWriter writer_{area_};
};

TEST_F(RankBitmapTest, EveryRandomSetReadsBack) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    Prng prng(seed);
    const std::uint32_t workers = 1 + prng.below(1024);
    Ranks set(rank_words(workers));
    const std::uint32_t density = prng.below(1'000'000);
    for (std::uint32_t r = 0; r < workers; ++r)
      if (prng.chance_ppm(density)) set[r / 64] |= 1ULL << (r % 64);
    ExtensionWriter writer(area_);
    ASSERT_TRUE(writer.add_nonce(seed));
    ASSERT_TRUE(add_rank_bitmaps(writer, set));
    ASSERT_EQ(check_extensions(writer.bytes()), DropReason::none);
    Ranks read(rank_words(workers));
    ASSERT_TRUE(read_rank_bitmaps(writer.bytes(), workers, read));
    EXPECT_EQ(read, set);
  }
}

TEST_F(RankBitmapTest, TheBytesAreAsTheProtocolSays) {
  ASSERT_TRUE(add_rank_bitmaps(writer_, set_of(128, {33, 64})));
  const std::vector<std::byte> expected = {
      std::byte{2}, std::byte{4}, std::byte{0}, std::byte{2},   // rank-bitmap, 4 words, 2 of bits
      std::byte{0}, std::byte{0}, std::byte{0}, std::byte{32},  // first rank
      std::byte{0}, std::byte{0}, std::byte{0}, std::byte{2},   // 33 is bit 1 of word 0
      std::byte{0}, std::byte{0}, std::byte{0}, std::byte{1}};
  EXPECT_EQ(std::vector(writer_.bytes().begin(), writer_.bytes().end()), expected);
}

TEST_F(RankBitmapTest, AnEmptySetNeedsNoExtension) {
  ASSERT_TRUE(add_rank_bitmaps(writer_, set_of(70, {})));
  EXPECT_TRUE(writer_.bytes().empty());
}

TEST_F(RankBitmapTest, SeveralBitmapsAreOneSet) {
  ASSERT_TRUE(add_rank_bitmaps(writer_, set_of(300, {1})));
  ASSERT_TRUE(add_rank_bitmaps(writer_, set_of(300, {299, 64})));
  Ranks read(rank_words(300));
  ASSERT_TRUE(read_rank_bitmaps(writer_.bytes(), 300, read));
  EXPECT_EQ(read, set_of(300, {1, 64, 299}));
}

// Rule 10: what does not fit one extension is cut into several, and what does not fit the area is
// refused, never truncated.
TEST_F(RankBitmapTest, WhatDoesNotFitOneExtensionIsSplit) {
  constexpr std::uint32_t kWorkers = 20'000;
  std::vector<std::byte> area(8000);
  ExtensionWriter writer(area);
  Ranks set(rank_words(kWorkers));
  for (std::uint32_t r = 0; r < kWorkers; r += 3) set[r / 64] |= 1ULL << (r % 64);
  ASSERT_TRUE(add_rank_bitmaps(writer, set));
  Ranks read(rank_words(kWorkers));
  ASSERT_TRUE(read_rank_bitmaps(writer.bytes(), kWorkers, read));
  EXPECT_EQ(read, set);

  ASSERT_TRUE(writer_.add_nonce(1));
  const std::size_t before = writer_.bytes().size();
  EXPECT_FALSE(add_rank_bitmaps(writer_, set));
  EXPECT_EQ(writer_.bytes().size(), before);
}

TEST_F(RankBitmapTest, ARankOutsideTheJobIsRefused) {
  ASSERT_TRUE(add_rank_bitmaps(writer_, set_of(8, {7})));
  Ranks read(1);
  EXPECT_TRUE(read_rank_bitmaps(writer_.bytes(), 8, read));
  EXPECT_FALSE(read_rank_bitmaps(writer_.bytes(), 7, read));
}

TEST_F(RankBitmapTest, ALyingWordCountOrAWrappingFirstRankIsRefused) {
  Ranks read(rank_words(1024));
  const std::array<be32, 2> near_the_end = {be32(0xFFFFFFFFu), be32(3u)};
  for (const std::uint16_t words : std::initializer_list<std::uint16_t>{0, 2, 65535}) {
    ExtensionWriter writer(area_);
    ASSERT_TRUE(writer.add_raw(2, words, std::as_bytes(std::span(near_the_end))));
    EXPECT_FALSE(read_rank_bitmaps(writer.bytes(), 1024, read)) << words;
  }
  ExtensionWriter writer(area_);
  ASSERT_TRUE(writer.add_raw(2, 1, std::as_bytes(std::span(near_the_end))));
  EXPECT_FALSE(read_rank_bitmaps(writer.bytes(), 1024, read));
  ExtensionWriter bare(area_);
  ASSERT_TRUE(bare.add_raw(2, 0, {}));
  EXPECT_FALSE(read_rank_bitmaps(bare.bytes(), 1024, read));
}

}  // namespace
}  // namespace tributary::wire
