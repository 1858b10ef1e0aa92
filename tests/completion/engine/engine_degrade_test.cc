// Rule 21, T9, T16: a chunk that has waited long enough is finished without the ranks that are
// late, once and for all.
#include <gmock/gmock.h>

#include "core/wire/attempt.h"
#include "core/wire/degraded.h"
#include "tests/completion/engine_fixture.h"

namespace tributary::completion {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using wire::PacketType;

constexpr Duration kAfter = Duration::ms(300);

class DegradeTest : public CompletionTest {
 protected:
  void SetUp() override { build(limits()); }
  static JobLimits limits(std::uint32_t workers = 4) {
    JobLimits limits = test_limits(workers);
    limits.deadline = Duration::max();
    limits.degraded_after = kAfter;
    return limits;
  }
  void pass(Duration d) {
    now_ = now_ + d;
    expire();
  }
  // Ranks that a result lacks, as bits; 0: it has every rank.
  std::uint64_t missing_in(const Sent& result) const {
    EXPECT_EQ(result.header.type, PacketType::result);
    const bool flagged = (result.header.flags & wire::kFlagDegraded) != 0;
    std::vector<std::uint64_t> missing(1);
    const auto counted = wire::read_degraded_list(result.extensions, limits_.workers, missing);
    EXPECT_EQ(counted.has_value(), flagged);
    if (!flagged) return 0;
    EXPECT_EQ(*counted, result.header.covered);
    return missing[0];
  }
};

TEST_F(DegradeTest, T9_AChunkThatWaitedLongEnoughIsFinishedWithoutTheLate) {
  aggregate({0, 2}, 0, std::vector<std::int32_t>{30}, wire::Reason::deadline);
  pass(kAfter - Duration::ns(1));
  EXPECT_THAT(sent_, IsEmpty());
  pass(Duration::ns(1));
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(missing_in(sent_[0]), 0b1010u);
  EXPECT_EQ(sent_[0].header.covered, 2u);
  EXPECT_EQ(sent_[0].header.flags & wire::kFlagVerified, wire::kFlagVerified);
  EXPECT_THAT(sent_[0].elements<std::int32_t>(), ElementsAre(30));
  EXPECT_EQ(counters().degraded.get(), 1u);
  EXPECT_EQ(counters().left_out.get(), 2u);
  pass(kAfter * 10);
  EXPECT_THAT(sent_, IsEmpty()) << "decided once";
}

TEST_F(DegradeTest, Rule21_WithAllRanksInTimeNothingIsDegraded) {
  for (std::uint32_t rank = 0; rank < 4; ++rank) single(rank, 0, {1});
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(missing_in(sent_[0]), 0u);
  EXPECT_EQ(sent_[0].header.covered, 4u);
  pass(kAfter * 2);
  EXPECT_THAT(sent_, IsEmpty());
  EXPECT_EQ(counters().degraded.get(), 0u);
}

// T14: divided by how many are inside, not by how many there might have been.
TEST_F(DegradeTest, T14_AMeanIsThatOfTheRanksCounted) {
  for (const std::uint32_t rank : {0u, 1u, 3u}) {
    const std::vector<float> values = {static_cast<float>(rank)};
    wire::Header h = data_header(PacketType::contribution, 0, values, wire::DType::float32);
    h.reduce_op = wire::ReduceOp::mean;
    h.origin = rank;
    h.covered = 1;
    deliver(h, {}, std::as_bytes(std::span(values)));
  }
  pass(kAfter);
  EXPECT_EQ(missing_in(sent_.at(0)), 0b0100u);
  EXPECT_THAT(sent_[0].elements<float>(), ElementsAre(4.0F / 3.0F));
}

TEST_F(DegradeTest, Rule5_WhatComesAfterTheDecisionIsAnsweredAndNeverFolded) {
  single(0, 0, {1});
  pass(kAfter);
  ASSERT_EQ(sent_.size(), 1u);
  const auto first = sent_[0].payload;
  EXPECT_EQ(single(3, 0, {1000}).verdict, Verdict::answered);
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].payload, first);
  EXPECT_EQ(missing_in(sent_[0]), 0b1110u);
  EXPECT_EQ(aggregate({1, 2}, 0, std::vector<std::int32_t>{5}).verdict, Verdict::answered);
  EXPECT_EQ(sent_.at(0).payload, first);
  EXPECT_EQ(single(0, 0, {1}).reason, DropReason::duplicate) << "it is inside";
  probe(2, 0);
  EXPECT_EQ(missing_in(sent_.at(0)), 0b1110u);
  EXPECT_EQ(counters().late.get(), 2u);
}

// T16: late data may come before what it is late for.
TEST_F(DegradeTest, T16_AChunkOfWhichNothingIsHereIsNotFinished) {
  mark(0);
  pass(kAfter * 3);
  EXPECT_THAT(sent_, IsEmpty());
  single(1, 0, {7});
  pass(kAfter);
  EXPECT_EQ(missing_in(sent_.at(0)), 0b1101u);
}

