#include "worker/session/block_scaled.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "core/prng.h"

namespace tributary::worker {
namespace {

using Values = std::vector<float>;

// What the ranks and the switch do together, the switch in the given order.
std::vector<Values> allreduce(std::vector<Values> ranks, const std::vector<std::size_t>& order,
                              std::uint32_t per_chunk = 4) {
  std::vector<BlockScaled> all;
  for (Values& v : ranks)
    all.emplace_back(std::span(v), static_cast<std::uint32_t>(ranks.size()), per_chunk);
  const std::size_t chunks = all[0].exponents().size();
  for (std::size_t c = 0; c < chunks; ++c) {
    std::int16_t common = -32768;
    for (BlockScaled& b : all) common = std::max(common, b.exponents()[c]);
    for (BlockScaled& b : all) b.exponents()[c] = common;
    std::vector<std::int32_t> sum;
    for (const std::size_t r : order) {
      const auto bytes = all[r].mantissas(static_cast<std::uint32_t>(c)).bytes;
      sum.resize(bytes.size() / 4);
      for (std::size_t i = 0; i < sum.size(); ++i) {
        std::int32_t m = 0;
        std::memcpy(&m, bytes.data() + 4 * i, 4);
        EXPECT_FALSE(__builtin_add_overflow(sum[i], m, &sum[i])) << "mantissas leave no headroom";
      }
    }
    for (BlockScaled& b : all) b.take(static_cast<std::uint32_t>(c), std::as_bytes(std::span(sum)));
  }
  return ranks;
}

TEST(BlockScaled, WholeNumbersAreExact) {
  const auto out = allreduce({{1, -2, 3, 4, 1000000}, {5, 6, -7, 8, 0.5}}, {0, 1});
  EXPECT_EQ(out[0], (Values{6, 4, -4, 12, 1000000.5}));
  EXPECT_EQ(out[1], out[0]);
}

// The same bits whatever the order, and close to the true sum.
TEST(BlockScaled, TheOrderOfAdditionDoesNotMatter) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Prng random(seed);
    const std::size_t ranks = 1 + random.below(16);
    const std::size_t count = 1 + random.below(20);
    std::vector<Values> values(ranks, Values(count));
    for (Values& v : values)
      for (float& x : v)
        x = std::ldexp(static_cast<float>(random.below(1 << 24)) - (1 << 23),
                       static_cast<int>(random.below(60)) - 40);
    std::vector<std::size_t> order(ranks);
    for (std::size_t i = 0; i < ranks; ++i) order[i] = i;
    const auto one = allreduce(values, order);
    std::reverse(order.begin(), order.end());
    const auto other = allreduce(values, order);
    for (std::size_t r = 0; r < ranks; ++r) {
      EXPECT_EQ(std::memcmp(one[r].data(), other[r].data(), count * 4), 0);
      EXPECT_EQ(std::memcmp(one[r].data(), one[0].data(), count * 4), 0);
    }
    for (std::size_t i = 0; i < count; ++i) {
      double sum = 0;
      double largest = 0;  // of the chunk
      for (const Values& v : values) {
        sum += v[i];
        for (std::size_t k = i / 4 * 4; k < std::min(count, i / 4 * 4 + 4); ++k)
          largest = std::max(largest, std::fabs(static_cast<double>(v[k])));
      }
      EXPECT_NEAR(one[0][i], sum,
                  static_cast<double>(ranks) * largest * 0x1p-25 + 1e-7 * std::fabs(sum));
    }
  }
}

TEST(BlockScaled, LargestValuesOfManyRanksDoNotOverflow) {
  const float most = std::numeric_limits<float>::max();
  std::vector<std::size_t> order(64);
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::vector<Values> values(64, Values{most / 64, -most / 64, 1});
  const auto out = allreduce(values, order);
  EXPECT_FLOAT_EQ(out[0][0], most);
  EXPECT_FLOAT_EQ(out[0][1], -most);
  EXPECT_EQ(out[0][2], 0) << "far below the chunk's largest value";
}

