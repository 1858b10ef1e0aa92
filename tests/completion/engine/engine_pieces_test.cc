// Contributions and aggregates: what joins a chunk, what makes its result, what is refused.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/completion/engine_fixture.h"

namespace tributary::completion {
namespace {

using wire::DType;
using wire::PacketType;
using wire::Reason;
using Ints = std::vector<std::int32_t>;
using Floats = std::vector<float>;

TEST_F(CompletionTest, SinglesOfAllRanksMakeAResult) {
  build(3);
  EXPECT_EQ(mark(0).verdict, Verdict::noted);
  EXPECT_EQ(single(2, 0, {30, 300}).verdict, Verdict::held);
  EXPECT_EQ(single(0, 0, {10, 100}).verdict, Verdict::held);
  EXPECT_TRUE(sent_.empty());
  now_ = now_ + Duration::ms(3);
  EXPECT_EQ(single(1, 0, {20, 200}).verdict, Verdict::completed);
  ASSERT_EQ(sent_.size(), 1u);
  const wire::Header& h = sent_[0].header;
  EXPECT_EQ(h.type, PacketType::result);
  EXPECT_EQ(h.job, 7u);
  EXPECT_EQ(h.epoch, kEpoch);
  EXPECT_EQ(h.covered, 3u);
  EXPECT_EQ(h.fan_in, 3u);
  EXPECT_EQ(h.flags, wire::kFlagLast | wire::kFlagVerified);
  EXPECT_EQ(h.reason, Reason::collision);
  EXPECT_EQ(sent_[0].elements<std::int32_t>(), (Ints{60, 600}));
  EXPECT_EQ(wire::find_result_info(sent_[0].extensions)->host_term, kTerm);
  EXPECT_EQ(counters().completed[static_cast<std::size_t>(Reason::collision)].get(), 1u);
  EXPECT_EQ(counters().latency_ns_max.get(), 3'000'000u);
  EXPECT_EQ(counters().chunks_open.get(), 0u);
}

TEST_F(CompletionTest, AnAggregateAndTheOthersMakeAResult) {
  build(5);
  single(4, 0, {1});
  aggregate({0, 2}, 0, {10});
  single(1, 0, {100});
  EXPECT_EQ(single(3, 0, {1000}).verdict, Verdict::completed);
  EXPECT_EQ(sent_[0].elements<std::int32_t>(), Ints{1111});
}

// Rule 7: a contribution that an aggregate brings too is counted once.
TEST_F(CompletionTest, AnAggregateTakesThePlaceOfItsMembers) {
  build(4);
  single(0, 0, {1});
  single(2, 0, {4});
  EXPECT_EQ(aggregate({0, 1, 2}, 0, {7}).verdict, Verdict::held);
  EXPECT_EQ(counters().superseded.get(), 2u);
  EXPECT_TRUE(sent_.empty());
  EXPECT_EQ(single(1, 0, {2}).reason, DropReason::duplicate);
  EXPECT_EQ(aggregate({1, 2}, 0, {6}).reason, DropReason::duplicate);
  EXPECT_EQ(single(3, 0, {8}).verdict, Verdict::completed);
  EXPECT_EQ(sent_[0].elements<std::int32_t>(), Ints{15});
}

// Rule 7: who was only in a dropped aggregate is asked for its data.
TEST_F(CompletionTest, RanksOnlyInADroppedAggregateAreAskedAgain) {
  build(5);
  aggregate({0, 1, 2}, 0, {7});
  EXPECT_EQ(aggregate({2, 3}, 0, {12}).reason, DropReason::overlap);
  EXPECT_EQ(asked(), Ranks{3});
  EXPECT_EQ(counters().overlaps_dropped.get(), 1u);
  EXPECT_EQ(counters().rerequests.get(), 1u);
  single(3, 0, {8}, wire::kFlagResend);
  EXPECT_EQ(single(4, 0, {16}).verdict, Verdict::completed);
  EXPECT_EQ(sent_[0].elements<std::int32_t>(), Ints{31});
}

TEST_F(CompletionTest, RanksOnlyInAHeldAggregateThatGivesWayAreAskedAgain) {
  build(5);
  aggregate({0, 1}, 0, {3});
  EXPECT_EQ(aggregate({1, 2, 3, 4}, 0, {30}).verdict, Verdict::held);
  EXPECT_EQ(asked(), Ranks{0});
  EXPECT_EQ(single(0, 0, {1}, wire::kFlagResend).verdict, Verdict::completed);
  EXPECT_EQ(sent_[0].elements<std::int32_t>(), Ints{31});
}

TEST_F(CompletionTest, AWholeAggregateIsVerifiedAndSentBack) {
  build(3);
  EXPECT_EQ(aggregate({0, 1, 2}, 0, {5}, Reason::verify).verdict, Verdict::completed);
  EXPECT_NE(sent_[0].header.flags & wire::kFlagVerified, 0u);
  EXPECT_EQ(counters().completed[static_cast<std::size_t>(Reason::verify)].get(), 1u);
}

// T16: what comes late is held until nothing is missing, or added to the sum at once.
TEST_F(CompletionTest, LateDataIsCollectedOrAddedAsItArrives) {
  for (const auto trigger : {config::Trigger::collect, config::Trigger::streaming}) {
    const bool streaming = trigger == config::Trigger::streaming;
    JobLimits limits = test_limits(6);
    limits.trigger = trigger;
    build(limits);
    aggregate({0, 2}, 0, {10}, Reason::deadline);
    const std::uint64_t one_piece = counters().bytes_held.get();
    single(1, 0, {100});
    single(4, 0, {2});
    EXPECT_EQ(counters().bytes_held.get(), streaming ? one_piece : 3 * one_piece);
    EXPECT_EQ(single(1, 0, {100}).reason, DropReason::duplicate);
    // Rule 7 holds for sums that were made here: who was only in a dropped one is asked.
    EXPECT_EQ(aggregate({4, 5}, 0, {7}).reason, streaming ? DropReason::overlap : DropReason::none);
    EXPECT_EQ(asked(), streaming ? Ranks{5} : Ranks{});
    if (streaming) single(5, 0, {5}, wire::kFlagResend);
    EXPECT_EQ(single(3, 0, {1000}).verdict, Verdict::completed);
    EXPECT_EQ(sent_[0].elements<std::int32_t>(), Ints{1117});
    EXPECT_EQ(sent_[0].header.reason, Reason::deadline);
    EXPECT_EQ(counters().combined_early.get(), streaming ? 4u : 0u);
  }
}

// T16, T14: means of small floats are divided and rounded once, overflow stays with the sum.
TEST_F(CompletionTest, SumsMadeOnArrivalAreFinishedLikeOthers) {
  JobLimits limits = test_limits(3);
  limits.trigger = config::Trigger::streaming;
  build(limits);
  const std::uint16_t k2048 = 0x6800;
  const std::uint16_t one = 0x3C00;
  const std::uint16_t two = 0x4000;
  single<std::uint16_t>(0, 0, {k2048}, wire::kFlagCollision, DType::float16);
  single<std::uint16_t>(1, 0, {one}, wire::kFlagCollision, DType::float16);
  single<std::uint16_t>(2, 0, {one}, wire::kFlagCollision, DType::float16);
  EXPECT_EQ(sent_.at(0).elements<std::uint16_t>(), std::vector<std::uint16_t>{0x6801});
  wire::Header h;
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    const std::vector<std::uint16_t> value{two};
    h = data_header(PacketType::contribution, 1, value, DType::float16);
    h.reduce_op = wire::ReduceOp::mean;
    h.origin = rank;
    h.child = static_cast<std::uint16_t>(rank);
    h.covered = 1;
    deliver(h, {}, std::as_bytes(std::span(value)));
  }
  EXPECT_EQ(sent_.at(0).elements<std::uint16_t>(), std::vector<std::uint16_t>{two});
  single(0, 2, {std::numeric_limits<std::int32_t>::max()});
  single(1, 2, {1});
  single(2, 2, {-5});
  EXPECT_NE(sent_.at(0).header.flags & wire::kFlagOverflow, 0u);
}

// Accumulators of narrow jobs have no room in a chunk: such pieces wait.
TEST_F(CompletionTest, NarrowPartialsAreNotCombinedEarlyWhereSumsAreWider) {
  JobLimits limits = test_limits(3);
  limits.trigger = config::Trigger::streaming;
  limits.partials = wire::Partials::narrow;
  build(limits);
  const std::vector<std::int8_t> full(64, 1);
  for (std::uint32_t rank = 0; rank < 3; ++rank)
    single<std::int8_t>(rank, 0, full, wire::kFlagCollision, DType::int8);
  EXPECT_EQ(sent_.at(0).elements<std::int8_t>(), std::vector<std::int8_t>(64, 3));
  EXPECT_EQ(counters().combined_early.get(), 0u);
}

// Rule 12.
TEST_F(CompletionTest, OverflowIsStickyWhereverItHappened) {
  build(2);
  aggregate({0}, 0, {1}, Reason::overflow, wire::kFlagOverflow);
  single(1, 0, {2});
  EXPECT_NE(sent_.at(0).header.flags & wire::kFlagOverflow, 0u);
  EXPECT_EQ(sent_[0].header.flags & wire::kFlagVerified, 0u);
  single(0, 1, {std::numeric_limits<std::int32_t>::max()});
  single(1, 1, {1});
  EXPECT_NE(sent_.at(0).header.flags & wire::kFlagOverflow, 0u);
  EXPECT_EQ(counters().overflows.get(), 2u);
}

TEST_F(CompletionTest, AnOverflowedAggregateThatIsNotUsedMarksNothing) {
  build(3);
  aggregate({0, 1}, 0, {7}, Reason::overflow, wire::kFlagOverflow);
  aggregate({0, 1, 2}, 0, {9});
  EXPECT_EQ(sent_.at(0).header.flags & wire::kFlagOverflow, 0u);
  EXPECT_EQ(sent_[0].elements<std::int32_t>(), Ints{9});
}

// O11
TEST_F(CompletionTest, ModularSumsWrapAndDoNotOverflow) {
  JobLimits limits = test_limits(2);
  limits.arithmetic = wire::Arithmetic::modular;
  build(limits);
  single(0, 0, {std::numeric_limits<std::int32_t>::max()}, wire::kFlagModular);
  single(1, 0, {2}, wire::kFlagModular);
  EXPECT_EQ(sent_.at(0).elements<std::int32_t>(),
            Ints{std::numeric_limits<std::int32_t>::min() + 1});
  EXPECT_EQ(sent_[0].header.flags & wire::kFlagOverflow, 0u);
}

// Rule 15
TEST_F(CompletionTest, CongestionMarksAreOredIntoTheResult) {
  build(2);
  single(0, 0, {1}, wire::kFlagCe);
  single(1, 0, {2});
  EXPECT_NE(sent_.at(0).header.flags & wire::kFlagCe, 0u);
}

// Small floats travel between nodes as float32 and are rounded once, here.
TEST_F(CompletionTest, AggregatesOfSmallFloatsAreRoundedOnce) {
  build(3);
  // 1 + 2^-11 + 2^-11 is representable as float16 (1 + 2^-10), 1 + 2^-11 is not.
  const float tiny = std::ldexp(1.0F, -11);
  const std::uint16_t tiny16 = 0x1000;
  EXPECT_EQ(aggregate({0, 1}, 0, Floats{1.0F + tiny}, Reason::resend, 0, DType::float16).verdict,
            Verdict::held);
  single(2, 0, std::vector<std::uint16_t>{tiny16}, wire::kFlagResend, DType::float16);
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].elements<std::uint16_t>(), std::vector<std::uint16_t>{0x3C01});
}

