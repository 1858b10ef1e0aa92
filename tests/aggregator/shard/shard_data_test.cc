// Contributions, probes and acknowledgements: protocol rules 2 to 7 and 12 (O3, O6, O7, T3).
#include "tests/aggregator/engine_fixture.h"

namespace tributary::aggregator {
namespace {

using wire::PacketType;

TEST_F(EngineTest, SumsOnceAllHaveArrivedAndMulticasts) {
  build();
  join_all();
  EXPECT_EQ(contribute(0, 0, {1, 10}).verdict, Verdict::opened);
  EXPECT_EQ(contribute(2, 0, {2, 20}).verdict, Verdict::folded);
  EXPECT_TRUE(sent_.empty());
  EXPECT_EQ(contribute(1, 0, {3, 30}).verdict, Verdict::completed);
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].to, Outgoing::To::job_group);
  EXPECT_EQ(sent_[0].header.type, PacketType::result);
  EXPECT_EQ(sent_[0].header.covered, 3u);
  EXPECT_EQ(sent_[0].elements<std::int32_t>(), (std::vector<std::int32_t>{6, 60}));
  EXPECT_EQ(counters().slots_open.get(), 0u);
  EXPECT_EQ(counters().slots_high_water.get(), 1u);
}

TEST_F(EngineTest, SumsFloats) {
  build(2);
  join_all();
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    const std::vector<float> v = {0.5f + static_cast<float>(rank), -1.0f};
    deliver({data_header(rank, 0, 2, wire::DType::float32), {}, std::as_bytes(std::span(v))},
            peer(rank));
  }
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].elements<float>(), (std::vector<float>{2.0f, -2.0f}));
}

TEST_F(EngineTest, BarrierCarriesNoElements) {
  build(2);
  join_all();
  wire::Header h = data_header(0, 0, 0, wire::DType::none);
  h.collective = wire::Collective::barrier;
  EXPECT_EQ(deliver(h, peer(0)).verdict, Verdict::opened);
  h.origin = h.child = 1;
  EXPECT_EQ(deliver(h, peer(1)).verdict, Verdict::completed);
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].header.collective, wire::Collective::barrier);
}

// A broadcast or an all_gather begins with a chunk that all ranks send, and none carries data in.
TEST_F(EngineTest, OpsThatMoveDataBeginWhenAllRanksAgree) {
  build(3);
  join_all();
  std::uint32_t seq = 0;
  for (const auto kind : {wire::Collective::broadcast, wire::Collective::all_gather}) {
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
      const auto decision = agree(rank, seq, kind, 512, 1);
      EXPECT_EQ(decision.verdict, rank == 0   ? Verdict::opened
                                  : rank == 1 ? Verdict::folded
                                              : Verdict::completed);
      EXPECT_EQ(sent_.size(), rank == 2 ? 1u : 0u);
    }
    EXPECT_EQ(sent_[0].header.type, wire::PacketType::result);
    EXPECT_EQ(sent_[0].header.covered, 3u);
    EXPECT_EQ(sent_[0].header.element_count, 0u);
    EXPECT_TRUE(sent_[0].payload.empty());
    ++seq;
  }
}

// What the ranks are told names both sides, and what they disagree about.
TEST_F(EngineTest, RanksThatDisagreeAboutMovedDataAreNamed) {
  using wire::Collective;
  const auto error_of = [this](auto second) {
    build(2);
    join_all();
    agree(0, 0, Collective::broadcast, 512, 0);
    EXPECT_EQ(second().verdict, Verdict::epoch_aborted);
    EXPECT_EQ(sent_.at(0).header.reason, wire::Reason::op_mismatch);
    const auto error = wire::find_op_error(sent_.at(0).extensions);
    EXPECT_TRUE(error && error->expected.rank == 0 && error->got.rank == 1);
    EXPECT_EQ(error->expected.total_elements, 512u);
    EXPECT_EQ(error->expected.target, 0u);
    return error->got;
  };
  EXPECT_EQ(error_of([&] { return agree(1, 0, Collective::broadcast, 256, 0); }).total_elements,
            256u);
  EXPECT_EQ(error_of([&] { return agree(1, 0, Collective::broadcast, 512, 1); }).target, 1u);
  EXPECT_EQ(error_of([&] { return agree(1, 0, Collective::all_gather, 512, 0); }).collective,
            Collective::all_gather);
  EXPECT_EQ(error_of([&] {
              return agree(1, 0, Collective::broadcast, 512, 0, wire::DType::float64);
            }).dtype,
            wire::DType::float64);
  EXPECT_EQ(error_of([&] { return contribute(1, 0, {1, 2}); }).collective, Collective::allreduce);
}

