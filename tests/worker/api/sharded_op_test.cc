#include "worker/api/sharded_op.h"

#include <gmock/gmock.h>

namespace tributary::worker {
namespace {

using ::testing::ElementsAre;

class ShardedOpTest : public ::testing::Test {
 protected:
  ShardedOpTest() {
    const CollectiveCall call{wire::Collective::allreduce, data.data(), nullptr, data.size(),
                              wire::DType::int32};
    whole->memory = memory.claim(CallMemory(call, 0, 2));
    whole->ranks = 2;
    op.expect(2);
  }

  std::array<std::int32_t, 8> data{};
  SharedMemory memory;
  std::shared_ptr<Request::State> whole = std::make_shared<Request::State>();
  std::vector<std::string> ended;
  ShardedOp op{whole, memory, [this](const Failure& why, const std::string& address) {
                 ended.push_back(address + " by " + why.text);
               }};
  Request::State first;
  Request::State second;
};

TEST_F(ShardedOpTest, A2_IsDoneWithItsLastShard) {
  op.finish(first, "udp://10.0.0.1");
  EXPECT_FALSE(whole->done.is_set());
  const CollectiveCall again{wire::Collective::allreduce, data.data(), nullptr, 1,
                             wire::DType::int32};
  EXPECT_THROW(memory.claim(CallMemory(again, 0, 2)), std::invalid_argument);
  op.finish(second, "udp://10.0.1.1");
  EXPECT_TRUE(whole->done.is_set());
  EXPECT_FALSE(whole->failure);
  EXPECT_NO_THROW(memory.claim(CallMemory(again, 0, 2)));
}

TEST_F(ShardedOpTest, A2_AFailureNamesItsSwitch) {
  second.failure = Failure{wire::Reason::none, {1}, "job 1: rank 1 is missing", {}};
  op.finish(second, "udp://10.0.1.1");
  op.finish(first, "udp://10.0.0.1");
  ASSERT_TRUE(whole->failure);
  EXPECT_EQ(whole->failure->text, "switch udp://10.0.1.1: job 1: rank 1 is missing");
  EXPECT_THAT(whole->failure->ranks, ElementsAre(1u));
  EXPECT_THAT(ended, ElementsAre("udp://10.0.1.1 by " + whole->failure->text));
}

// A rank that has heard of a disagreement leaves the other switches, too.
TEST_F(ShardedOpTest, A2_ADisagreementIsTheCauseOfARankThatLeft) {
  first.failure = Failure{wire::Reason::rank_left, {1}, "job 1: rank 1 left", {}};
  second.failure = Failure{wire::Reason::op_mismatch, {0, 1}, "job 1 op 1: rank 1 sent", {}};
  op.finish(first, "udp://10.0.0.1");
  op.finish(second, "udp://10.0.1.1");
  EXPECT_EQ(whole->failure->reason, wire::Reason::op_mismatch);
}

TEST_F(ShardedOpTest, Rule12_AnOverflowEndsNothingButTheOp) {
  first.failure = Failure{wire::Reason::overflow, {}, "job 1: op 3 overflowed", {}};
  op.finish(first, "udp://10.0.0.1");
  op.finish(second, "udp://10.0.1.1");
  ASSERT_TRUE(whole->failure);
  EXPECT_EQ(whole->failure->text, "job 1: op 3 overflowed");
  EXPECT_TRUE(ended.empty());
}

TEST_F(ShardedOpTest, A2_RanksLeftOutAreThoseOfAnyShard) {
  first.left_out = {0b01};
  second.left_out = {0b10};
  second.lacking = {{0, 4, 1}};
  first.lacking = {{4, 4, 1}};
  op.finish(first, "a");
  op.finish(second, "b");
  EXPECT_THAT(whole->left_out, ElementsAre(0b11u));
  ASSERT_EQ(whole->lacking.size(), 2u);
  EXPECT_EQ(whole->lacking[0].begin, 0u);
  EXPECT_EQ(whole->lacking[1].begin, 4u);
}

TEST(FirstSwitch, A2_SmallOpsTakeTurns) {
  EXPECT_EQ(first_switch(0, 3), 0u);
  EXPECT_EQ(first_switch(4, 3), 1u);
}

}  // namespace
}  // namespace tributary::worker
