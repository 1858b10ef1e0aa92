#include "tests/sim/workload.h"

#include <gtest/gtest.h>

#include <cstring>

namespace tributary::sim {
namespace {

constexpr std::uint32_t kOp = 3;
const std::vector<std::uint64_t> kSalts = {11, 22, 33, 44, 55};

std::vector<std::byte> filled(const OpPlan& plan, std::uint64_t salt) {
  std::vector<std::byte> data(plan.count * 4);
  fill(plan, salt, kOp, data);
  return data;
}

template <typename T>
std::vector<std::byte> sum_of(const OpPlan& plan, std::span<const std::uint64_t> salts) {
  std::vector<T> sum(plan.count);
  for (const std::uint64_t salt : salts) {
    const auto data = filled(plan, salt);
    for (std::size_t i = 0; i < plan.count; ++i) {
      T value;
      std::memcpy(&value, data.data() + i * 4, 4);
      sum[i] += value;
    }
  }
  const auto bytes = std::as_bytes(std::span(sum));
  return {bytes.begin(), bytes.end()};
}

OpPlan plan(wire::DType dtype, bool rounds) {
  return {1000, dtype, wire::Collective::allreduce, rounds};
}

TEST(Workload, SumsOfAllKindsAreRightInAnyOrder) {
  const std::vector<std::uint64_t> backwards(kSalts.rbegin(), kSalts.rend());
  for (const bool rounds : {false, true}) {
    const OpPlan p = plan(wire::DType::float32, rounds);
    EXPECT_EQ(first_wrong(p, kSalts, kOp, sum_of<float>(p, kSalts)), p.count);
    EXPECT_EQ(first_wrong(p, kSalts, kOp, sum_of<float>(p, backwards)), p.count);
  }
  const OpPlan p = plan(wire::DType::int32, false);
  EXPECT_EQ(first_wrong(p, kSalts, kOp, sum_of<std::int32_t>(p, backwards)), p.count);
}

// Or the bound would let everything pass.
TEST(Workload, SumsThatRoundDifferWithTheOrder) {
  const OpPlan p = plan(wire::DType::float32, true);
  const std::vector<std::uint64_t> backwards(kSalts.rbegin(), kSalts.rend());
  EXPECT_NE(sum_of<float>(p, kSalts), sum_of<float>(p, backwards));
}

TEST(Workload, ARankTooManyOrTooFewIsNoticedInAnyKind) {
  std::vector<std::uint64_t> twice = kSalts;
  twice.push_back(kSalts[2]);
  const std::vector<std::uint64_t> without(kSalts.begin() + 1, kSalts.end());
  for (const auto& wrong : {twice, without}) {
    for (const bool rounds : {false, true}) {
      const OpPlan p = plan(wire::DType::float32, rounds);
      EXPECT_EQ(first_wrong(p, kSalts, kOp, sum_of<float>(p, wrong)), 0u);
    }
    const OpPlan p = plan(wire::DType::int32, false);
    EXPECT_EQ(first_wrong(p, kSalts, kOp, sum_of<std::int32_t>(p, wrong)), 0u);
  }
}

// Every element counts, not only the first.
TEST(Workload, OneWrongElementIsFound) {
  for (const bool rounds : {false, true}) {
    const OpPlan p = plan(wire::DType::float32, rounds);
    auto data = sum_of<float>(p, kSalts);
    data[777 * 4 + 2] ^= std::byte{0x10};
    EXPECT_EQ(first_wrong(p, kSalts, kOp, data), 777u) << rounds;
  }
}

}  // namespace
}  // namespace tributary::sim