TEST_F(EngineTest, ABroadcastsAgreementNamesARootOfTheJob) {
  build(2);
  join_all();
  EXPECT_EQ(agree(0, 0, wire::Collective::broadcast, 4, 2).reason, DropReason::bad_target);
}

// T21: whatever the job says about verification, no switch makes a model's parameters up.
TEST_F(EngineTest, WhatConcernsAModelGoesToTheHost) {
  build(2);
  join_all();
  const std::vector<float> v = {1.0f, 2.0f};
  std::array<std::byte, 16> room;
  wire::ExtensionWriter ext(room);
  ext.add_target_rank(3);
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    wire::Header h = data_header(rank, 0, 2, wire::DType::float32);
    h.collective = wire::Collective::update;
    EXPECT_EQ(deliver({h, {}, std::as_bytes(std::span(v))}, peer(rank)).reason,
              DropReason::bad_target);
    deliver({h, ext.bytes(), std::as_bytes(std::span(v))}, peer(rank));
  }
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].to, Outgoing::To::completion_host);
  EXPECT_EQ(sent_[0].header.type, wire::PacketType::escalation);
  EXPECT_EQ(sent_[0].header.collective, wire::Collective::update);
  EXPECT_EQ(wire::find_target_rank(sent_[0].extensions), 3u);
  EXPECT_EQ(sent_[0].elements<float>(), (std::vector<float>{2.0f, 4.0f}));
}

TEST_F(EngineTest, OneWorkerGetsItsOwnDataBack) {
  build(1);
  join_all();
  EXPECT_EQ(contribute(0, 0, {5}).verdict, Verdict::completed);
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].elements<std::int32_t>(), std::vector<std::int32_t>{5});
}

// O6, rule 7: no contribution is counted twice, whenever the copy arrives.
TEST_F(EngineTest, O3_O6_DuplicatesAreCountedNotSummed) {
  build(2);
  join_all();
  contribute(0, 0, {1});
  EXPECT_EQ(contribute(0, 0, {1}).reason, DropReason::duplicate);
  EXPECT_EQ(contribute(1, 0, {2}).verdict, Verdict::completed);
  EXPECT_EQ(sent_[0].elements<std::int32_t>(), std::vector<std::int32_t>{3});
  EXPECT_EQ(contribute(1, 0, {2}).reason, DropReason::duplicate);
  EXPECT_EQ(counters().duplicates.get(), 2u);
}

// Rule 3: a copy of something long finished opens no ghost slot, whose deadline would invent
// stragglers.
TEST_F(EngineTest, LateDuplicateOpensNoGhostSlot) {
  build(2, 2);
  join_all();
  for (std::uint32_t seq = 0; seq < 6; ++seq) complete(seq);
  for (std::uint32_t seq = 0; seq < 6; ++seq)
    EXPECT_EQ(contribute(0, seq, {9}).verdict, Verdict::dropped) << seq;
  EXPECT_EQ(contribute(0, 0, {9}).reason, DropReason::stale_seq);
  EXPECT_EQ(counters().slots_open.get(), 0u);
  now_ = now_ + Duration::ms(600);
  expire();
  EXPECT_TRUE(sent_.empty());
}

// Nor does one of the epoch before, whatever its seq means in this one.
TEST_F(EngineTest, CopiesOfTheEpochBeforeOpenNoGhostSlot) {
  build(2, 2);
  join_all();
  complete(0);
  contribute(0, 1, {1});
  const std::uint16_t before = epoch_;
  join_all(1);
  ASSERT_NE(epoch_, before);
  const std::uint16_t current = std::exchange(epoch_, before);
  for (std::uint32_t seq = 0; seq < 3; ++seq)
    EXPECT_EQ(contribute(0, seq, {9}).reason, DropReason::stale_epoch) << seq;
  epoch_ = current;
  EXPECT_EQ(counters().slots_open.get(), 0u);
  now_ = now_ + Duration::ms(600);
  expire();
  EXPECT_TRUE(sent_.empty());
  complete(0);
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].elements<std::int32_t>(), std::vector<std::int32_t>{3});
}

