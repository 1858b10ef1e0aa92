// The engine allocates nothing for packets, results and time: it took all its memory when it was
// made. still_engine.h checks that in all other tests of this program; here are the proof that it
// would be noticed, long runs, and epochs.
#include <gtest/gtest-spi.h>

#include "tests/aggregator/engine_fixture.h"

namespace tributary::aggregator {
namespace {

using wire::PacketType;

// Three ranks and one job, which may be any; it escalates what is late.
class AllocationTest : public EngineTest {
 protected:
  static config::JobConfig escalating() {
    config::JobConfig job = test_job(3);
    job.on_deadline = config::OnDeadline::escalate;
    return job;
  }
  void run(const config::JobConfig& job, std::uint32_t slots = 64) {
    config::SwitchConfig c = test_switch({job});
    c.slots = slots;
    c.cache.megabytes = 1;
    build(c);
    join_all();
    const std::size_t before = allocations();
    for (std::uint32_t seq = 0; seq < 40; ++seq) one_chunk(seq);
    EXPECT_EQ(allocations(), before);
  }
  // Not of the fixture's: those keep copies.
  Decision give(const wire::Header& h, std::span<const std::byte> payload = {}) {
    const Decision d = engine_->on_packet({h, {}, payload}, peer(h.origin), now_, *outbox_);
    outbox_->clear();
    return d;
  }
  Decision data(std::uint32_t rank, std::uint32_t seq, std::uint32_t flags = 0) {
    wire::Header h = data_header(rank, seq, 4);
    h.flags |= flags;
    return give(h, std::as_bytes(std::span(values_)));
  }
  Decision ask(std::uint32_t rank, std::uint32_t seq) {
    wire::Header h = header(PacketType::probe, rank);
    h.op = h.seq = seq;
    h.covered = 1;
    return give(h);
  }
  Decision hold(std::uint32_t rank, std::uint32_t before) {
    wire::Header h = header(PacketType::ack, rank);
    h.seq = before;
    return give(h);
  }
  // What the completion host makes of it.
  void answer(std::uint32_t seq) {
    wire::Header h = data_header(0, seq, 4);
    h.type = PacketType::result;
    h.covered = 3;
    engine_->on_host_packet({h, {}, std::as_bytes(std::span(values_))}, now_, *outbox_);
    outbox_->clear();
  }
  // First, twice, further, asked for, and one in three late or resent.
  void one_chunk(std::uint32_t seq) {
    engine_->begin_burst();
    data(seq % 3, seq);
    data(seq % 3, seq);
    engine_->prefetch_entry(data_header(0, seq, 4));
    data((seq + 1) % 3, seq);
    engine_->end_burst();
    ask(0, seq);
    ask((seq + 2) % 3, seq);
    ++kinds_[static_cast<std::size_t>(engine_->chunk_state(0, 0, seq))];
    if (seq % 3 == 1) {
      now_ = now_ + Duration::ms(500);
      engine_->expire(now_, *outbox_);
      outbox_->clear();
    }
    data((seq + 2) % 3, seq, seq % 3 == 2 ? wire::kFlagResend | wire::kFlagAtPs : 0);
    ++kinds_[static_cast<std::size_t>(engine_->chunk_state(0, 0, seq))];
    answer(seq);
    for (std::uint32_t rank = 0; rank < 3; ++rank) ask(rank, seq);
    data(0, seq, wire::kFlagResend);
    for (std::uint32_t rank = 0; rank < 3; ++rank) hold(rank, seq + 1);
    ask(1, seq);
    data(1, seq, wire::kFlagResend);
    (void)engine_->look(data_header(0, seq, 4));
    EXPECT_EQ(engine_->chunk_state(0, 0, seq), ChunkState::released);
  }
  [[nodiscard]] std::uint32_t seen(ChunkState state) const {
    return kinds_[static_cast<std::size_t>(state)];
  }
  std::array<std::uint32_t, 8> kinds_{};
  std::array<std::int32_t, 4> values_{1, 2, 3, 4};
};

TEST_F(AllocationTest, FromTheFirstContributionToTheLastProbe) {
  run(escalating());
  EXPECT_GT(seen(ChunkState::open), 0u);
  EXPECT_GT(seen(ChunkState::complete), 0u);
  EXPECT_GT(seen(ChunkState::escalated), 0u);
  EXPECT_GT(counters().cache_hits.get(), 0u);
  EXPECT_GT(counters().pending_replies.get(), 0u);
  EXPECT_GT(counters().escalations[static_cast<std::size_t>(wire::Reason::deadline)].get(), 0u);
  EXPECT_GT(counters().escalations[static_cast<std::size_t>(wire::Reason::resend)].get(), 0u);
}

TEST_F(AllocationTest, SumsThatAreHeldInOrderOrSentToBeVerified) {
  config::JobConfig held = escalating();
  held.order = wire::Order::reproducible;
  held.trigger = config::Trigger::collect;
  run(held);
  config::JobConfig verified = escalating();
  verified.verify = true;
  verified.release = config::Release::returned;
  run(verified);
  EXPECT_GT(seen(ChunkState::sent), 0u);
}

TEST_F(AllocationTest, SlotsOfAPoolAndWhatFindsNone) {
  config::JobConfig job = escalating();
  job.slots = config::SlotMode::dynamic;
  job.quota = 1;
  run(job, 4);
}

// The end of an epoch, too: it comes with a packet, or with time.
TEST_F(AllocationTest, ADeadlineOrADisagreementThatEndsTheEpoch) {
  for (const bool late : {true, false}) {
    build(3);
    join_all();
    const std::size_t before = allocations();
    data(0, 0);
    if (late) now_ = now_ + Duration::ms(500);
    engine_->expire(now_, *outbox_);
    outbox_->clear();
    if (!late) {
      EXPECT_EQ(give(data_header(1, 0, 1), std::as_bytes(std::span(values_)).first(4)).verdict,
                Verdict::epoch_aborted);
    }
    EXPECT_EQ(data(2, 0).reason, DropReason::aborted);
    EXPECT_EQ(allocations(), before);
  }
}

// Nor does it take anything to begin an epoch, however often.
TEST_F(AllocationTest, EpochsThatBeginEndAndBeginAgain) {
  build(3);
  for (int incarnation = 0; incarnation < 4; ++incarnation) {
    join_all(incarnation);  // ends the one before, if it runs
    data(0, 0);
    EXPECT_EQ(counters().epochs.get(), static_cast<std::uint64_t>(incarnation) + 1);
  }
  EXPECT_EQ(counters().aborts_restart.get(), 3u);
  now_ = now_ + test_job().lease;
  expire();
  EXPECT_EQ(counters().aborts_deadline.get() + counters().aborts_lease.get(), 1u);
  join_all(4);
  for (std::uint32_t rank = 0; rank < 3; ++rank) leave(rank);
  EXPECT_EQ(status().state, JobState::idle);
}

TEST_F(AllocationTest, ParametersOfAModel) {
  std::array<std::byte, 16> room;
  wire::ExtensionWriter step(room);
  step.add_target_rank(3);
  const auto values = std::as_bytes(std::span(values_));
  for (const auto collective : {wire::Collective::open, wire::Collective::update}) {
    build(3);
    join_all();
    wire::Header h;
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
      h = data_header(rank, 0, 4);
      h.collective = collective;
      deliver({h, step.bytes(), values}, peer(rank));
    }
    h.type = PacketType::result;
    h.covered = 3;
    h.flags |= wire::kFlagParams;
    EXPECT_TRUE(engine_->on_host_packet({h, step.bytes(), values}, now_, *outbox_));
    outbox_->clear();
    EXPECT_EQ(engine_->chunk_state(0, 0, 0), ChunkState::complete);
  }
}

TEST_F(AllocationTest, AnEpochWhoseHostIsLost) {
  build(test_switch({escalating()}));
  join_all();
  data(0, 0);
  now_ = now_ + Duration::ms(500);
  expire();
  EXPECT_TRUE(engine_->waits_for_host(kJob, 0));
  engine_->abort_host_lost(kJob, *outbox_);
  collect();
  EXPECT_EQ(sent_.back().header.reason, wire::Reason::host_lost);
  EXPECT_EQ(counters().aborts_host.get(), 1u);
}

// Their bits are in words beside the chunk entries.
TEST_F(AllocationTest, MoreChildrenThanAWordHasBits) {
  build(130, 4);
  join_all();
  for (std::uint32_t seq = 0; seq < 20; ++seq) {
    complete(seq);
    EXPECT_EQ(sent_.at(0).elements<std::int32_t>()[0], 130 * 131 / 2);
  }
}

// A test of the tests: what is allocated in a call is found.
TEST(NoAllocations, FindsOne) {
  const auto allocate = [] {
    const NoAllocations none;
    ::operator delete(::operator new(8));  // not an expression, which may be left out
  };
  testing::TestPartResultArray found;
  {
    const testing::ScopedFakeTestPartResultReporter reporter(
        testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &found);
    allocate();
  }
  ASSERT_EQ(found.size(), 1);
  EXPECT_NE(
      std::string(found.GetTestPartResult(0).message()).find("1 times allocated in this call"),
      std::string::npos);
}

}  // namespace
}  // namespace tributary::aggregator
