// Data of collectives: what each rank gives and has to have, and that a wrong element is one.
#include "tools/client/collective/generated.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace tributary::client {
namespace {

using wire::Collective;
constexpr std::uint32_t kRanks = 3;
constexpr std::uint64_t kCount = 5;

Generated make(Collective collective) {
  return {collective, wire::DType::int32, wire::ReduceOp::sum, 1, kRanks, kCount};
}
std::vector<std::int32_t> given(const Generated& data, std::uint32_t rank) {
  std::vector<std::int32_t> out(data.input_elements());
  data.fill(std::as_writable_bytes(std::span(out)), rank, 7);
  return out;
}
std::uint64_t wrong(const Generated& data, const std::vector<std::int32_t>& result,
                    std::uint32_t rank) {
  return data.count_wrong(std::as_bytes(std::span(result)), rank, 7);
}

TEST(Generated, ResultsAreWhatACollectiveMakesOfWhatRanksGive) {
  const auto sum = [](const Generated& data) {
    std::vector<std::int32_t> all(data.input_elements());
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      const auto its = given(data, rank);
      for (std::size_t i = 0; i < all.size(); ++i) all[i] += its[i];
    }
    return all;
  };
  const Generated allreduce = make(Collective::allreduce);
  EXPECT_EQ(wrong(allreduce, sum(allreduce), 2), 0u);
  const Generated reduce = make(Collective::reduce);
  EXPECT_EQ(wrong(reduce, sum(reduce), 1), 0u);
  EXPECT_EQ(wrong(reduce, given(reduce, 2), 2), 0u) << "no root: its data stays";
  EXPECT_GT(wrong(reduce, sum(reduce), 2), 0u);
  const Generated broadcast = make(Collective::broadcast);
  EXPECT_EQ(wrong(broadcast, given(broadcast, 1), 0), 0u);
  EXPECT_GT(wrong(broadcast, given(broadcast, 0), 0), 0u);
  const Generated scatter = make(Collective::reduce_scatter);
  EXPECT_EQ(scatter.input_elements(), kRanks * kCount);
  EXPECT_EQ(scatter.result_elements(), kCount);
  const auto whole = sum(scatter);
  EXPECT_EQ(wrong(scatter, {whole.begin() + kCount, whole.begin() + 2 * kCount}, 1), 0u);
  EXPECT_GT(wrong(scatter, {whole.begin() + kCount, whole.begin() + 2 * kCount}, 0), 0u);
  const Generated gather = make(Collective::all_gather);
  EXPECT_EQ(gather.result_elements(), kRanks * kCount);
  std::vector<std::int32_t> all;
  for (std::uint32_t rank = 0; rank < kRanks; ++rank)
    for (const std::int32_t value : given(gather, rank)) all.push_back(value);
  EXPECT_EQ(wrong(gather, all, 0), 0u);
  all[kCount] += 1;
  EXPECT_EQ(wrong(gather, all, 2), 1u);
}

TEST(Generated, PairsThatDoNotGoTogetherAreRefusedWhereTheyReduce) {
  const auto with = [](Collective collective) {
    return Generated(collective, wire::DType::float32, wire::ReduceOp::bit_and, 0, 2, 1);
  };
  EXPECT_THROW(with(Collective::allreduce), std::invalid_argument);
  EXPECT_THROW(with(Collective::reduce_scatter), std::invalid_argument);
  EXPECT_NO_THROW(with(Collective::all_gather));
}

}  // namespace
}  // namespace tributary::client