// Block-scaled integers add up like others; their exponent has to be the same, and comes back.
TEST_F(CompletionTest, BlockScaledDataKeepsItsExponent) {
  build(2);
  const Ints values = {5};
  wire::Header h = data_header(PacketType::contribution, 0, values, DType::int32);
  h.encoding = wire::Encoding::block_scaled;
  h.scale_exponent = -7;
  deliver(h, {}, std::as_bytes(std::span(values)));
  h.origin = 1;
  deliver(h, {}, std::as_bytes(std::span(values)));
  EXPECT_EQ(sent_.at(0).elements<std::int32_t>(), Ints{10});
  EXPECT_EQ(sent_[0].header.encoding, wire::Encoding::block_scaled);
  EXPECT_EQ(sent_[0].header.scale_exponent, -7);
  h.seq = h.op = 1;
  deliver(h, {}, std::as_bytes(std::span(values)));
  h.origin = 0;
  h.scale_exponent = -6;
  EXPECT_EQ(deliver(h, {}, std::as_bytes(std::span(values))).verdict, Verdict::epoch_aborted);
}

// Narrow partials have the element's own type.
TEST_F(CompletionTest, NarrowAggregatesAreOfTheWireType) {
  JobLimits limits = test_limits(3);
  limits.partials = wire::Partials::narrow;
  build(limits);
  const std::vector<std::int8_t> two = {60};
  EXPECT_EQ(aggregate({0, 2}, 0, two, Reason::resend, 0, DType::int8).verdict, Verdict::held);
  EXPECT_EQ(aggregate({0, 2}, 0, Ints{60}, Reason::resend, 0, DType::int8).reason,
            DropReason::bad_payload_length);
  EXPECT_EQ(single(1, 0, two, 0, DType::int8).verdict, Verdict::completed);
  EXPECT_EQ(sent_.at(0).elements<std::int8_t>(), std::vector<std::int8_t>{120});
}

