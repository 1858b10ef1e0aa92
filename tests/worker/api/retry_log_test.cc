// What is kept, for how long, and what it is good for afterwards (rule 23).
#include "worker/api/retry_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

namespace tributary::worker {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using Ints = std::vector<std::int32_t>;

constexpr std::uint32_t kRanks = 3;
constexpr std::uint32_t kWindow = 4;

wire::StartInfo start_info(std::uint8_t shards = 1) {
  wire::StartInfo info;
  info.chunk_bytes = 16;
  info.window = kWindow;
  info.workers = kRanks;
  info.shards = shards;
  info.planes = 1;
  return info;
}

class RetryLogTest : public ::testing::Test {
 protected:
  RetryLogTest() { log_.start(info_, false); }

  static Op op_on(void* data, std::size_t count, wire::DType dtype = wire::DType::int32) {
    Op op;
    op.data = static_cast<std::byte*>(data);
    op.count = count;
    op.dtype = dtype;
    return op;
  }
  std::shared_ptr<Request::State> begin(const Op& op) {
    auto state = std::make_shared<Request::State>();
    split(op, 0, kRanks, info_, *state);
    for (Request::Part& part : state->parts) part.cut(0, kRanks, info_);
    log_.begin(state);
    return state;
  }
  std::size_t end(const std::shared_ptr<Request::State>& state) {
    log_.finished(*state);
    std::vector<RetryLog::State> ended;
    log_.deliver(ended);
    return ended.size();
  }
  // So many chunks that all ranks send.
  void sum_chunks(int count) {
    for (int i = 0; i < count; ++i) {
      Op barrier;
      barrier.collective = wire::Collective::barrier;
      end(begin(barrier));
    }
  }

