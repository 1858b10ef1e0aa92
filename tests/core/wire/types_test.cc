#include "core/wire/types.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace tributary::wire {
namespace {

// Names appear in errors and metrics, and the protocol's tables are compared by them.
template <typename Enum>
std::set<std::string> names(int first, int last) {
  std::set<std::string> seen;
  for (int i = first; i <= last; ++i) seen.insert(name_of(static_cast<Enum>(i)));
  return seen;
}

TEST(Types, EveryNumberUpToTheMaximumHasItsOwnName) {
  EXPECT_EQ(names<PacketType>(1, kPacketTypeMax).size(), std::size_t{kPacketTypeMax});
  EXPECT_EQ(names<DType>(0, kDTypeMax).size(), std::size_t{kDTypeMax} + 1);
  EXPECT_EQ(names<ReduceOp>(1, kReduceOpMax).size(), std::size_t{kReduceOpMax});
  EXPECT_EQ(names<PacketType>(1, kPacketTypeMax).count("?"), 0u);
  EXPECT_EQ(names<DType>(0, kDTypeMax).count("?"), 0u);
  EXPECT_EQ(names<ReduceOp>(1, kReduceOpMax).count("?"), 0u);
}

TEST(Types, NumbersBeyondAreNamedUnknownNotRead) {
  EXPECT_STREQ(name_of(static_cast<PacketType>(kPacketTypeMax + 1)), "?");
  EXPECT_STREQ(name_of(static_cast<PacketType>(0)), "?");
  EXPECT_STREQ(name_of(static_cast<DType>(255)), "?");
  EXPECT_STREQ(name_of(static_cast<ReduceOp>(0)), "?");
  EXPECT_STREQ(name_of(static_cast<Collective>(15)), "?");
  EXPECT_STREQ(name_of(static_cast<Reason>(255)), "?");
}

TEST(Types, ElementSizes) {
  EXPECT_EQ(size_of(DType::none), 0u);
  EXPECT_EQ(size_of(DType::boolean), 1u);
  EXPECT_EQ(size_of(DType::bfloat16), 2u);
  EXPECT_EQ(size_of(DType::float32), 4u);
  EXPECT_EQ(size_of(DType::float64), 8u);
  EXPECT_EQ(size_of(static_cast<DType>(kDTypeMax + 1)), 0u);
  for (int i = 1; i <= kDTypeMax; ++i) EXPECT_GT(size_of(static_cast<DType>(i)), 0u) << i;
}

// What a job may ask for: integers everything but mean, floats the arithmetic and the order, bool
// the order and the logic.
TEST(Types, InvalidPairsOfTypeAndOpHaveAReason) {
  const auto valid_ops = [](DType dtype) {
    std::string valid;
    for (int op = 1; op <= kReduceOpMax; ++op)
      if (why_invalid(dtype, static_cast<ReduceOp>(op)) == nullptr)
        valid += std::string(name_of(static_cast<ReduceOp>(op))) + " ";
    return valid;
  };
  for (int i = 1; i <= kDTypeMax; ++i) {
    const auto dtype = static_cast<DType>(i);
    const char* expected = dtype == DType::boolean ? "min max band bor bxor land lor lxor "
                           : is_float(dtype)       ? "sum mean prod min max "
                                             : "sum prod min max band bor bxor land lor lxor ";
    EXPECT_EQ(valid_ops(dtype), expected) << name_of(dtype);
    EXPECT_EQ(is_integer(dtype), !is_float(dtype) && dtype != DType::boolean) << name_of(dtype);
  }
  EXPECT_STREQ(why_invalid(DType::none, ReduceOp::sum), "there are no elements to reduce");
  EXPECT_STREQ(why_invalid(static_cast<DType>(kDTypeMax + 1), ReduceOp::sum), "unknown data type");
  EXPECT_STREQ(why_invalid(DType::int32, static_cast<ReduceOp>(0)), "unknown reduce op");
  EXPECT_STREQ(why_invalid(DType::int32, static_cast<ReduceOp>(kReduceOpMax + 1)),
               "unknown reduce op");
}

// A partial sum of 16-bit floats may be infinite where their mean is not.
TEST(Types, NarrowPartialsHaveNoMeanOfSmallFloats) {
  for (int i = 1; i <= kDTypeMax; ++i) {
    for (int j = 1; j <= kReduceOpMax; ++j) {
      const auto t = static_cast<DType>(i);
      const auto op = static_cast<ReduceOp>(j);
      EXPECT_EQ(why_invalid(t, op, Partials::wide), why_invalid(t, op));
      const bool small_mean = op == ReduceOp::mean && (t == DType::float16 || t == DType::bfloat16);
      EXPECT_EQ(why_invalid(t, op, Partials::narrow) == nullptr,
                why_invalid(t, op) == nullptr && !small_mean)
          << name_of(t) << ' ' << name_of(op);
    }
  }
}

// Rule 17: room for accumulators, where there are any.
TEST(Types, ElementsPerChunkLeaveRoomForAccumulators) {
  const auto per_chunk = [](DType t, ReduceOp op, Partials p = Partials::wide,
                            bool reduces = true) {
    return elements_per_chunk(64, t, op, p, reduces);
  };
  for (const DType t : {DType::int8, DType::uint8, DType::float16, DType::bfloat16}) {
    const auto own = static_cast<std::uint32_t>(64 / size_of(t));
    EXPECT_EQ(per_chunk(t, ReduceOp::sum), 16u);
    EXPECT_EQ(per_chunk(t, ReduceOp::prod), 16u);
    EXPECT_EQ(per_chunk(t, ReduceOp::mean), 16u);
    EXPECT_EQ(per_chunk(t, ReduceOp::max), own);
    EXPECT_EQ(per_chunk(t, ReduceOp::sum, Partials::narrow), own);
    EXPECT_EQ(per_chunk(t, ReduceOp::sum, Partials::wide, false), own);
  }
  EXPECT_EQ(per_chunk(DType::int16, ReduceOp::sum), 32u);
  EXPECT_EQ(per_chunk(DType::boolean, ReduceOp::logical_or), 64u);
  EXPECT_EQ(per_chunk(DType::float64, ReduceOp::mean), 8u);
  EXPECT_EQ(per_chunk(DType::none, ReduceOp::sum), 64u);  // a barrier has one chunk
}

}  // namespace
}  // namespace tributary::wire
