#include "sim/scenario/workload.h"

#include <gtest/gtest.h>

#include <cstring>

#include "sim/scenario/network_plan.h"

namespace tributary::sim {
namespace {

using wire::Collective;
using wire::DType;
using wire::ReduceOp;

constexpr std::uint32_t kOp = 3;
const std::vector<std::uint64_t> kSalts = {11, 22, 33, 44, 55};
constexpr std::uint32_t kRanks = 5;

JobScenario job_of_five() {
  JobScenario job;
  job.workers = kRanks;
  return job;
}

OpPlan plan_of(DType dtype, ReduceOp op, Values values = Values::exact,
               Collective collective = Collective::allreduce) {
  OpPlan plan;
  plan.count = 300;
  plan.dtype = dtype;
  plan.reduce_op = op;
  plan.values = values;
  plan.collective = collective;
  plan.root = 2;
  return plan;
}

void write(std::vector<std::byte>& data, std::size_t size, std::size_t i, Bits bits) {
  std::memcpy(data.data() + i * size, &bits, size);
}

// Elements from `first` on, reduced over `salts` in their order.
std::vector<std::byte> reduced(const OpPlan& plan, std::span<const std::uint64_t> salts,
                               std::size_t first = 0) {
  const std::size_t size = wire::size_of(plan.dtype);
  std::vector<std::byte> data(plan.count * size);
  for (std::size_t i = 0; i < plan.count; ++i) {
    std::vector<Bits> values;
    for (const auto salt : salts) values.push_back(value_of(plan, salt, kOp, first + i));
    write(data, size, i, reduce(plan.dtype, plan.reduce_op, values));
  }
  return data;
}

std::vector<std::byte> input(const OpPlan& plan, std::uint32_t rank) {
  std::vector<std::byte> data(plan.inputs(kRanks) * wire::size_of(plan.dtype));
  fill(plan, kSalts[rank], kOp, data);
  return data;
}

std::optional<std::string> judge(const OpPlan& plan, const JobScenario& job,
                                 const OpResult& result) {
  Scenario world;
  world.jobs = {job};
  return wrong_with(plan, job, expression_of(plan_network(world), job.id), kSalts, kOp, result);
}

bool right(const OpPlan& plan, const JobScenario& job, std::span<const std::byte> data,
           std::span<const std::byte> output = {}, std::uint32_t rank = 0) {
  return !judge(plan, job, {rank, data, output});
}

std::vector<OpPlan> all_sums() {
  std::vector<OpPlan> plans;
  for (int d = 1; d <= wire::kDTypeMax; ++d)
    for (int o = 1; o <= wire::kReduceOpMax; ++o) {
      const auto dtype = static_cast<DType>(d);
      const auto op = static_cast<ReduceOp>(o);
      if (wire::why_invalid(dtype, op) != nullptr) continue;
      if (op != ReduceOp::mean) plans.push_back(plan_of(dtype, op));
      if (wire::is_float(dtype) && (op == ReduceOp::sum || op == ReduceOp::mean))
        plans.push_back(plan_of(dtype, op, Values::rounding));
    }
  return plans;
}

TEST(Workload, ResultsOfEveryTypeAndOpAreRightInAnyOrder) {
  const std::vector<std::uint64_t> backwards(kSalts.rbegin(), kSalts.rend());
  for (const OpPlan& plan : all_sums()) {
    EXPECT_TRUE(right(plan, job_of_five(), reduced(plan, kSalts))) << describe(plan);
    EXPECT_TRUE(right(plan, job_of_five(), reduced(plan, backwards))) << describe(plan);
  }
}

// Or the bound would let everything pass; and in a reproducible job the order counts.
TEST(Workload, SumsThatRoundDifferWithTheOrder) {
  const std::vector<std::uint64_t> backwards(kSalts.rbegin(), kSalts.rend());
  JobScenario reproducible = job_of_five();
  reproducible.sums.order = wire::Order::reproducible;
  for (const DType dtype : {DType::float32, DType::float64}) {
    const OpPlan plan = plan_of(dtype, ReduceOp::sum, Values::rounding);
    EXPECT_NE(reduced(plan, kSalts), reduced(plan, backwards));
    EXPECT_TRUE(right(plan, reproducible, reduced(plan, kSalts)));
    EXPECT_FALSE(right(plan, reproducible, reduced(plan, backwards)));
    // (0 + 1) + (2 + 3 + 4) is another sum.
    JobScenario bracketed = reproducible;
    const auto rank = [](std::uint32_t r) { return config::Bracket{{}, r}; };
    bracketed.sums.bracketing =
        config::Bracket{{{{rank(0), rank(1)}, 0}, {{rank(2), rank(3), rank(4)}, 0}}, 0};
    EXPECT_FALSE(right(plan, bracketed, reduced(plan, kSalts)));
    bracketed.sums.bracketing = config::Bracket{{rank(4), rank(3), rank(2), rank(1), rank(0)}, 0};
    EXPECT_TRUE(right(plan, bracketed, reduced(plan, backwards)));
  }
}

TEST(Workload, ARankTooManyOrTooFewIsNoticedInEverySum) {
  std::vector<std::uint64_t> twice = kSalts;
  twice.push_back(kSalts[2]);
  const std::vector<std::uint64_t> without(kSalts.begin() + 1, kSalts.end());
  for (const OpPlan& plan : all_sums()) {
    if (plan.reduce_op != ReduceOp::sum && plan.reduce_op != ReduceOp::bit_xor) continue;
    EXPECT_FALSE(right(plan, job_of_five(), reduced(plan, twice))) << describe(plan);
    EXPECT_FALSE(right(plan, job_of_five(), reduced(plan, without))) << describe(plan);
  }
}

TEST(Workload, OneWrongElementIsFound) {
  for (const OpPlan& plan : all_sums()) {
    auto data = reduced(plan, kSalts);
    const std::size_t size = wire::size_of(plan.dtype);
    data[277 * size + size - 1] ^= std::byte{0x40};
    const auto wrong = judge(plan, job_of_five(), {0, data, {}});
    ASSERT_TRUE(wrong) << describe(plan);
    EXPECT_NE(wrong->find("element 277 "), std::string::npos) << *wrong;
  }
}

TEST(Workload, AnOverflowingSumMayNotBeDelivered) {
  const OpPlan plan = plan_of(DType::int16, ReduceOp::sum, Values::overflows);
  EXPECT_FALSE(right(plan, job_of_five(), reduced(plan, kSalts)));
  const OpPlan wraps = plan_of(DType::int16, ReduceOp::sum, Values::wraps);
  EXPECT_TRUE(right(wraps, job_of_five(), reduced(wraps, kSalts)));
}

TEST(Workload, CollectivesPutDataWhereItBelongsAndLeaveTheRest) {
  const JobScenario job = job_of_five();
  OpPlan plan = plan_of(DType::int32, ReduceOp::sum, Values::exact, Collective::reduce);
  EXPECT_TRUE(right(plan, job, reduced(plan, kSalts), {}, 2)) << "at the root";
  EXPECT_TRUE(right(plan, job, input(plan, 1), {}, 1)) << "elsewhere nothing changes";
  EXPECT_FALSE(right(plan, job, reduced(plan, kSalts), {}, 1));
  EXPECT_FALSE(right(plan, job, input(plan, 2), {}, 2));

  plan.collective = Collective::reduce_scatter;
  EXPECT_TRUE(right(plan, job, input(plan, 3), reduced(plan, kSalts, 3 * plan.count), 3));
  EXPECT_FALSE(right(plan, job, input(plan, 3), reduced(plan, kSalts), 3)) << "another's part";

  plan.collective = Collective::broadcast;
  EXPECT_TRUE(right(plan, job, input(plan, 2), {}, 4));
  EXPECT_FALSE(right(plan, job, input(plan, 4), {}, 4));

  plan.collective = Collective::all_gather;
  std::vector<std::byte> all;
  for (std::uint32_t r = 0; r < kRanks; ++r) {
    const auto part = input(plan, r);
    all.insert(all.end(), part.begin(), part.end());
  }
  EXPECT_TRUE(right(plan, job, input(plan, 1), all, 1));
  std::rotate(all.begin(), all.begin() + 4, all.end());
  EXPECT_FALSE(right(plan, job, input(plan, 1), all, 1));
}

TEST(Workload, PlansCoverEverythingThatIsValid) {
  JobScenario job = job_of_five();
  job.max_elements = 50;
  std::array<int, 6> collectives{};
  std::array<int, wire::kDTypeMax + 1> dtypes{};
  std::array<int, static_cast<std::size_t>(Values::storm) + 1> values{};
  for (std::uint32_t i = 0; i < 5000; ++i) {
    const OpPlan plan = plan_op(job, 1, i);
    if (plan.dtype != DType::none) {
      ASSERT_EQ(wire::why_invalid(plan.dtype, plan.reduce_op), nullptr);
      ASSERT_LE(plan.count, 50u);
    }
    ++collectives[static_cast<std::size_t>(plan.collective)];
    ++dtypes[static_cast<std::size_t>(plan.dtype)];
    ++values.at(static_cast<std::size_t>(plan.values));
  }
  for (const int n : collectives) EXPECT_GT(n, 100);
  for (const int n : dtypes) EXPECT_GT(n, 100);
  EXPECT_GT(values[static_cast<std::size_t>(Values::rounding)], 100);
  EXPECT_GT(values[static_cast<std::size_t>(Values::overflows)], 50);
  EXPECT_EQ(values[static_cast<std::size_t>(Values::wraps)], 0) << "for modular jobs";
}

}  // namespace
}  // namespace tributary::sim
