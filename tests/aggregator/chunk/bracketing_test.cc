#include "aggregator/chunk/bracketing.h"

#include <gtest/gtest.h>

#include <array>

namespace tributary::aggregator {
namespace {

using config::Bracket;

Bracket rank(std::uint32_t r) {
  return {{}, r};
}
// So many workers.
std::vector<bool> elements(std::size_t children) {
  return std::vector<bool>(children);
}

TEST(Bracketing, WithoutADeclarationRanksFollowEachOther) {
  const Bracketing order(std::nullopt, elements(3));
  EXPECT_TRUE(order.flat());
  for (std::uint16_t c = 0; c < 3; ++c) EXPECT_EQ(order.position_of(c), c);
}

TEST(Bracketing, DeclaredPermutationIsFlat) {
  const Bracketing order(Bracket{{rank(2), rank(0), rank(1)}, 0}, elements(3));
  EXPECT_TRUE(order.flat());
  EXPECT_EQ(order.position_of(2), 0);
  EXPECT_EQ(order.child_at(2), 1);
}

// [[1, 0], 4, [[3], 2, 5]] over powers of ten that only this bracketing adds up to these bits.
TEST(Bracketing, EvaluatesInnerBracketsOnTheirOwn) {
  const Bracket declared{{Bracket{{rank(1), rank(0)}, 0}, rank(4),
                          Bracket{{Bracket{{rank(3)}, 0}, rank(2), rank(5)}, 0}},
                         0};
  const Bracketing order(declared, elements(6));
  EXPECT_FALSE(order.flat());
  EXPECT_EQ(order.depth(), 3u);
  const std::array<float, 6> value = {1.0f, 3e7f, 5.5f, -7e7f, 0.25f, 7e7f};
  std::array<const void*, 6> sources{};
  for (std::uint16_t p = 0; p < 6; ++p) sources[p] = &value[order.child_at(p)];
  std::array<std::array<std::byte, 4>, 3> memory{};
  const std::array<std::byte*, 3> scratch = {memory[0].data(), memory[1].data(), memory[2].data()};
  const Kernels* const kernels =
      find_kernels(wire::DType::float32, wire::ReduceOp::sum, Arithmetic::saturating);
  float sum = 0;
  EXPECT_FALSE(order.evaluate(*kernels, &sum, sources, 1, scratch));
  const float inner = (value[3] + value[2]) + value[5];
  EXPECT_EQ(sum, ((value[1] + value[0]) + value[4]) + inner);
}

// What reads every source once and writes the sum once, without a fold.
TEST(Bracketing, T4_WhatHasNoInnerBracketsIsOneFusedPass) {
  static std::vector<std::size_t> passes;
  passes.clear();
  const auto no_merge = [](void*, const void*, std::size_t) -> bool {
    ADD_FAILURE() << "more than one pass";
    return false;
  };
  Kernels counting =
      *find_kernels(wire::DType::float32, wire::ReduceOp::sum, Arithmetic::saturating);
  counting.fold = no_merge;
  counting.merge = no_merge;
  counting.fuse = [](void*, const void* const*, std::size_t sources, std::size_t) {
    passes.push_back(sources);
    return false;
  };
  counting.fold_all = [](void*, const void* const*, std::size_t, std::size_t) -> bool {
    ADD_FAILURE() << "more than one pass";
    return false;
  };
  for (const std::size_t children : {1u, 2u, 8u, 9u, 64u}) {
    const std::vector<float> value(children);
    std::vector<const void*> sources;
    for (const float& v : value) sources.push_back(&v);
    float sum = 0;
    EXPECT_FALSE(
        Bracketing(std::nullopt, elements(children)).evaluate(counting, &sum, sources, 1, {}));
  }
  EXPECT_EQ(passes, (std::vector<std::size_t>{1, 2, 8, 9, 64}));
}

// [[0, 1], 2, 3] where 1 and 2 are switches: half floats come from workers, floats from switches.
TEST(Bracketing, T15_ASwitchIsAnItemWhoseValueComesUnrounded) {
  const Bracket declared{{Bracket{{rank(0), rank(1)}, 0}, rank(2), rank(3)}, 0};
  const Bracketing order(declared, {false, true, true, false});
  const std::uint16_t one = 0x3C00;
  const float switch_a = 1e-6F;
  const float switch_b = 70000.0F;
  const std::array<const void*, 4> sources = {&one, &switch_a, &switch_b, &one};
  std::array<std::byte, 4> memory{};
  const std::array<std::byte*, 1> scratch = {memory.data()};
  const Kernels* const kernels =
      find_kernels(wire::DType::float16, wire::ReduceOp::sum, Arithmetic::saturating);
  float sum = 0;
  EXPECT_FALSE(order.evaluate(*kernels, &sum, sources, 1, scratch));
  EXPECT_EQ(sum, ((1.0F + switch_a) + switch_b) + 1.0F);
  // A switch comes first.
  const Bracketing turned(Bracket{{rank(1), rank(0), rank(3), rank(2)}, 0},
                          {false, true, true, false});
  const std::array<const void*, 4> in_order = {&switch_a, &one, &one, &switch_b};
  EXPECT_FALSE(turned.evaluate(*kernels, &sum, in_order, 1, {}));
  EXPECT_EQ(sum, ((switch_a + 1.0F) + 1.0F) + switch_b);
}

}  // namespace
}  // namespace tributary::aggregator