// Rule 12: a flagged sum is not delivered, and the second attempt has its own time.
TEST_F(DegradeTest, Rule12_AnOverflowIsAskedForAgainAndMayThenLackTheLate) {
  JobLimits retrying = limits();
  retrying.float_retry = true;
  build(retrying);
  const std::vector<std::int32_t> values = {2'147'483'647};
  wire::Header h = data_header(PacketType::contribution, 0, values, wire::DType::int32);
  h.encoding = wire::Encoding::block_scaled;
  h.covered = 1;
  for (h.origin = 0; h.origin < 2; ++h.origin) deliver(h, {}, std::as_bytes(std::span(values)));
  pass(kAfter);
  EXPECT_EQ(asked(), (Ranks{0, 1}));
  const std::vector<float> number = {3e9F};
  wire::Header again = data_header(PacketType::contribution, 0, number, wire::DType::float32);
  again.attempt = wire::kFloatRetry;
  again.flags |= wire::kFlagFloatRetry;
  again.origin = 1;
  again.covered = 1;
  deliver(again, {}, std::as_bytes(std::span(number)));
  pass(kAfter);
  EXPECT_EQ(missing_in(sent_.at(0)), 0b1101u);
  EXPECT_EQ(sent_[0].header.attempt, wire::kFloatRetry);
  EXPECT_THAT(sent_[0].elements<float>(), ElementsAre(3e9F));
}

TEST_F(DegradeTest, Rule12_AnOverflowOfAnIntegerStaysMarked) {
  single(0, 0, {2'147'483'647});
  single(1, 0, {1});
  pass(kAfter);
  EXPECT_EQ(missing_in(sent_.at(0)), 0b1100u);
  EXPECT_EQ(sent_[0].header.flags & wire::kFlagOverflow, wire::kFlagOverflow);
}

// What another host has made of an attempt that the root has left, the root has not taken.
TEST_F(DegradeTest, Rule12_ALaterAttemptUndoesWhatTheRootHasNotTaken) {
  JobLimits retrying = limits();
  retrying.float_retry = true;
  build(retrying);
  single(0, 0, {1});
  pass(kAfter);
  ASSERT_EQ(sent_.size(), 1u);
  const std::vector<float> number = {2};
  wire::Header again = data_header(PacketType::contribution, 0, number, wire::DType::float32);
  again.attempt = wire::kFloatRetry;
  again.flags |= wire::kFlagFloatRetry;
  again.covered = 1;
  EXPECT_EQ(deliver(again, {}, std::as_bytes(std::span(number))).verdict, Verdict::held);
}

TEST_F(DegradeTest, Rule21_ABarrierWaitsForAll) {
  wire::Header h = header(PacketType::contribution, 0);
  h.collective = wire::Collective::barrier;
  h.covered = 1;
  deliver(h);
  pass(kAfter * 5);
  EXPECT_THAT(sent_, IsEmpty());
  for (h.origin = 1; h.origin < 4; ++h.origin) deliver(h);
  EXPECT_EQ(missing_in(sent_.at(0)), 0u);
}

TEST_F(DegradeTest, Rule21_ARootThatTakesNoneIsGivenNone) {
  engine_->start_epoch(limits_.id, kEpoch, 0, kTerm, true, false);
  single(0, 0, {1});
  pass(kAfter * 5);
  EXPECT_THAT(sent_, IsEmpty());
}

// More of them than one call has room for.
TEST_F(DegradeTest, Rule21_ManyChunksAreFinishedInTheOrderInWhichTheyCame) {
  JobLimits many = limits();
  many.window = 32;
  many.bytes = most_bytes(many);
  build(many);
  for (std::uint32_t seq = 0; seq < 32; ++seq) single(seq % 4, seq, {static_cast<int>(seq)});
  now_ = now_ + kAfter;
  std::vector<std::uint32_t> finished;
  for (int calls = 0; calls < 64 && finished.size() < 32; ++calls) {
    pass(Duration());
    EXPECT_EQ(outbox_->overflows(), 0u);
    for (const Sent& s : sent_) finished.push_back(s.header.seq);
  }
  ASSERT_EQ(finished.size(), 32u);
  EXPECT_TRUE(std::is_sorted(finished.begin(), finished.end()));
}

TEST(DegradeLimits, GoWithNoDeadlineAndNoDeclaredOrder) {
  JobLimits limits = test_limits();
  limits.degraded_after = kAfter;
  EXPECT_THROW(Engine(std::span(&limits, 1)), std::invalid_argument);
  limits.deadline = Duration::max();
  limits.order = wire::Order::reproducible;
  EXPECT_THROW(Engine(std::span(&limits, 1)), std::invalid_argument);
}

}  // namespace
}  // namespace tributary::completion