TEST_F(CompletionTest, AMeanIsDividedOnceByTheWholeJob) {
  build(4);
  wire::Header h = data_header(PacketType::escalation, 0, Floats{9.0F}, DType::float32);
  h.reduce_op = wire::ReduceOp::mean;
  h.covered = 3;
  const Floats sum = {9.0F};
  deliver(h, bitmap({0, 1, 2}), std::as_bytes(std::span(sum)));
  h.type = PacketType::contribution;
  h.origin = 3;
  const Floats one = {1.0F};
  deliver(h, {}, std::as_bytes(std::span(one)));
  EXPECT_EQ(sent_.at(0).elements<float>(), Floats{2.5F});
}

// T15, rule 11: whatever comes first, floats are added in rank order.
TEST_F(CompletionTest, ArrivalOrderChangesNoBit) {
  const std::vector<float> values = {1e8F, 3.3F, -1e8F, 7.7e-3F, 5.5F};
  float expected = values[0];
  for (std::size_t i = 1; i < values.size(); ++i) expected += values[i];
  std::vector<std::uint32_t> order = {0, 1, 2, 3, 4};
  std::uint32_t seq = 0;
  build(5);
  do {
    for (const std::uint32_t r : order)
      single(r, seq, Floats{values[r]}, wire::kFlagCollision, DType::float32);
    ASSERT_EQ(sent_.at(0).elements<float>(), Floats{expected});
    ++seq;
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_F(CompletionTest, AReproducibleJobTakesPrefixesOfTheOrderOnly) {
  JobLimits limits = test_limits(4);
  limits.order = wire::Order::reproducible;
  build(limits);
  EXPECT_EQ(aggregate({1, 2}, 0, Floats{5}, Reason::resend, 0, DType::float32).reason,
            DropReason::overlap);
  EXPECT_EQ(asked(), (Ranks{1, 2}));
  EXPECT_EQ(aggregate({0, 1}, 0, Floats{2}, Reason::resend, 0, DType::float32).verdict,
            Verdict::held);
  EXPECT_EQ(aggregate({3}, 0, Floats{8}, Reason::resend, 0, DType::float32).verdict, Verdict::held);
  EXPECT_EQ(single(2, 0, Floats{4}, 0, DType::float32).verdict, Verdict::completed);
  EXPECT_EQ(sent_[0].elements<float>(), Floats{14});
}

TEST_F(CompletionTest, ABarrierHasNoElements) {
  build(2);
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    wire::Header h = header(PacketType::contribution, 0);
    h.origin = rank;
    h.collective = wire::Collective::barrier;
    deliver(h);
  }
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].header.collective, wire::Collective::barrier);
  EXPECT_TRUE(sent_[0].payload.empty());
}

