// Generated data: results are predictable for every type and operation, and mistakes show.
#include "tools/client/collective/pattern.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "aggregator/kernels/reduce.h"

namespace tributary::client {
namespace {

using wire::DType;
using wire::ReduceOp;

using Bytes = std::vector<std::byte>;

// What a switch makes of all ranks' data. Overflow is reported where the type can.
Bytes reduce(DType dtype, ReduceOp op, std::uint32_t ranks, std::size_t count,
             std::uint64_t round) {
  const Pattern pattern(dtype, op, ranks);
  const auto* k = aggregator::find_kernels(dtype, op, aggregator::Arithmetic::saturating);
  Bytes data(count * wire::size_of(dtype));
  Bytes sum(count * k->acc_bytes);
  bool overflow = false;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    pattern.fill(data, rank, round);
    if (rank == 0)
      k->open(sum.data(), data.data(), count);
    else
      overflow = k->fold(sum.data(), data.data(), count) || overflow;
  }
  overflow = k->finish(data.data(), sum.data(), count, ranks) || overflow;
  EXPECT_FALSE(overflow);
  return data;
}

TEST(Pattern, ResultsAreExactForEveryTypeAndOperation) {
  for (std::uint8_t d = 1; d <= wire::kDTypeMax; ++d)
    for (std::uint8_t o = 1; o <= wire::kReduceOpMax; ++o)
      for (const std::uint32_t ranks : {1u, 2u, 3u, 4u, 8u, 64u}) {
        const auto dtype = static_cast<DType>(d);
        const auto op = static_cast<ReduceOp>(o);
        if (wire::why_invalid(dtype, op) != nullptr) continue;
        SCOPED_TRACE(std::string(wire::name_of(dtype)) + " " + wire::name_of(op) + " over " +
                     std::to_string(ranks));
        const Pattern pattern(dtype, op, ranks);
        EXPECT_EQ(pattern.count_wrong(reduce(dtype, op, ranks, 300, 3), 3), 0u);
      }
}

TEST(Pattern, SumsAreExactUpToTheLargestJob) {
  EXPECT_EQ(Pattern(DType::float32, ReduceOp::sum, 1024)
                .count_wrong(reduce(DType::float32, ReduceOp::sum, 1024, 300, 0), 0),
            0u);
}

TEST(Pattern, MissingDoubledAndStaleDataShow) {
  const auto right = reduce(DType::float32, ReduceOp::sum, 4, 4096, 0);
  const Pattern four(DType::float32, ReduceOp::sum, 4);
  EXPECT_GT(Pattern(DType::float32, ReduceOp::sum, 3).count_wrong(right, 0), 4000u);
  EXPECT_GT(Pattern(DType::float32, ReduceOp::sum, 5).count_wrong(right, 0), 4000u);
  EXPECT_GT(four.count_wrong(right, 1), 3500u);  // an earlier round's
  auto swapped = right;                          // two chunks of 1 KiB in each other's place
  std::swap_ranges(swapped.begin(), swapped.begin() + 1024, swapped.begin() + 2048);
  EXPECT_GT(four.count_wrong(swapped, 0), 400u);
}

TEST(Pattern, CountsEachWrongElement) {
  const Pattern pattern(DType::int32, ReduceOp::sum, 1);
  Bytes data(40);
  pattern.fill(data, 0, 0);
  EXPECT_EQ(pattern.count_wrong(data, 0), 0u);
  data[4] ^= std::byte{1};
  data[39] ^= std::byte{0x80};
  EXPECT_EQ(pattern.count_wrong(data, 0), 2u);
}

TEST(Pattern, PartsAreKnownByTheirFirstIndexAndRank) {
  const Pattern pattern(DType::int16, ReduceOp::sum, 3);
  Bytes data(200);
  pattern.fill(data, 2, 7, 1000);
  EXPECT_EQ(pattern.count_wrong_of(2, data, 7, 1000), 0u);
  EXPECT_GT(pattern.count_wrong_of(1, data, 7, 1000), 90u);
  EXPECT_GT(pattern.count_wrong_of(2, data, 7, 0), 90u);
}

TEST(Pattern, RefusesPairsThatMakeNoSense) {
  EXPECT_THROW(Pattern(DType::int32, ReduceOp::mean, 2), std::invalid_argument);
  EXPECT_THROW(Pattern(DType::float16, ReduceOp::bit_or, 2), std::invalid_argument);
}

}  // namespace
}  // namespace tributary::client
