#include "worker/api/collective_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <limits>

#include "tests/core/reduction_table.h"

namespace tributary::worker {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using wire::Collective;
using wire::DType;
using wire::Encoding;
using wire::ReduceOp;

std::string refusal(const CollectiveCall& call, wire::Partials partials = wire::Partials::wide) {
  try {
    check_call(call, 3, partials);
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "accepted";
}

class CollectiveCalls : public ::testing::Test {
 protected:
  int memory = 0;
  CollectiveCall call{Collective::allreduce, &memory, &memory, 1, DType::int32, ReduceOp::sum};
};

TEST_F(CollectiveCalls, ReductionsTakeThePairsThatMakeSense) {
  for (const auto kind : {Collective::allreduce, Collective::reduce, Collective::reduce_scatter})
    for (const auto partials : {wire::Partials::wide, wire::Partials::narrow})
      wire::for_each_reduction(partials, [&](DType dtype, const char* type, ReduceOp op,
                                             const char* name, const char* why) {
        call.collective = kind;
        call.dtype = dtype;
        call.op = op;
        const std::string text = refusal(call, partials);
        if (why == nullptr) {
          EXPECT_EQ(text, "accepted") << type << ' ' << name;
        } else {
          EXPECT_THAT(text, StartsWith(std::string(wire::name_of(kind)) + " of " + type + " with " +
                                       name + ": " + why));
        }
      });
  call = {Collective::allreduce, &memory, nullptr, 1, DType::float32, ReduceOp::bit_and};
  EXPECT_EQ(refusal(call),
            "allreduce of float32 with band: bitwise and logical operations need integers or bool");
}

TEST_F(CollectiveCalls, ModelsAreFloats) {
  call = {Collective::update, &memory, nullptr, 1, DType::float32, ReduceOp::mean};
  EXPECT_EQ(refusal(call), "accepted");
  call.op = ReduceOp::max;
  EXPECT_THAT(refusal(call), HasSubstr("parameters are float32"));
  call = {Collective::open, &memory, nullptr, 1, DType::float32, ReduceOp::mean};
  EXPECT_THAT(refusal(call), HasSubstr("first values are brought with sum"));
  call.op = ReduceOp::sum;
  EXPECT_EQ(refusal(call), "accepted");
  call.dtype = DType::float64;
  EXPECT_THAT(refusal(call), HasSubstr("parameters are float32"));
  call.dtype = DType::uint32;
  call.array = wire::kModelStep;
  EXPECT_EQ(refusal(call), "accepted");
  call.collective = Collective::update;
  call.dtype = DType::float32;
  EXPECT_THAT(refusal(call), HasSubstr("array 65534: allowed are 0 to 65533"));
  call.array = 0x1'0000;  // is not array 0
  EXPECT_THAT(refusal(call), HasSubstr("array 65536: allowed are 0 to 65533"));
  call.array = 0;
  call.count = 0;
  EXPECT_THAT(refusal(call), HasSubstr("at least one parameter"));
}

// The switch would only drop it.
TEST_F(CollectiveCalls, JobsWithNarrowPartialsHaveNoMeanOfSmallFloats) {
  call = {Collective::allreduce, &memory, nullptr, 1, DType::float16, ReduceOp::mean};
  EXPECT_EQ(refusal(call), "accepted");
  EXPECT_THROW(check_call(call, 3, wire::Partials::narrow), std::invalid_argument);
  call.dtype = DType::float32;
  EXPECT_NO_THROW(check_call(call, 3, wire::Partials::narrow));
}

TEST_F(CollectiveCalls, MovesTakeEveryType) {
  for (const auto kind : {Collective::broadcast, Collective::all_gather})
    for (std::uint8_t d = 1; d <= wire::kDTypeMax; ++d) {
      call.collective = kind;
      call.dtype = static_cast<DType>(d);
      EXPECT_EQ(refusal(call), "accepted");
    }
  call.dtype = DType::none;
  EXPECT_THAT(refusal(call), HasSubstr("unknown data type"));
}

TEST_F(CollectiveCalls, RootsAndMemoryAreChecked) {
  call.collective = Collective::reduce;
  call.root = 3;
  EXPECT_EQ(refusal(call), "reduce: root 3 of 3 ranks");
  call.root = 2;
  call.data = nullptr;
  EXPECT_EQ(refusal(call), "reduce: data is null");
  call.count = 0;
  EXPECT_EQ(refusal(call), "accepted");
  call = {Collective::all_gather, &memory, nullptr, 1, DType::int32};
  EXPECT_EQ(refusal(call), "all_gather: output is null");
  EXPECT_EQ(refusal({Collective::barrier}), "accepted");
  call.collective = static_cast<Collective>(9);
  EXPECT_EQ(refusal(call), "unknown collective");
}

TEST_F(CollectiveCalls, CountsAreBoundedByChunkNumbers) {
  call.count = std::numeric_limits<std::uint32_t>::max();
  EXPECT_EQ(refusal(call), "accepted");
  ++call.count;
  EXPECT_THAT(refusal(call), HasSubstr("at most 2^32 - 1"));
  call.collective = Collective::reduce_scatter;
  call.count = std::numeric_limits<std::uint32_t>::max() / 3 + 1;
  EXPECT_THAT(refusal(call), HasSubstr("elements for each rank"));
}

TEST_F(CollectiveCalls, OnlyFloat32SumsCanBeBlockScaled) {
  call.encoding = Encoding::block_scaled;
  EXPECT_THAT(refusal(call), HasSubstr("allreduce of int32 with sum cannot be block-scaled"));
  call.dtype = DType::float32;
  EXPECT_EQ(refusal(call), "accepted");
  call.op = ReduceOp::max;
  EXPECT_THAT(refusal(call), HasSubstr("cannot be block-scaled"));
  call.op = ReduceOp::sum;
  call.collective = Collective::reduce;
  EXPECT_THAT(refusal(call), HasSubstr("cannot be block-scaled"));
  call.encoding = Encoding::compressed;
  EXPECT_THAT(refusal(call), HasSubstr("unknown encoding"));
}

TEST(CollectiveCall, O10_AScaleExponentNeedsFixedPointThatSaturates) {
  std::array<float, 4> data{};
  CollectiveCall call;
  call.data = data.data();
  call.count = data.size();
  call.dtype = wire::DType::float32;
  const auto why = [&](wire::Arithmetic arithmetic) {
    try {
      check_call(call, 4, wire::Partials::wide, arithmetic);
    } catch (const std::invalid_argument& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  call.scale_exponent = 0;
  EXPECT_THAT(why(wire::Arithmetic::saturating), ::testing::HasSubstr("block-scaled only"));
  call.encoding = wire::Encoding::block_scaled;
  EXPECT_EQ(why(wire::Arithmetic::saturating), "");
  EXPECT_THAT(why(wire::Arithmetic::modular), ::testing::HasSubstr("modular"));
  call.scale_exponent = -201;
  EXPECT_THAT(why(wire::Arithmetic::saturating),
              ::testing::HasSubstr("scale exponent -201; allowed are -200 to 127"));
  call.scale_exponent.reset();
  EXPECT_EQ(why(wire::Arithmetic::modular), "");
}

}  // namespace
}  // namespace tributary::worker