// Rule 2: a sender can't use more of the switch than its window.
TEST_F(EngineTest, BeyondTheWindowIsRefused) {
  build(2, 4);
  join_all();
  EXPECT_EQ(contribute(0, 3, {1}).verdict, Verdict::opened);
  EXPECT_EQ(contribute(0, 4, {1}).reason, DropReason::beyond_window);
  complete(0);
  EXPECT_EQ(contribute(0, 4, {1}).verdict, Verdict::opened);
  EXPECT_EQ(counters().slots_open.get(), 2u);
}

// Rule 4: the result stays until every child has acknowledged it, here by sending s + W.
TEST_F(EngineTest, ResultIsKeptUntilEveryChildMovedOn) {
  build(2, 2);
  join_all();
  complete(0);
  EXPECT_EQ(counters().results_retained.get(), 1u);
  complete(1);
  contribute(0, 2, {1});
  EXPECT_EQ(counters().results_retained.get(), 2u);
  EXPECT_EQ(probe(1, 0).verdict, Verdict::answered);
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].to, Outgoing::To::peer);
  EXPECT_EQ(sent_[0].peer, peer(1));
  EXPECT_EQ(sent_[0].elements<std::int32_t>(), std::vector<std::int32_t>{3});
  contribute(1, 2, {1});
  EXPECT_EQ(counters().results_retained.get(), 2u);  // 0 released, 1 and 2 kept
  EXPECT_EQ(probe(1, 0).reason, DropReason::stale_seq);
}

TEST_F(EngineTest, CumulativeAckReleasesResults) {
  build(2, 4);
  join_all();
  complete(0);
  complete(1);
  EXPECT_EQ(acknowledge(0, 2).verdict, Verdict::noted);
  EXPECT_EQ(counters().results_retained.get(), 2u);
  EXPECT_EQ(acknowledge(1, 1).verdict, Verdict::noted);
  EXPECT_EQ(counters().results_retained.get(), 1u);
  EXPECT_EQ(acknowledge(1, 2).verdict, Verdict::noted);
  EXPECT_EQ(counters().results_retained.get(), 0u);
  EXPECT_EQ(acknowledge(1, 3).reason, DropReason::beyond_window);  // can't hold what isn't there
}

// Rule 5: a completed result never changes, whatever is sent afterwards.
TEST_F(EngineTest, ResultNeverChanges) {
  build(2);
  join_all();
  complete(0);
  contribute(0, 0, {100}, wire::kFlagResend);
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].elements<std::int32_t>(), std::vector<std::int32_t>{3});
}

// Rule 6: PENDING names who is missing; UNKNOWN asks for the data; neither causes a resend storm.
TEST_F(EngineTest, O3_ProbeSaysWhatIsMissing) {
  build(3);
  join_all();
  EXPECT_EQ(probe(0, 0).verdict, Verdict::answered);
  EXPECT_EQ(sent_.at(0).header.type, PacketType::unknown);
  contribute(0, 0, {1});
  EXPECT_EQ(probe(0, 0).verdict, Verdict::answered);
  EXPECT_EQ(sent_.at(0).header.type, PacketType::pending);
  EXPECT_EQ(sent_.at(0).missing(), (std::vector<std::uint32_t>{1, 2}));
  EXPECT_EQ(probe(1, 0).verdict, Verdict::answered);
  EXPECT_EQ(sent_.at(0).header.type, PacketType::unknown);
}

// O6: a resend is folded when its bit is clear, answered when the result is there.
TEST_F(EngineTest, ResendIsFoldedOrAnswered) {
  build(2);
  join_all();
  contribute(0, 0, {1});
  EXPECT_EQ(contribute(1, 0, {2}, wire::kFlagResend).verdict, Verdict::completed);
  EXPECT_EQ(contribute(1, 0, {2}, wire::kFlagResend).verdict, Verdict::answered);
  EXPECT_EQ(sent_.at(0).header.type, PacketType::result);
  EXPECT_EQ(counters().resends.get(), 2u);
  EXPECT_EQ(counters().results_resent.get(), 1u);
}

