// Communicators that span several switches: threads and kernel sockets against engines on loopback.
#include "worker/api/switches.h"

#include <gmock/gmock.h>

#include "tests/worker/several_switches.h"

namespace tributary {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

class SwitchesTestTimed : public worker::SeveralSwitches {};

TEST_F(SwitchesTestTimed, A2_EveryCollectiveIsExactOverThreeSwitches) {
  start({64, 64, 64});
  join_all();
  for (const std::size_t count : {0u, 1u, 16u, 17u, 1000u}) {
    std::vector<Ints> data;
    for (std::int32_t r = 0; r < 3; ++r) data.push_back(numbers(count, r));
    const auto fresh = data;
    all([&](Communicator& c, std::uint32_t r) {
      return c.allreduce(data[r].data(), count, wire::DType::int32, wire::ReduceOp::sum);
    });
    for (std::size_t r = 0; r < 3; ++r)
      for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(data[r][i], 6 * fresh[0][i]) << count;
    data = fresh;
    all([&](Communicator& c, std::uint32_t r) {
      return c.broadcast(data[r].data(), count, wire::DType::int32, 2);
    });
    EXPECT_THAT(data, Each(fresh[2]));
    std::vector<Ints> gathered(3, Ints(3 * count));
    all([&](Communicator& c, std::uint32_t r) {
      return c.all_gather(fresh[r].data(), gathered[r].data(), count, wire::DType::int32);
    });
    Ints together;
    for (const Ints& part : fresh) together.insert(together.end(), part.begin(), part.end());
    EXPECT_THAT(gathered, Each(together));
    // In place at the head of the input, where the result waits in memory of its own.
    std::vector<Ints> scattered(3, together);
    all([&](Communicator& c, std::uint32_t r) {
      return c.reduce_scatter(scattered[r].data(), scattered[r].data(), count, wire::DType::int32,
                              wire::ReduceOp::sum);
    });
    for (std::size_t r = 0; r < 3; ++r)
      for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(scattered[r][i], 3 * fresh[r][i]) << count;
    all([&](Communicator& c, std::uint32_t) { return c.barrier_async(); });
  }
  for (const auto& s : switches)
    EXPECT_GT(s->counters().contributions.get(), 100u) << "each has its shard";
}

// A3: wherever the array lies on a rank, the same elements go to the same switch.
TEST_F(SwitchesTestTimed, A2_ShardsAreSharedOutEvenly) {
  start({64, 64});
  join_all();
  std::vector<Ints> data(kRanks, Ints(16 * 100, 1));
  const auto before = switches[0]->counters().contributions.get();
  all([&](Communicator& c, std::uint32_t r) {
    return c.allreduce(data[r].data(), data[r].size(), wire::DType::int32, wire::ReduceOp::sum);
  });
  EXPECT_EQ(switches[0]->counters().contributions.get() - before, 50 * kRanks);
}

TEST_F(SwitchesTestTimed, A2_ManyOpsInFlightUnderLossStayInOrder) {
  start({64, 64});
  join_all();
  for (const auto& s : switches) s->lose(20'000);
  constexpr std::uint32_t kOps = 60;
  std::vector<Ints> data(kRanks * kOps);
  std::vector<Request> requests;
  for (std::uint32_t i = 0; i < kOps; ++i)
    for (std::uint32_t r = 0; r < kRanks; ++r) {
      auto& d = data[i * kRanks + r];
      d.assign(1 + i * 3, static_cast<std::int32_t>(i + r));
      requests.push_back(
          ranks[r]->allreduce(d.data(), d.size(), wire::DType::int32, wire::ReduceOp::sum));
      if (i % 7 == 0) requests.push_back(ranks[r]->barrier_async());
    }
  for (auto& q : requests) q.wait();
  for (std::uint32_t i = 0; i < kOps; ++i)
    for (std::uint32_t r = 0; r < kRanks; ++r)
      EXPECT_THAT(data[i * kRanks + r], Each(static_cast<std::int32_t>(3 * i + 3)));
  for (const auto& s : switches) s->lose(0);
}

// The memory of an op is its own, whichever switch has which shard of it.
TEST_F(SwitchesTestTimed, A2_MemoryInUseIsRefused) {
  start({64, 64});
  join_all();
  Ints data(1000, 1);
  Request open = ranks[0]->allreduce(data.data(), 600, wire::DType::int32, wire::ReduceOp::sum);
  EXPECT_THROW(ranks[0]->allreduce(data.data() + 500, 500, wire::DType::int32, wire::ReduceOp::sum),
               std::invalid_argument);
  std::vector<Ints> others(2, Ints(600, 1));
  std::vector<Request> rest;
  for (std::uint32_t r = 1; r < kRanks; ++r)
    rest.push_back(
        ranks[r]->allreduce(others[r - 1].data(), 600, wire::DType::int32, wire::ReduceOp::sum));
  open.wait();
  for (auto& q : rest) q.wait();
  EXPECT_EQ(data[0], 3);
}

TEST_F(SwitchesTestTimed, A2_ASwitchThatDiesIsNamed) {
  start({64, 64});
  join_all();
  switches[1]->shut_down();
  Ints data(1000, 1);
  try {
    ranks[0]->allreduce(data.data(), data.size(), wire::DType::int32, wire::ReduceOp::sum).wait();
    FAIL() << "no error";
  } catch (const CommunicatorError& e) {
    EXPECT_THAT(e.what(), HasSubstr(switches[1]->address()));
  }
}

TEST_F(SwitchesTestTimed, A2_ListsInAnotherOrderAreRefusedAndBothRanksNamed) {
  start({64, 64});
  const auto address = [this](std::uint32_t r) {
    return r == 1 ? switches[1]->address() + "," + switches[0]->address() : list();
  };
  EXPECT_THAT(join_all(address),
              ::testing::AllOf(HasSubstr("at different places"), HasSubstr("rank 1 has it at")));
}

TEST_F(SwitchesTestTimed, A2_SwitchesThatCutAnotherWayAreRefused) {
  start({64, 128});
  EXPECT_THAT(join_all([this](std::uint32_t) { return list(); }),
              HasSubstr("chunk_bytes is 64 there and 128 here"));
}

}  // namespace
}  // namespace tributary
