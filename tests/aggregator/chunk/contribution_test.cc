#include "aggregator/chunk/contribution.h"

#include <gtest/gtest.h>

#include <array>

namespace tributary::aggregator {
namespace {

wire::Header every_field() {
  wire::Header h;
  h.flags = wire::kFlagLast | wire::kFlagResend;
  h.op = 0x01020304;
  h.chunk = 0x05060708;
  h.seq = 9;
  h.element_count = 0x0A0B;
  h.scale_exponent = -7;
  h.dtype = wire::DType::float64;
  h.reduce_op = wire::ReduceOp::logical_xor;
  h.collective = wire::Collective::reduce_scatter;
  h.encoding = wire::Encoding::block_scaled;
  h.child = 12;
  return h;
}

// The words that are put together are the fields that are read.
TEST(Contribution, ADescriptionHasEveryFieldOfItsHeader) {
  std::array<std::byte, 32> buffer;
  wire::ExtensionWriter ext(buffer);
  ext.add(wire::TaskInformation{77, 4, 0});
  ext.add_target_rank(3);
  const ChunkDescription d = describe({every_field(), ext.bytes(), {}});
  EXPECT_EQ(d.op, 0x01020304u);
  EXPECT_EQ(d.chunk, 0x05060708u);
  EXPECT_EQ(d.total_elements, 77u);
  EXPECT_EQ(d.element_count, 0x0A0B);
  EXPECT_EQ(d.scale_exponent, -7);
  EXPECT_EQ(d.target, 3);
  EXPECT_EQ(d.dtype, wire::DType::float64);
  EXPECT_EQ(d.reduce_op, wire::ReduceOp::logical_xor);
  EXPECT_EQ(d.collective, wire::Collective::reduce_scatter);
  EXPECT_EQ(d.encoding, wire::Encoding::block_scaled);
  EXPECT_TRUE(d.last);
}

TEST(Contribution, WithoutExtensionsThereIsNoTotalAndNoTargetAndPlainDataHasNoScale) {
  wire::Header h = every_field();
  h.encoding = wire::Encoding::plain;
  h.flags = 0;
  const ChunkDescription d = describe({h, {}, {}});
  EXPECT_EQ(d.total_elements, 0u);
  EXPECT_EQ(d.target, ChunkDescription::kNoTarget);
  EXPECT_EQ(d.scale_exponent, 0);
  EXPECT_FALSE(d.last);
}

// Rule 7: a child that describes a chunk otherwise is found out, whichever field it is.
TEST(Contribution, DescriptionsAgreeOnlyInAllFieldsButATotalThatOneDoesNotState) {
  const ChunkDescription same = describe({every_field(), {}, {}});
  ChunkDescription copied;
  copied.copy_words(same);
  EXPECT_TRUE(copied == same);
  EXPECT_TRUE(copied.agrees_with(same));
  copied.total_elements = 5;
  EXPECT_FALSE(copied == same);
  EXPECT_TRUE(copied.agrees_with(same));
  const auto differs = [&](auto change) {
    ChunkDescription other = same;
    change(other);
    return !other.agrees_with(same) && !(other == same);
  };
  EXPECT_TRUE(differs([](ChunkDescription& d) { ++d.op; }));
  EXPECT_TRUE(differs([](ChunkDescription& d) { ++d.chunk; }));
  EXPECT_TRUE(differs([](ChunkDescription& d) { ++d.element_count; }));
  EXPECT_TRUE(differs([](ChunkDescription& d) { ++d.scale_exponent; }));
  EXPECT_TRUE(differs([](ChunkDescription& d) { d.target = 1; }));
  EXPECT_TRUE(differs([](ChunkDescription& d) { d.dtype = wire::DType::int8; }));
  EXPECT_TRUE(differs([](ChunkDescription& d) { d.reduce_op = wire::ReduceOp::min; }));
  EXPECT_TRUE(differs([](ChunkDescription& d) { d.collective = wire::Collective::barrier; }));
  EXPECT_TRUE(differs([](ChunkDescription& d) { d.encoding = wire::Encoding::plain; }));
  EXPECT_TRUE(differs([](ChunkDescription& d) { d.last = false; }));
}

}  // namespace
}  // namespace tributary::aggregator
