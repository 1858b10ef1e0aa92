// Answers to probes, kept results, and how an epoch ends.
#include "tests/completion/engine_fixture.h"

namespace tributary::completion {
namespace {

using wire::PacketType;
using wire::Reason;
using Ints = std::vector<std::int32_t>;

// Rule 6: the three answers to a probe.
TEST_F(CompletionTest, AProbeLearnsWhetherItsDataIsHere) {
  build(4);
  probe(2, 0);
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].header.type, PacketType::unknown);
  EXPECT_EQ(sent_[0].header.origin, 2u);
  EXPECT_EQ(counters().chunks_open.get(), 0u);  // asking opens nothing

  aggregate({0, 2}, 0, {1});
  probe(2, 0);
  EXPECT_EQ(sent_.at(0).header.type, PacketType::pending);
  EXPECT_EQ(sent_[0].header.origin, 2u);
  EXPECT_EQ(sent_[0].header.seq, 0u);
  EXPECT_EQ(sent_[0].missing(), (Ranks{1, 3}));
  probe(3, 0);
  EXPECT_EQ(sent_.at(0).header.type, PacketType::unknown);
  EXPECT_EQ(probe(4, 0).reason, DropReason::bad_child);
  EXPECT_EQ(counters().pending_replies.get(), 1u);
  EXPECT_EQ(counters().unknown_replies.get(), 2u);
}

TEST_F(CompletionTest, A2_WhatIsSaidCarriesThePlane) {
  JobLimits limits = test_limits(2);
  limits.plane = 3;
  build(limits);
  for (const std::uint32_t rank : {0u, 1u}) {
    probe(rank, 0);
    EXPECT_EQ(sent_.at(0).header.plane, 3) << "unknown";
    single(rank, 0, {1});
  }
  EXPECT_EQ(sent_.at(0).header.type, PacketType::result);
  EXPECT_EQ(sent_[0].header.plane, 3);
  single(0, 1, {1});
  now_ = now_ + Duration::ms(600);
  expire();
  EXPECT_EQ(sent_.at(0).header.type, PacketType::abort);
}

TEST_F(CompletionTest, AProbeOfAnotherOpsChunkIsDropped) {
  build(2);
  single(0, 0, {1});
  wire::Header h = header(PacketType::probe, 0);
  h.chunk = 1;
  EXPECT_EQ(deliver(h).reason, DropReason::op_mismatch);
  // A mark is a promise about this chunk too.
  mark(1);
  h = header(PacketType::probe, 1);
  h.op = 9;
  EXPECT_EQ(deliver(h).reason, DropReason::op_mismatch);
}

// Rule 4: the result stays until the root has it.
TEST_F(CompletionTest, AnUnacceptedResultIsGivenAsOftenAsItIsAskedFor) {
  JobLimits limits = test_limits(2);
  limits.root_is_here = false;
  limits.bytes = least_bytes(limits);
  build(limits);
  for (std::uint32_t seq = 0; seq < 8; ++seq) {
    single(0, seq, {1});
    ASSERT_EQ(single(1, seq, {static_cast<std::int32_t>(seq)}).verdict, Verdict::completed) << seq;
  }
  for (std::uint32_t seq = 0; seq < 8; ++seq) {
    probe(0, seq);
    EXPECT_EQ(sent_.at(0).header.type, PacketType::result);
    EXPECT_EQ(sent_[0].elements<std::int32_t>(), Ints{static_cast<std::int32_t>(seq) + 1});
  }
  EXPECT_EQ(counters().results_repeated.get(), 8u);
  // Seq 8 says that all hold 0 (rule 2); its place and memory are taken.
  single(0, 8, {1});
  EXPECT_EQ(probe(0, 0).reason, DropReason::stale_seq);
  wire::Header ack = header(PacketType::ack, 0);
  ack.seq = 3;
  EXPECT_EQ(deliver(ack).verdict, Verdict::noted);
  EXPECT_EQ(probe(0, 2).reason, DropReason::stale_seq);
  probe(0, 3);
  EXPECT_EQ(sent_.at(0).header.type, PacketType::result);
}

TEST_F(CompletionTest, AnAcceptedResultNeedsNoMemory) {
  build(2);
  single(0, 0, {1});
  single(1, 0, {2});
  EXPECT_NE(counters().bytes_held.get(), 0u);
  engine_->result_accepted(7, 0, 0);
  EXPECT_EQ(counters().bytes_held.get(), 0u);
  EXPECT_EQ(probe(0, 0).reason, DropReason::stale_seq);
  engine_->result_accepted(7, 0, 0);
  engine_->result_accepted(7, 0, 1);
  engine_->result_accepted(7, 1, 0);
  engine_->result_accepted(8, 0, 0);
}

TEST_F(CompletionTest, AChunkPastItsDeadlineEndsTheEpochNamingWhoIsMissing) {
  build(4);
  single(1, 0, {1});
  now_ = now_ + Duration::ms(400);
  single(1, 1, {1});
  now_ = now_ + Duration::ms(99);
  expire();
  EXPECT_TRUE(sent_.empty());
  now_ = now_ + Duration::ms(1);
  expire();
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].header.type, PacketType::abort);
  EXPECT_EQ(sent_[0].header.reason, Reason::deadline);
  EXPECT_EQ(sent_[0].header.seq, 0u);
  EXPECT_EQ(sent_[0].missing(), (Ranks{0, 2, 3}));
  EXPECT_EQ(counters().bytes_held.get(), 0u);
  now_ = now_ + Duration::seconds(10);
  expire();
  EXPECT_TRUE(sent_.empty());
  probe(0, 0);
  EXPECT_EQ(sent_.at(0).header.type, PacketType::abort);
  EXPECT_EQ(sent_[0].missing(), (Ranks{0, 2, 3}));
}

TEST_F(CompletionTest, AFinishedChunkHasNoDeadline) {
  build(2);
  single(0, 0, {1});
  single(1, 0, {1});
  now_ = now_ + Duration::seconds(10);
  expire();
  EXPECT_TRUE(sent_.empty());
}

}  // namespace
}  // namespace tributary::completion
