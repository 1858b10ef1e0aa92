// Ops that a rank has called: their buffers, and what the library is given.
#include "sim/node/open_op.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tributary::sim {
namespace {

constexpr std::uint32_t kRanks = 3;
constexpr std::uint64_t kSalt = 77;

OpenOp open_op(const OpPlan& plan, std::uint32_t rank = 0) {
  wire::StartInfo start;
  start.window = 4;
  start.chunk_bytes = 64;
  start.workers = kRanks;
  return {plan, 5, rank, kRanks, kSalt, start};
}

TEST(OpenOp, ItsBuffersHoldTheDataOfTheIncarnation) {
  OpPlan plan;
  plan.count = 10;
  plan.collective = wire::Collective::reduce_scatter;
  const OpenOp open = open_op(plan);
  EXPECT_EQ(open.data.size(), 10u * kRanks * sizeof(std::int32_t));
  EXPECT_EQ(open.output.size(), 10u * sizeof(std::int32_t));
  std::vector<std::byte> expected(open.data.size());
  fill(plan, kSalt, 5, expected);
  EXPECT_EQ(open.data, expected);
  EXPECT_EQ(open.op.data, open.data.data());
  EXPECT_EQ(open.op.output, open.output.data());
  EXPECT_EQ(open.op.collective, wire::Collective::reduce_scatter);
}

TEST(OpenOp, FirstValuesOfAModelAreOneRanks) {
  OpPlan plan;
  plan.count = 4;
  plan.dtype = wire::DType::float32;
  plan.collective = wire::Collective::open;
  plan.values = Values::gradients;
  plan.root = 1;
  const auto is_zero = [](std::byte b) { return b == std::byte{0}; };
  const OpenOp other = open_op(plan, 0);
  EXPECT_TRUE(std::all_of(other.data.begin(), other.data.end(), is_zero));
  const OpenOp root = open_op(plan, 1);
  EXPECT_FALSE(std::all_of(root.data.begin(), root.data.end(), is_zero));
}

TEST(OpenOp, FixedPointIsSummedAsWholeNumbers) {
  OpPlan plan;
  plan.count = 40;
  plan.dtype = wire::DType::float32;
  plan.values = Values::scaled;
  const OpenOp open = open_op(plan);
  EXPECT_EQ(open.op.dtype, wire::DType::int32);
  ASSERT_NE(open.scaled, nullptr);
  EXPECT_EQ(open.op.scaled, open.scaled.get());
}

TEST(OpenOp, AnotherOpIsNotThePlans) {
  OpPlan plan;
  plan.count = 7;
  EXPECT_NE(another_op(plan).count, plan.count);
}

}  // namespace
}  // namespace tributary::sim