TEST_F(CompletionTest, WhatIsPassedOnNeedsOneRankAndNoReduction) {
  build(3);
  const std::vector<std::uint8_t> bytes = {1, 0, 1};
  wire::Header h = data_header(PacketType::contribution, 0, bytes, DType::boolean);
  h.collective = wire::Collective::broadcast;
  h.origin = 2;
  EXPECT_EQ(deliver(h, {}, std::as_bytes(std::span(bytes))).verdict, Verdict::completed);
  EXPECT_EQ(sent_.at(0).elements<std::uint8_t>(), bytes);
  EXPECT_EQ(sent_[0].header.covered, 1u);
}

TEST_F(CompletionTest, TheTargetOfAReduceTravelsWithTheResult) {
  build(1);
  std::array<std::byte, 8> area;
  wire::ExtensionWriter writer(area);
  writer.add_target_rank(5);
  const Ints values = {3};
  wire::Header h = data_header(PacketType::contribution, 0, values, DType::int32);
  h.collective = wire::Collective::reduce;
  deliver(h, writer.bytes(), std::as_bytes(std::span(values)));
  EXPECT_EQ(wire::find_target_rank(sent_.at(0).extensions), 5u);
}

TEST_F(CompletionTest, RanksThatDisagreeEndTheEpoch) {
  build(3);
  single(1, 0, {1, 2});
  EXPECT_EQ(single(0, 0, {1}).verdict, Verdict::epoch_aborted);
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].header.type, PacketType::abort);
  EXPECT_EQ(sent_[0].header.reason, Reason::op_mismatch);
  const auto error = wire::find_op_error(sent_[0].extensions);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->expected.rank, 1u);
  EXPECT_EQ(error->expected.element_count, 2u);
  EXPECT_EQ(error->got.rank, 0u);
  EXPECT_EQ(counters().bytes_held.get(), 0u);
  // A rank that has not heard is told again.
  EXPECT_EQ(single(2, 0, {1, 2}).verdict, Verdict::answered);
  EXPECT_EQ(sent_.at(0).header.type, PacketType::abort);
}