TEST(BlockScaled, SmallestNumbersAndZero) {
  const float least = std::numeric_limits<float>::denorm_min();
  const auto out = allreduce({{least, 0, -least}, {least, 0, 0}}, {0, 1});
  EXPECT_EQ(out[0], (Values{2 * least, 0, -least}));
  EXPECT_EQ(allreduce({{0, 0}, {0, 0}}, {0, 1})[1], (Values{0, 0}));
  EXPECT_EQ(allreduce({{}, {}}, {0, 1})[1], Values{});
}

// On every rank, and only in its chunk.
TEST(BlockScaled, WhatIsNotFiniteMakesItsChunkNaN) {
  for (const float bad : {std::numeric_limits<float>::infinity(), std::nanf("")}) {
    const auto out = allreduce({{1, 2, 3, 4, 5}, {1, bad, 3, 4, 5}}, {0, 1});
    for (const Values& v : out) {
      for (std::size_t i = 0; i < 4; ++i) EXPECT_TRUE(std::isnan(v[i]));
      EXPECT_EQ(v[4], 10);
    }
  }
}

// Chunks that addresses have chosen have the exponents, mantissas and places of the whole array's.
TEST(BlockScaled, A3_ChosenChunksAreThoseOfTheWholeArray) {
  const Values values = {1, 2, 30, 40, 500, 600, 7000, 8000, 90000};
  const std::array<std::uint32_t, 3> places = {1, 3, 4};
  for (const auto exponent : {std::optional<std::int32_t>(), std::optional<std::int32_t>(-4)}) {
    Values all = values;
    Values some = values;
    BlockScaled whole(all, 2, 2, exponent);
    BlockScaled chosen(some, 2, 2, exponent, layout::ChunkPlaces(places));
    ASSERT_EQ(chosen.exponents().size(), 3u);
    for (std::uint32_t c = 0; c < 3; ++c) {
      EXPECT_EQ(chosen.exponent(c), whole.exponent(places[c]));
      const auto mine = chosen.mantissas(c).bytes;
      const auto like = whole.mantissas(places[c]).bytes;
      ASSERT_EQ(mine.size(), places[c] == 4 ? 4u : 8u);
      EXPECT_TRUE(std::equal(mine.begin(), mine.end(), like.begin(), like.end()));
    }
    const Values sum = {-1, -2};
    chosen.take_floats(1, std::as_bytes(std::span(sum)));
    EXPECT_EQ(some, (Values{1, 2, 30, 40, 500, 600, -1, -2, 90000}));
  }
  Values some = values;
  BlockScaled none(some, 2, 2, {}, layout::ChunkPlaces(std::span<const std::uint32_t>()));
  EXPECT_EQ(none.exponents().size(), 1u);
  EXPECT_TRUE(none.mantissas(0).bytes.empty());
}

// O10: under an exponent of the caller's, what has no room is marked, and the rest is as it was.
TEST(BlockScaled, O10_AChosenExponentMarksWhatIsOutOfRange) {
  Values v = {1.5F,
              -2147483520.0F,
              3,
              0,
              2147483648.0F,
              1,
              std::numeric_limits<float>::infinity(),
              std::numeric_limits<float>::quiet_NaN()};
  BlockScaled scaled(v, 2, 2, std::int16_t{0});
  ASSERT_EQ(scaled.exponents().size(), 4u);
  const std::array<bool, 4> out_of_range = {false, false, true, true};
  for (std::uint32_t c = 0; c < 4; ++c) {
    EXPECT_EQ(scaled.exponent(c), 0);
    EXPECT_EQ(scaled.mantissas(c).overflow, out_of_range[c]) << "chunk " << c;
  }
  std::array<std::int32_t, 2> first{};
  std::memcpy(first.data(), scaled.mantissas(0).bytes.data(), sizeof first);
  EXPECT_EQ(first, (std::array<std::int32_t, 2>{2, -2147483520}));
  Values as_they_are(2);
  std::memcpy(as_they_are.data(), scaled.floats(3).data(), 8);
  EXPECT_EQ(as_they_are[0], v[6]);
  EXPECT_TRUE(std::isnan(as_they_are[1]));
  const Values sums = {7, 8};
  scaled.take_floats(3, std::as_bytes(std::span(sums)));
  EXPECT_EQ(v[6], 7);
  EXPECT_EQ(v[7], 8);
  EXPECT_EQ(v[0], 1.5F);
}

}  // namespace
}  // namespace tributary::worker