  wire::StartInfo info_ = start_info();
  RetryLog log_{0, kRanks, 1 << 20};
  std::unique_ptr<std::byte[]> scratch_;
};

TEST_F(RetryLogTest, OpsAreDeliveredInOrder) {
  Ints a(4), b(4);
  const auto first = begin(op_on(a.data(), 4));
  const auto second = begin(op_on(b.data(), 4));
  EXPECT_EQ(end(second), 0u);
  EXPECT_EQ(log_.held(), 0u);
  EXPECT_EQ(end(first), 2u);
  EXPECT_EQ(log_.held(), 2u);
}

// One that was done, but not told, is as lost as others: its result may differ from theirs.
TEST_F(RetryLogTest, OpsThatWereNotDeliveredAreOpenAgain) {
  Ints a = {1, 2}, b = {3, 4};
  const auto first = begin(op_on(a.data(), 2));
  const auto second = begin(op_on(b.data(), 2));
  b = {33, 44};
  end(second);
  log_.lose_epoch();
  log_.start(info_, false);
  log_.done_again(0, std::nullopt);
  std::vector<RetryLog::State> ended;
  log_.deliver(ended);
  EXPECT_THAT(ended, ElementsAre(first));
  EXPECT_EQ(log_.reopen(1, info_), second);
  EXPECT_EQ(b, (Ints{3, 4})) << "the input";
  EXPECT_EQ(end(second), 1u);
}

TEST_F(RetryLogTest, WhatAllRanksHoldIsForgotten) {
  Ints data(4);
  end(begin(op_on(data.data(), 4)));
  EXPECT_EQ(log_.copied_bytes(), 16u);
  sum_chunks(kWindow - 1);
  EXPECT_EQ(log_.first(), 0u);
  sum_chunks(1);
  EXPECT_EQ(log_.first(), 1u);
  EXPECT_EQ(log_.copied_bytes(), 0u);
}

// A rank that sends no data of a chunk says nothing of the window by it.
TEST_F(RetryLogTest, ChunksOfOneSenderShowLess) {
  info_ = start_info(2);
  log_.start(info_, true);
  Ints data(64);
  end(begin(op_on(data.data(), 64)));  // 16 chunks, in both shards
  Op broadcast = op_on(data.data(), 64);
  broadcast.collective = wire::Collective::broadcast;
  for (int i = 0; i < 8; ++i) end(begin(broadcast));
  EXPECT_EQ(log_.first(), 0u);
  end(begin(op_on(data.data(), 64)));
  EXPECT_GE(log_.first(), 1u);
}

TEST_F(RetryLogTest, CopiesAreBounded) {
  RetryLog small(0, kRanks, 40);
  small.start(info_, false);
  Ints data(4);
  for (int i = 0; i < 5; ++i) {
    const auto state = std::make_shared<Request::State>();
    split(op_on(data.data(), 4), 0, kRanks, info_, *state);
    for (Request::Part& part : state->parts) part.cut(0, kRanks, info_);
    small.begin(state);
    small.finished(*state);
    std::vector<RetryLog::State> ended;
    small.deliver(ended);
    EXPECT_LE(small.copied_bytes(), 40u);
  }
  EXPECT_EQ(small.first(), 3u);
}

// What is open takes nothing from the room of what was delivered.
TEST_F(RetryLogTest, OpenOpsLeaveRoomForDeliveredOnes) {
  RetryLog small(0, kRanks, 20);
  small.start(info_, false);
  Ints data(4);
  std::vector<RetryLog::State> states;
  for (int i = 0; i < 3; ++i) {
    const auto& state = states.emplace_back(std::make_shared<Request::State>());
    split(op_on(data.data(), 4), 0, kRanks, info_, *state);
    for (Request::Part& part : state->parts) part.cut(0, kRanks, info_);
    small.begin(state);
  }
  small.finished(*states[0]);
  std::vector<RetryLog::State> ended;
  small.deliver(ended);
  EXPECT_EQ(small.held(), 1u);
  EXPECT_EQ(small.first(), 0u);
}

// Its memory has what this rank put in, not a sum.
TEST_F(RetryLogTest, AFloatSumThatFailedHereIsGivenToNobody) {
  std::vector<float> floats = {1, 2};
  const auto op = begin(op_on(floats.data(), 2, wire::DType::float32));
  op->failure = Failure{wire::Reason::overflow, {}, "overflow", {}};
  end(op);
  EXPECT_EQ(log_.held(), 1u);
  EXPECT_EQ(log_.repeatable(), 1u);
  floats = {3, 4};
  end(begin(op_on(floats.data(), 2, wire::DType::float32)));
  EXPECT_EQ(log_.repeatable(), 1u);
}

TEST_F(RetryLogTest, AfterADrainAllRanksHoldAll) {
  Ints data(4);
  end(begin(op_on(data.data(), 4)));
  log_.start(info_, true);
  EXPECT_EQ(log_.first(), 1u);
}

// Integers are summed again; of floats, the bits that one rank has are everybody's.
TEST_F(RetryLogTest, AnOpThatOneRankLacks) {
  Ints ints = {1, 2};
  std::vector<float> floats = {1, 2};
  end([&] {
    const auto op = begin(op_on(ints.data(), 2));
    ints = {10, 20};
    return op;
  }());
  end([&] {
    const auto op = begin(op_on(floats.data(), 2, wire::DType::float32));
    floats = {10, 20};
    return op;
  }());
  ints = {-1, -1};
  floats = {-1, -1};
  log_.lose_epoch();
  log_.start(info_, false);
  const CalledOp sum = log_.again(0, 2, scratch_);
  EXPECT_EQ(sum.op.collective, wire::Collective::allreduce);
  const auto* inputs = reinterpret_cast<const std::int32_t*>(sum.op.data);
  EXPECT_THAT(std::vector(inputs, inputs + 2), ElementsAre(1, 2));
  EXPECT_EQ(sum.op.data, scratch_.get()) << "the copy outlives another lost epoch";
  const CalledOp result = log_.again(1, 2, scratch_);
  EXPECT_EQ(result.op.collective, wire::Collective::broadcast);
  EXPECT_EQ(result.op.root, 2u);
  const auto* results = reinterpret_cast<const float*>(result.op.data);
  EXPECT_THAT(std::vector(results, results + 2), ElementsAre(10, 20));
}

// T21: what one rank has got of a model is given to the others; what none has is asked for again.
TEST_F(RetryLogTest, AModelIsNotAskedAgainForWhatARankHas) {
  for (const auto collective : {wire::Collective::open, wire::Collective::update}) {
    const std::uint64_t number = log_.end();
    std::vector<float> delivered = {1, 2};
    std::vector<float> open = {3, 4};
    Op op = op_on(delivered.data(), 2, wire::DType::float32);
    op.collective = collective;
    const auto first = begin(op);
    op.data = reinterpret_cast<std::byte*>(open.data());
    const auto second = begin(op);
    EXPECT_TRUE(log_.has_models());
    EXPECT_TRUE(log_.concerns_model(number + 1));
    delivered = {10, 20};
    end(first);
    delivered = {-1, -1};
    open = {-1, -1};
    log_.lose_epoch();
    log_.start(info_, false);
    const CalledOp again = log_.again(number, 1, scratch_);
    EXPECT_EQ(again.op.collective, wire::Collective::broadcast);
    EXPECT_EQ(again.op.root, 1u);
    const auto* result = reinterpret_cast<const float*>(again.op.data);
    EXPECT_THAT(std::vector(result, result + 2), ElementsAre(10, 20));
    EXPECT_EQ(called_op(*log_.reopen(number + 1, info_)).op.collective, collective);
    EXPECT_THAT(open, ElementsAre(3, 4));
    end(second);
  }
}

TEST_F(RetryLogTest, EveryCollectiveIsDoneAgainWithoutTheCallersMemory) {
  for (const auto collective :
       {wire::Collective::reduce, wire::Collective::broadcast, wire::Collective::all_gather,
        wire::Collective::reduce_scatter, wire::Collective::barrier}) {
    for (const std::uint32_t root : {0u, 1u}) {
      Ints data = {1, 2, 3, 4, 5, 6};
      Ints output(6);
      Op op = op_on(data.data(), 2);
      op.collective = collective;
      op.root = root;
      op.output = reinterpret_cast<std::byte*>(output.data());
      const std::uint64_t number = log_.end();
      end(begin(op));
      const CalledOp again = log_.again(number, 0, scratch_);
      EXPECT_EQ(again.op.collective, collective);
      if (collective == wire::Collective::barrier) continue;
      EXPECT_NE(again.op.data, op.data);
      if (again.op.has_owners()) {
        EXPECT_NE(again.op.output, op.output);
      }
      if (collective == wire::Collective::broadcast && root != 0) continue;
      data = {0, 0};
      const auto* inputs = reinterpret_cast<const std::int32_t*>(again.op.data);
      EXPECT_THAT(std::vector(inputs, inputs + 2), ElementsAre(1, 2)) << wire::name_of(collective);
    }
  }
}

TEST_F(RetryLogTest, OpsFailForTheCauseThatEndedTheirEpoch) {
  Ints data(2);
  const auto op = begin(op_on(data.data(), 2));
  log_.fail({wire::Reason::shutdown, {}, "the switch stops", {}}, 7);
  std::vector<RetryLog::State> ended;
  log_.deliver(ended);
  ASSERT_THAT(ended, ElementsAre(op));
  EXPECT_EQ(op->failure->text, "job 7 op 0 was not done: the switch stops");
  EXPECT_EQ(op->failure->reason, wire::Reason::shutdown);
}

}  // namespace
}  // namespace tributary::worker