TEST_F(EngineTest, SequenceNumbersWrap) {
  build(test_switch({test_job(2, 4)}), {41, 0xFFFFFFFDu});
  for (std::uint32_t r = 0; r < 2; ++r) join(r);
  ASSERT_EQ(sent_.size(), 2u);
  EXPECT_EQ(sent_[0].header.seq, 0xFFFFFFFDu);
  epoch_ = sent_[0].header.epoch;
  for (std::uint32_t i = 0; i < 20; ++i) {
    complete(0xFFFFFFFDu + i);
    ASSERT_EQ(sent_.size(), 1u) << i;
    EXPECT_EQ(sent_[0].elements<std::int32_t>(), std::vector<std::int32_t>{3});
  }
  EXPECT_EQ(contribute(0, 0xFFFFFFFDu, {1}).reason, DropReason::stale_seq);
}

// Op numbers do not: the last one is none, and the one before it is an op like any other.
TEST_F(EngineTest, TheLastOpOfAnEpochIsSummedAndNoneComesAfterIt) {
  build(2);
  join_all();
  const auto give = [&](std::uint32_t rank, std::uint32_t seq, std::uint32_t op, PacketType type) {
    wire::Header h = data_header(rank, seq, 1);
    h.type = type;
    h.op = op;
    const std::int32_t value = 5;
    return deliver({h, {}, std::as_bytes(std::span(&value, 1))}, peer(rank));
  };
  using enum PacketType;
  EXPECT_EQ(give(0, 0, kNoOp - 1, contribution).verdict, Verdict::opened);
  EXPECT_EQ(engine_->exclude(kJob, 1, true, kNoOp - 1, *outbox_).refusal, Ruling::Refusal::begun);
  EXPECT_EQ(give(1, 0, kNoOp - 1, contribution).verdict, Verdict::completed);
  EXPECT_EQ(sent_.at(0).elements<std::int32_t>(), std::vector<std::int32_t>{10});
  EXPECT_FALSE(engine_->op_lines(kJob, kNoOp - 1, now_).empty());
  for (const auto type : {contribution, probe})
    EXPECT_EQ(give(0, 1, kNoOp, type).reason, DropReason::bad_op);
  EXPECT_TRUE(sent_.empty());
  EXPECT_EQ(engine_->chunk_state(0, 0, 1), ChunkState::unseen);
  EXPECT_TRUE(engine_->op_lines(kJob, kNoOp, now_).empty());
  EXPECT_EQ(give(0, 1, 0, contribution).verdict, Verdict::opened) << "the seq is still free";
  // Another epoch begins from 0 again.
  join_all(1);
  EXPECT_EQ(give(0, 0, 0, contribution).verdict, Verdict::opened);
}

TEST_F(EngineTest, DisagreeingRanksAllLearnWhoSentWhat) {
  build(2);
  join_all();
  contribute(0, 0, {1, 2});
  EXPECT_EQ(contribute(1, 0, {1}).verdict, Verdict::epoch_aborted);
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].to, Outgoing::To::job_group);
  EXPECT_EQ(sent_[0].header.reason, wire::Reason::op_mismatch);
  const auto error = wire::find_op_error(sent_[0].extensions);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->expected.rank, 0u);
  EXPECT_EQ(error->expected.element_count, 2);
  EXPECT_EQ(error->got.rank, 1u);
  EXPECT_EQ(error->got.element_count, 1);
  EXPECT_EQ(counters().slots_open.get(), 0u);
}

TEST_F(EngineTest, DisagreeingTotalsAreSeenOnTheFirstChunk) {
  build(2);
  join_all();
  const std::vector<std::int32_t> v = {1};
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    std::array<std::byte, 32> buffer;
    wire::ExtensionWriter ext(buffer);
    ext.add(wire::TaskInformation{10 + rank, 2, 0});
    deliver({data_header(rank, 0, 1), ext.bytes(), std::as_bytes(std::span(v))}, peer(rank));
  }
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].header.reason, wire::Reason::op_mismatch);
  EXPECT_EQ(wire::find_op_error(sent_[0].extensions)->got.total_elements, 11u);
}