TEST_F(CompletionTest, APieceThatContradictsItselfIsDroppedWhole) {
  build(3);
  const Ints values = {1};
  const auto payload = std::as_bytes(std::span(values));
  wire::Header h = data_header(PacketType::escalation, 0, values, DType::int32);
  h.covered = 2;
  EXPECT_EQ(deliver(h, bitmap({0, 1, 2}), payload).reason, DropReason::bad_coverage);
  EXPECT_EQ(deliver(h, {}, payload).reason, DropReason::bad_coverage);
  EXPECT_EQ(deliver(h, bitmap({0, 3}), payload).reason, DropReason::bad_extension);
  EXPECT_EQ(deliver(h, bitmap({0, 1}), {}).reason, DropReason::bad_payload_length);
  h.covered = 0;
  EXPECT_EQ(deliver(h, {}, payload).reason, DropReason::bad_payload_length);
  h.type = PacketType::aggregate;
  EXPECT_EQ(deliver(h, {}, payload).reason, DropReason::bad_coverage);
  EXPECT_EQ(single(3, 0, {1}).reason, DropReason::bad_child);
  EXPECT_EQ(single(0, 0, Ints(17)).reason, DropReason::payload_too_large);
  // A sum of small floats has to be in float32.
  EXPECT_EQ(
      aggregate({0, 1}, 0, std::vector<std::uint16_t>{1}, Reason::resend, 0, DType::float16).reason,
      DropReason::bad_payload_length);
  EXPECT_EQ(single(0, 0, Ints{}, 0, DType::none).reason, DropReason::bad_dtype);
  h = data_header(PacketType::contribution, 0, values, DType::int32);
  h.reduce_op = wire::ReduceOp::mean;
  EXPECT_EQ(deliver(h, {}, payload).reason, DropReason::bad_reduce_op);
  h.reduce_op = wire::ReduceOp::sum;
  h.encoding = wire::Encoding::compressed;
  EXPECT_EQ(deliver(h, {}, payload).reason, DropReason::bad_encoding);
  EXPECT_EQ(counters().bytes_held.get(), 0u);
  EXPECT_EQ(counters().chunks_open.get(), 0u);
}

TEST_F(CompletionTest, LatePiecesOfAFinishedChunkAreNotSummedAgain) {
  JobLimits limits = test_limits(2);
  limits.root_is_here = false;
  limits.bytes = most_bytes(limits);
  build(limits);
  single(0, 0, {1});
  single(1, 0, {2});
  EXPECT_EQ(single(1, 0, {2}).reason, DropReason::duplicate);
  EXPECT_EQ(aggregate({0, 1}, 0, {3}).reason, DropReason::duplicate);
  // A resend says that its sender lacks the result.
  EXPECT_EQ(single(1, 0, {2}, wire::kFlagResend).verdict, Verdict::answered);
  EXPECT_EQ(sent_.at(0).elements<std::int32_t>(), Ints{3});
  engine_->result_accepted(7, 0, 0);
  EXPECT_EQ(single(1, 0, {2}, wire::kFlagResend).reason, DropReason::duplicate);
  EXPECT_EQ(counters().bytes_held.get(), 0u);
}

