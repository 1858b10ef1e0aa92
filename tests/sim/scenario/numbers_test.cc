#include "sim/scenario/numbers.h"

#include <gtest/gtest.h>

#include <vector>

namespace tributary::sim {
namespace {

using wire::DType;
using wire::ReduceOp;

TEST(Numbers, HalvesAreThoseOfTheirFormats) {
  // IEEE 754 binary16, and the upper half of a float32.
  EXPECT_EQ(bits_of(DType::float16, 1.0), 0x3C00u);
  EXPECT_EQ(bits_of(DType::float16, -2.0), 0xC000u);
  EXPECT_EQ(bits_of(DType::float16, 65504.0), 0x7BFFu);
  EXPECT_EQ(bits_of(DType::float16, 0x1p-24), 1u) << "the least subnormal";
  EXPECT_EQ(bits_of(DType::bfloat16, 1.0), 0x3F80u);
  EXPECT_EQ(bits_of(DType::bfloat16, -0.15625), 0xBE20u);
  for (Bits bits = 0; bits < 0x7C00; ++bits) {
    EXPECT_EQ(bits_of(DType::float16, as_double(DType::float16, bits)), bits);
    EXPECT_EQ(bits_of(DType::bfloat16, as_double(DType::bfloat16, bits)), bits);
  }
}

TEST(Numbers, HalvesRoundToEven) {
  EXPECT_EQ(bits_of(DType::bfloat16, 257.0), bits_of(DType::bfloat16, 256.0));
  EXPECT_EQ(bits_of(DType::bfloat16, 259.0), bits_of(DType::bfloat16, 260.0));
  EXPECT_EQ(bits_of(DType::float16, 2049.0), bits_of(DType::float16, 2048.0));
}

TEST(Numbers, IntegersWrapAtTheirWidth) {
  const std::vector<Bits> values = {bits_of(DType::int8, std::int64_t{100}),
                                    bits_of(DType::int8, std::int64_t{100})};
  EXPECT_EQ(reduce(DType::int8, ReduceOp::sum, values), bits_of(DType::int8, std::int64_t{-56}));
  EXPECT_EQ(reduce(DType::int8, ReduceOp::prod, values), bits_of(DType::int8, std::int64_t{16}));
}

TEST(Numbers, OrderAndSignsAreTheTypes) {
  const std::vector<Bits> values = {bits_of(DType::int16, std::int64_t{-3}),
                                    bits_of(DType::int16, std::int64_t{5})};
  EXPECT_EQ(reduce(DType::int16, ReduceOp::min, values), values[0]);
  EXPECT_EQ(reduce(DType::int16, ReduceOp::max, values), values[1]);
  EXPECT_EQ(reduce(DType::uint32, ReduceOp::max, values), values[0]) << "as unsigned";
  const std::vector<Bits> floats = {bits_of(DType::float16, -3.0), bits_of(DType::float16, 0.5)};
  EXPECT_EQ(reduce(DType::float16, ReduceOp::min, floats), floats[0]);
  EXPECT_EQ(reduce(DType::float16, ReduceOp::max, floats), floats[1]);
}

TEST(Numbers, LogicalOpsGiveZeroOrOneForOneRankToo) {
  const std::vector<Bits> one = {7};
  const std::vector<Bits> two = {7, 4};
  EXPECT_EQ(reduce(DType::uint8, ReduceOp::logical_or, one), 1u);
  EXPECT_EQ(reduce(DType::uint8, ReduceOp::logical_and, two), 1u);
  EXPECT_EQ(reduce(DType::uint8, ReduceOp::logical_xor, two), 0u);
  EXPECT_EQ(reduce(DType::uint8, ReduceOp::bit_and, two), 4u);
}

TEST(Numbers, SixteenBitSumsRoundOnceAtTheEnd) {
  // In bfloat16 itself 256 + 1 + 1 would stay 256.
  const std::vector<Bits> values = {bits_of(DType::bfloat16, 256.0), bits_of(DType::bfloat16, 1.0),
                                    bits_of(DType::bfloat16, 1.0)};
  EXPECT_EQ(reduce(DType::bfloat16, ReduceOp::sum, values), bits_of(DType::bfloat16, 258.0));
  EXPECT_EQ(reduce(DType::bfloat16, ReduceOp::mean, values), bits_of(DType::bfloat16, 86.0));
}

TEST(Numbers, RoundingIsBoundedAndMistakesAreNot) {
  for (const DType t : {DType::float16, DType::bfloat16, DType::float32, DType::float64})
    for (const ReduceOp op : {ReduceOp::sum, ReduceOp::mean}) {
      std::vector<Bits> values;
      for (int i = 1; i <= 5; ++i) values.push_back(bits_of(t, 1.0 / (i + 6)));
      const Bits right = reduce(t, op, values);
      EXPECT_TRUE(within_rounding(t, op, wire::Partials::wide, right, values));
      const std::vector<Bits> backwards(values.rbegin(), values.rend());
      EXPECT_TRUE(within_rounding(t, op, wire::Partials::wide, reduce(t, op, backwards), values));
      auto twice = values;
      twice.push_back(values[2]);
      EXPECT_FALSE(
          within_rounding(t, op, wire::Partials::wide, reduce(t, ReduceOp::sum, twice), values))
          << wire::name_of(t) << " " << wire::name_of(op);
    }
}

}  // namespace
}  // namespace tributary::sim