// Rule 16: shards are independent, each with its own window and slots.
TEST_F(EngineTest, ShardsAreIndependent) {
  config::JobConfig job = test_job(2, 2);
  job.shards = 2;
  build(test_switch({job}));
  join_all();
  const std::vector<std::int32_t> v = {1};
  for (std::uint8_t shard = 0; shard < 2; ++shard) {
    for (std::uint32_t seq = 0; seq < 2; ++seq) {
      wire::Header h = data_header(0, seq, 1);
      h.shard = shard;
      EXPECT_EQ(deliver({h, {}, std::as_bytes(std::span(v))}, peer(0)).verdict, Verdict::opened);
    }
  }
  EXPECT_EQ(counters().slots_open.get(), 4u);
  wire::Header h = data_header(0, 0, 1);
  h.shard = 2;
  EXPECT_EQ(deliver({h, {}, std::as_bytes(std::span(v))}, peer(0)).reason, DropReason::bad_shard);
}

// Each kind of bad contribution has a reason of its own, and nothing of it is used.
TEST_F(EngineTest, BadContributionsAreCountedByReason) {
  config::JobConfig job = test_job(2);
  job.reductions = {{wire::DType::int32, wire::ReduceOp::sum},
                    {wire::DType::float16, wire::ReduceOp::sum}};
  build(test_switch({job}));
  join_all();
  const std::vector<std::byte> big(128);
  const auto try_with = [&](auto change) {
    wire::Header h = data_header(0, 0, 2);
    change(h);
    const std::size_t bytes = h.element_count * wire::size_of(h.dtype);
    return deliver({h, {}, std::span(big).first(bytes)}, peer(0)).reason;
  };
  using wire::Collective;
  EXPECT_EQ(try_with([](auto& h) { h.dtype = wire::DType::int16; }), DropReason::bad_dtype);
  EXPECT_EQ(try_with([](auto& h) { h.dtype = wire::DType::none; }), DropReason::bad_dtype);
  EXPECT_EQ(try_with([](auto& h) { h.reduce_op = wire::ReduceOp::prod; }),
            DropReason::bad_reduce_op);
  EXPECT_EQ(try_with([](auto& h) { h.element_count = 17; }), DropReason::payload_too_large);
  EXPECT_EQ(try_with([](auto& h) {
              h.dtype = wire::DType::float16;
              h.element_count = 17;  // 34 bytes, but 68 as they are accumulated
            }),
            DropReason::payload_too_large);
  EXPECT_EQ(try_with([](auto& h) { h.encoding = wire::Encoding::compressed; }),
            DropReason::bad_encoding);
  EXPECT_EQ(try_with([](auto& h) { h.collective = Collective::reduce; }), DropReason::bad_target);
  EXPECT_EQ(try_with([](auto& h) { h.collective = Collective::barrier; }), DropReason::bad_dtype);
  EXPECT_EQ(try_with([](auto& h) { h.fan_in = 9; }), DropReason::bad_fan_in);
  EXPECT_EQ(try_with([](auto& h) { h.plane = 1; }), DropReason::bad_shard);
  EXPECT_EQ(try_with([](auto& h) { h.seq = 4; }), DropReason::beyond_window);
  EXPECT_EQ(try_with([](auto& h) { h.type = wire::PacketType::aggregate; }), DropReason::bad_type);
  wire::Header h = data_header(0, 0, 2);
  h.encoding = wire::Encoding::block_scaled;
  EXPECT_EQ(deliver({h, {}, std::span(big).first(12)}, peer(0)).reason,
            DropReason::bad_payload_length);
  EXPECT_EQ(counters().contributions.get(), 0u);
}

