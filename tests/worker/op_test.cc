#include "worker/op.h"

#include <gtest/gtest.h>

#include "aggregator/reduce.h"

namespace tributary::worker {
namespace {

// What the library accepts is what the switch has kernels for.
TEST(Op, SupportedPairsAreThoseOfTheSwitch) {
  for (std::uint8_t d = 0; d <= wire::kDTypeMax; ++d)
    for (std::uint8_t o = 1; o <= wire::kReduceOpMax; ++o) {
      const auto dtype = static_cast<wire::DType>(d);
      const auto op = static_cast<wire::ReduceOp>(o);
      EXPECT_EQ(is_supported(dtype, op), aggregator::find_reduce(dtype, op) != nullptr)
          << wire::name_of(dtype) << " " << wire::name_of(op);
    }
}

TEST(Op, ChunksCoverTheArrayOnce) {
  std::array<std::int32_t, 10> data;
  Op op;
  op.data = reinterpret_cast<std::byte*>(data.data());
  op.count = 10;
  op.dtype = wire::DType::int32;
  op.elements_per_chunk = 4;
  EXPECT_EQ(op.bytes_of(0).data(), op.data);
  EXPECT_EQ(op.bytes_of(1).size(), 16u);
  EXPECT_EQ(op.elements_of(2), 2u);
  EXPECT_EQ(op.bytes_of(2).data() + op.bytes_of(2).size(), op.data + sizeof data);
}

TEST(OpQueue, RemovesFromAnyPlace) {
  std::array<Op, 4> ops;
  OpQueue q;
  for (Op& op : ops) q.push_back(op);
  q.remove(ops[1]);
  q.remove(ops[3]);
  q.push_back(ops[1]);
  EXPECT_EQ(q.pop_front(), &ops[0]);
  EXPECT_EQ(q.pop_front(), &ops[2]);
  EXPECT_EQ(q.pop_front(), &ops[1]);
  EXPECT_EQ(q.pop_front(), nullptr);
  EXPECT_TRUE(q.empty());
}

}  // namespace
}  // namespace tributary::worker