// Memory for one chunk: the second is refused, and has its turn when the first is done.
TEST_F(CompletionTest, WhenFullTheLatestIsRefusedAndCounted) {
  JobLimits limits = test_limits(2);
  limits.bytes = least_bytes(limits);
  build(limits);
  single(0, 1, {10});
  EXPECT_EQ(single(0, 2, {100}).reason, DropReason::no_slot);
  EXPECT_EQ(mark(2).reason, DropReason::no_slot);
  EXPECT_EQ(counters().refused_full.get(), 2u);
  // The earlier one comes first: what the later one had is asked for again when its rank probes.
  EXPECT_EQ(single(1, 0, {2}).verdict, Verdict::held);
  EXPECT_EQ(counters().given_up.get(), 1u);
  probe(0, 1);
  EXPECT_EQ(asked(), Ranks{0});
  EXPECT_EQ(single(0, 0, {1}).verdict, Verdict::completed);
  engine_->result_accepted(7, 0, 0);
  single(0, 1, {10}, wire::kFlagResend);
  EXPECT_EQ(single(1, 1, {20}).verdict, Verdict::completed);
  EXPECT_EQ(sent_.at(0).elements<std::int32_t>(), Ints{30});
}

// Rule 15: of any piece, sum, or announcement, as overflow is; not of what is sent again.
TEST_F(CompletionTest, Rule15_AMarkOfAnyPieceIsTheResults) {
  build(3);
  const auto marked = [&] { return (sent_.at(0).header.flags & wire::kFlagCe) != 0; };
  single(0, 0, {1}, wire::kFlagCollision | wire::kFlagCe);
  single(1, 0, {1});
  ASSERT_EQ(single(2, 0, {1}).verdict, Verdict::completed);
  EXPECT_TRUE(marked());

  aggregate({0, 1}, 1, {1}, Reason::deadline, wire::kFlagCe);
  single(2, 1, {1});
  EXPECT_TRUE(marked());
  probe(2, 1);
  EXPECT_TRUE(marked()) << "the result repeated";

  wire::Header announcement = header(PacketType::escalation, 2);
  announcement.flags = wire::kFlagCe;
  announcement.reason = Reason::no_slot;
  deliver(announcement);
  for (std::uint32_t rank = 0; rank < 3; ++rank) single(rank, 2, {1});
  EXPECT_TRUE(marked());

  single(0, 3, {1}, wire::kFlagResend | wire::kFlagCe);
  for (std::uint32_t rank = 1; rank < 3; ++rank) single(rank, 3, {1});
  EXPECT_FALSE(marked());
}

TEST_F(CompletionTest, Rule15_AResultIsNotMarkedAfterwards) {
  build(2);
  for (std::uint32_t rank = 0; rank < 2; ++rank) single(rank, 0, {1});
  wire::Header announcement = header(PacketType::escalation, 0);
  announcement.flags = wire::kFlagCe;
  deliver(announcement);
  single(0, 0, {1}, wire::kFlagCe);
  probe(1, 0);
  ASSERT_EQ(sent_.at(0).header.type, PacketType::result);
  EXPECT_EQ(sent_[0].header.flags & wire::kFlagCe, 0u);
}

// Rule 15: an IP header that was marked on the way here; a second attempt keeps what the first met.
TEST_F(CompletionTest, Rule15_TheIpHeadersMarkCountsLikeTheFlag) {
  build(1);
  const std::vector<std::int32_t> value = {1};
  wire::Header h = data_header(PacketType::contribution, 0, value, DType::int32);
  h.covered = 1;
  wire::Packet packet{h, {}, std::as_bytes(std::span(value))};
  packet.congestion_experienced = true;
  engine_->on_packet(packet, now_, *outbox_);
  ASSERT_EQ(outbox_->items().size(), 1u);
  EXPECT_NE(outbox_->items()[0].header.flags & wire::kFlagCe, 0u);
}

}  // namespace
}  // namespace tributary::completion