// T21: a job that sums floats alone can have a model, whose step and run are uint32.
TEST_F(EngineTest, T21_AJobsReductionsLeaveItsModelAlone) {
  config::JobConfig job = test_job(2);
  job.reductions = {{wire::DType::float32, wire::ReduceOp::sum}};
  build(test_switch({job}));
  join_all();
  const std::array<std::uint32_t, 2> words{};
  const auto open = [&](std::uint32_t array, auto change) {
    std::array<std::byte, 16> room;
    wire::ExtensionWriter target(room);
    target.add_target_rank(array);
    wire::Header h = data_header(0, 0, 2);
    h.dtype = wire::DType::uint32;
    h.collective = wire::Collective::open;
    change(h);
    return deliver({h, target.bytes(), std::as_bytes(std::span(words))}, peer(0));
  };
  EXPECT_EQ(open(0, [](auto&) {}).reason, DropReason::bad_dtype);
  EXPECT_EQ(open(wire::kModelStep, [](auto& h) { h.dtype = wire::DType::int32; }).reason,
            DropReason::bad_dtype);
  EXPECT_EQ(open(wire::kModelStep, [](auto& h) { h.reduce_op = wire::ReduceOp::max; }).reason,
            DropReason::bad_dtype);
  EXPECT_EQ(open(wire::kModelStep, [](auto& h) { h.collective = wire::Collective::update; }).reason,
            DropReason::bad_dtype);
  EXPECT_EQ(open(wire::kModelStep, [](auto&) {}).verdict, Verdict::opened);
}

// O3: of no child that this switch has.
TEST_F(EngineTest, O3_AChildBeyondTheFanInIsRefused) {
  build(2);
  join_all();
  for (const auto type : {PacketType::contribution, PacketType::probe, PacketType::ack})
    for (const std::uint16_t child : std::array<std::uint16_t, 3>{2, 3, 0xFFFF}) {
      wire::Header h = data_header(0, 0, 1);
      h.type = type;
      h.child = child;
      const std::int32_t value = 1;
      const Decision d = deliver({h, {}, std::as_bytes(std::span(&value, 1))}, peer(0));
      EXPECT_EQ(d.verdict, Verdict::refused);
      EXPECT_EQ(d.reason, DropReason::bad_child) << wire::name_of(type) << ' ' << child;
      ASSERT_EQ(sent_.size(), 1u);
      EXPECT_EQ(sent_[0].header.type, PacketType::nack);
      EXPECT_EQ(sent_[0].header.reason, wire::Reason::bad_rank);
    }
  EXPECT_EQ(counters().contributions.get(), 0u);
}

// O1: what one job sends never reaches another, though seqs and ranks are the same.
TEST_F(EngineTest, JobsDoNotMix) {
  config::JobConfig other = test_job(2);
  other.id = 8;
  build(test_switch({test_job(2), other}));
  join_all();
  const std::uint16_t epoch_of_7 = epoch_;
  contribute(0, 0, {1});
  wire::Header h = data_header(1, 0, 1);
  h.job = 8;
  const std::vector<std::int32_t> v = {50};
  EXPECT_EQ(deliver({h, {}, std::as_bytes(std::span(v))}, peer(1)).verdict, Verdict::refused);
  epoch_ = epoch_of_7;
  EXPECT_EQ(contribute(1, 0, {2}).verdict, Verdict::completed);
  EXPECT_EQ(sent_.at(0).elements<std::int32_t>(), std::vector<std::int32_t>{3});
}

TEST_F(EngineTest, SlotsAreAStaticPartitionPerJob) {
  config::JobConfig other = test_job(2, 4);
  other.id = 8;
  config::SwitchConfig c = test_switch({test_job(2, 4), other});
  c.slots = 7;
  EXPECT_THROW(Engine(c, dataplane::kUdpAddresses, {}), std::invalid_argument);
  c.slots = 8;
  EXPECT_NO_THROW(Engine(c, dataplane::kUdpAddresses, {}));
}

TEST_F(EngineTest, ShowSlotsNamesWhoIsMissing) {
  build(3);
  join_all();
  contribute(1, 0, {1});
  now_ = now_ + Duration::ms(3);
  const auto slots = engine_->slot_status(now_, 10);
  ASSERT_EQ(slots.size(), 1u);
  EXPECT_EQ(slots[0].missing, (std::vector<std::uint32_t>{0, 2}));
  EXPECT_EQ(slots[0].open_for, Duration::ms(3));
}

}  // namespace
}  // namespace tributary::aggregator
