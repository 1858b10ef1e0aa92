// Escalation to the completion host and its answers: flush with coverage, resends, verification,
// both release modes (T3, T15, O4, O6, O9; rules 5, 7, 10 and 11).
#include "core/wire/rank_bitmap.h"
#include "tests/aggregator/engine_fixture.h"

namespace tributary::aggregator {
namespace {

using wire::PacketType;
using wire::Reason;

class EscalateTest : public EngineTest {
 protected:
  void build_with(void (*change)(config::JobConfig&), std::uint32_t workers = 3) {
    config::JobConfig job = test_job(workers);
    change(job);
    build(test_switch({job}));
    join_all();
  }
  static void escalate_late(config::JobConfig& job) {
    job.on_deadline = config::OnDeadline::escalate;
  }
  [[nodiscard]] std::uint64_t escalated(Reason reason) const {
    return counters().escalations[static_cast<std::size_t>(reason)].get();
  }
  [[nodiscard]] std::uint64_t covered_by(const Sent& sent) const {
    std::array<std::uint64_t, 1> ranks{};
    EXPECT_TRUE(wire::read_rank_bitmaps(sent.extensions, workers_, ranks));
    return ranks[0];
  }
  // The completion host's result of a chunk.
  bool host_result(std::uint32_t seq, std::int32_t value, std::uint32_t flags = 0) {
    wire::Header h = data_header(0, seq, 1);
    h.type = PacketType::result;
    h.covered = workers_;
    h.flags = flags;
    return from_host({h, {}, std::as_bytes(std::span(&value, 1))});
  }
  bool from_host(const wire::Packet& packet) {
    sent_.clear();
    const bool accepted = engine_->on_host_packet(packet, now_, *outbox_);
    collect();
    return accepted;
  }
};

// T3, T22: the slot is free at the deadline; what is in it goes on with what it covers.
TEST_F(EscalateTest, DeadlineHandsOverWhatHasArrived) {
  build_with(escalate_late);
  contribute(0, 0, {1});
  contribute(2, 0, {4});
  now_ = now_ + Duration::ms(500);
  expire();
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].to, Outgoing::To::completion_host);
  EXPECT_EQ(sent_[0].header.type, PacketType::escalation);
  EXPECT_EQ(sent_[0].header.reason, Reason::deadline);
  EXPECT_EQ(sent_[0].header.covered, 2u);
  EXPECT_EQ(covered_by(sent_[0]), 0b101u);
  EXPECT_EQ(sent_[0].elements<std::int32_t>(), std::vector<std::int32_t>{5});
  EXPECT_EQ(counters().slots_open.get(), 0u);
  EXPECT_EQ(counters().slot_hold_ns_max.get(), 500'000'000u);
  EXPECT_EQ(engine_->slot_holds().count(), 1u);
  EXPECT_EQ(engine_->slot_holds().total_ns.get(), 500'000'000u);
  EXPECT_EQ(status().state, JobState::running);
  EXPECT_EQ(contribute(1, 0, {2}).verdict, Verdict::forwarded);
  EXPECT_EQ(sent_.at(0).to, Outgoing::To::completion_host);
  EXPECT_TRUE(host_result(0, 7));
  EXPECT_EQ(sent_.at(0).to, Outgoing::To::job_group);
  EXPECT_EQ(sent_.at(0).elements<std::int32_t>(), std::vector<std::int32_t>{7});
  probe(1, 0);
  EXPECT_EQ(sent_.at(0).elements<std::int32_t>(), std::vector<std::int32_t>{7});
}

// T3: a shard that looked while nothing was open, or while an earlier chunk was, misses none.
TEST_F(EscalateTest, EachDeadlineIsNoticedAtItsTime) {
  build_with(escalate_late);
  const auto flushed_after = [this](Duration wait) {
    now_ = now_ + wait;
    expire();
    return sent_.size();
  };
  EXPECT_EQ(flushed_after(Duration::ms(100)), 0u);
  contribute(0, 0, {1});
  EXPECT_EQ(flushed_after(Duration::ms(200)), 0u);
  contribute(1, 1, {1});
  EXPECT_EQ(flushed_after(Duration::ms(299)), 0u);
  EXPECT_EQ(flushed_after(Duration::ms(1)), 1u);
  EXPECT_EQ(flushed_after(Duration::ms(199)), 0u);
  EXPECT_EQ(flushed_after(Duration::ms(1)), 1u);
}

// O6: a resend that asks for the completion host takes along what the switch holds.
TEST_F(EscalateTest, ResendForTheHostFlushesWhatIsHeld) {
  build_with([](config::JobConfig&) {});
  contribute(0, 0, {1});
  EXPECT_EQ(contribute(1, 0, {2}, wire::kFlagResend | wire::kFlagAtPs).verdict, Verdict::forwarded);
  ASSERT_EQ(sent_.size(), 2u);
  EXPECT_EQ(sent_[0].header.type, PacketType::escalation);
  EXPECT_EQ(sent_[0].header.reason, Reason::resend);
  EXPECT_EQ(covered_by(sent_[0]), 0b001u);
  EXPECT_EQ(sent_[1].header.type, PacketType::contribution);
  EXPECT_EQ(sent_[1].header.origin, 1u);
  EXPECT_EQ(counters().slots_open.get(), 0u);
}

// O2: what is for the parameter server is not the switch's, from the first packet on.
TEST_F(EscalateTest, DataForTheHostIsForwardedUntouched) {
  build_with([](config::JobConfig&) {});
  EXPECT_EQ(contribute(0, 0, {1}, wire::kFlagAtPs).verdict, Verdict::forwarded);
  ASSERT_EQ(sent_.size(), 2u);
  EXPECT_EQ(sent_[0].header.covered, 0u);
  EXPECT_EQ(sent_[1].elements<std::int32_t>(), std::vector<std::int32_t>{1});
  EXPECT_EQ(contribute(1, 0, {1}).verdict, Verdict::forwarded);
}

// Rule 6: who has contributed to an escalated chunk is answered by the host, others send.
TEST_F(EscalateTest, ProbesOfEscalatedChunksGoToTheHost) {
  build_with(escalate_late);
  contribute(0, 0, {1});
  now_ = now_ + Duration::ms(500);
  expire();
  EXPECT_EQ(probe(1, 0).verdict, Verdict::answered);
  EXPECT_EQ(sent_.at(0).header.type, PacketType::unknown);
  EXPECT_EQ(probe(0, 0).verdict, Verdict::forwarded);
  EXPECT_EQ(sent_.at(0).to, Outgoing::To::completion_host);
  EXPECT_EQ(sent_.at(0).header.type, PacketType::probe);

  wire::Header h = header(PacketType::pending, 0);
  EXPECT_TRUE(from_host({h, {}, {}}));
  EXPECT_EQ(sent_.at(0).to, Outgoing::To::peer);
  EXPECT_EQ(sent_.at(0).peer, peer(0));
  EXPECT_EQ(contribute(0, 0, {1}, wire::kFlagResend).verdict, Verdict::forwarded);
}

// Rule 5: a chunk is decided once; late, foreign and contradicting results change nothing.
TEST_F(EscalateTest, OnlyTheFirstResultOfAnEscalatedChunkCounts) {
  build_with(escalate_late, 2);
  EXPECT_FALSE(host_result(0, 9));
  contribute(0, 0, {1});
  EXPECT_FALSE(host_result(0, 9));
  now_ = now_ + Duration::ms(500);
  expire();
  wire::Header wrong = data_header(0, 0, 2);
  wrong.type = PacketType::result;
  wrong.covered = workers_;
  const std::array<std::byte, 8> two{};
  EXPECT_FALSE(from_host({wrong, {}, two}));
  const std::uint16_t epoch = std::exchange(epoch_, 3);
  EXPECT_FALSE(host_result(0, 9));
  epoch_ = epoch;
  wire::Header attempt = data_header(0, 0, 1);
  attempt.type = PacketType::result;
  attempt.covered = workers_;
  attempt.attempt = 1;
  const std::array<std::byte, 4> one{};
  EXPECT_FALSE(from_host({attempt, {}, one}));
  attempt.attempt = 0;
  std::array<std::byte, 24> buffer;
  wire::ExtensionWriter other_host(buffer);
  other_host.add(wire::ResultInfo{4, 0, 1, 0});  // another term than START named
  EXPECT_FALSE(from_host({attempt, other_host.bytes(), one}));
  EXPECT_TRUE(host_result(0, 3, wire::kFlagVerified));
  EXPECT_NE(sent_.at(0).header.flags & wire::kFlagVerified, 0u);
  EXPECT_FALSE(host_result(0, 4));
  probe(0, 0);
  EXPECT_EQ(sent_.at(0).elements<std::int32_t>(), std::vector<std::int32_t>{3});
}

// Rule 3: nor do late copies of a chunk that the host has finished open a slot again.
TEST_F(EscalateTest, LateCopiesOfAnEscalatedChunkOpenNoGhostSlot) {
  build_with(escalate_late, 2);
  contribute(0, 0, {1});
  now_ = now_ + Duration::ms(500);
  expire();
  EXPECT_TRUE(host_result(0, 3));
  for (std::uint32_t rank = 0; rank < 2; ++rank)
    EXPECT_NE(contribute(rank, 0, {9}).verdict, Verdict::opened) << rank;
  EXPECT_EQ(counters().slots_open.get(), 0u);
  now_ = now_ + Duration::ms(600);
  expire();
  EXPECT_TRUE(sent_.empty());
  EXPECT_EQ(escalated(Reason::deadline), 1u);
}

TEST_F(EscalateTest, HostMayEndTheEpoch) {
  build_with(escalate_late, 2);
  std::array<std::byte, 16> buffer;
  wire::ExtensionWriter ext(buffer);
  ext.add_missing_ids(std::array<std::uint32_t, 1>{1});
  wire::Header h = header(PacketType::abort, 0);
  h.reason = Reason::deadline;
  // Not for a chunk that it has nothing to do with.
  contribute(0, 0, {1});
  EXPECT_FALSE(from_host({h, ext.bytes(), {}}));
  now_ = now_ + Duration::ms(500);
  expire();
  EXPECT_TRUE(from_host({h, ext.bytes(), {}}));
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].to, Outgoing::To::job_group);
  EXPECT_EQ(sent_[0].missing(), std::vector<std::uint32_t>{1});
  EXPECT_EQ(counters().aborts_deadline.get(), 1u);
}

// T15, rule 11: a reproducible chunk is not folded past a missing child; what lies beyond goes on
// one by one.
TEST_F(EscalateTest, ReproducibleChunkIsHandedOverAsPrefixAndSingles) {
  build_with(
      [](config::JobConfig& job) {
        escalate_late(job);
        job.order = wire::Order::reproducible;
      },
      4);
  contribute(0, 0, {1});
  contribute(1, 0, {2});
  contribute(3, 0, {8});
  now_ = now_ + Duration::ms(500);
  expire();
  ASSERT_EQ(sent_.size(), 2u);
  EXPECT_EQ(covered_by(sent_[0]), 0b0011u);
  EXPECT_EQ(sent_[0].elements<std::int32_t>(), std::vector<std::int32_t>{3});
  EXPECT_EQ(sent_[1].header.type, PacketType::contribution);
  EXPECT_EQ(sent_[1].header.origin, 3u);
  EXPECT_NE(sent_[1].header.flags & wire::kFlagRaw, 0u);
  EXPECT_EQ(sent_[1].elements<std::int32_t>(), std::vector<std::int32_t>{8});
}

// T4: who collects has combined nothing before the last one is here, not even a prefix.
TEST_F(EscalateTest, T4_CollectedChunkIsHandedOverAsSingles) {
  for (const auto order : {wire::Order::fast, wire::Order::reproducible}) {
    config::JobConfig job = test_job(4);
    escalate_late(job);
    job.order = order;
    job.trigger = config::Trigger::collect;
    build(test_switch({job}));
    join_all();
    for (const std::uint32_t r : {0u, 1u, 3u}) contribute(r, 0, {1 << r});
    now_ = now_ + Duration::ms(500);
    expire();
    ASSERT_EQ(sent_.size(), 4u);
    EXPECT_EQ(sent_[0].header.type, PacketType::escalation);
    EXPECT_EQ(sent_[0].header.covered, 0u);
    EXPECT_TRUE(sent_[0].payload.empty());
    std::size_t at = 0;
    for (const std::int32_t r : {0, 1, 3}) {
      const Sent& single = sent_[++at];
      EXPECT_EQ(single.header.type, PacketType::contribution);
      EXPECT_EQ(single.header.origin, static_cast<std::uint32_t>(r));
      EXPECT_NE(single.header.flags & wire::kFlagRaw, 0u);
      EXPECT_EQ(single.elements<std::int32_t>(), std::vector<std::int32_t>{1 << r});
    }
  }
}

// O6, with what is held instead of what is summed: it goes on and leaves nothing behind, over and
// over.
TEST_F(EscalateTest, O6_ResendForTheHostFlushesWhatIsCollected) {
  config::JobConfig job = test_job(3, 4);
  job.trigger = config::Trigger::collect;
  build(test_switch({job}));
  join_all();
  for (std::uint32_t seq = 0; seq < 40; ++seq) {
    contribute(0, seq, {1});
    contribute(2, seq, {4});
    EXPECT_EQ(contribute(1, seq, {2}, wire::kFlagResend | wire::kFlagAtPs).verdict,
              Verdict::forwarded);
    ASSERT_EQ(sent_.size(), 4u) << seq;
    EXPECT_EQ(sent_[0].header.type, PacketType::escalation);
    EXPECT_EQ(sent_[0].header.reason, Reason::resend);
    for (const auto [at, origin, value] : {std::array<int, 3>{1, 0, 1}, {2, 2, 4}, {3, 1, 2}}) {
      const Sent& single = sent_[static_cast<std::size_t>(at)];
      EXPECT_EQ(single.header.type, PacketType::contribution);
      EXPECT_EQ(single.header.origin, static_cast<std::uint32_t>(origin));
      EXPECT_EQ(single.elements<std::int32_t>(), std::vector<std::int32_t>{value});
    }
    EXPECT_EQ(counters().slots_open.get(), 0u);
    EXPECT_TRUE(host_result(seq, 7));
    EXPECT_EQ(sent_.at(0).elements<std::int32_t>(), std::vector<std::int32_t>{7});
    EXPECT_EQ(contribute(2, seq, {100}, wire::kFlagResend).verdict, Verdict::answered);
    EXPECT_EQ(sent_.at(0).elements<std::int32_t>(), std::vector<std::int32_t>{7});
  }
}

// O6, rule 6: who asks for the host gets it, whether or not its data is in what is held here.
TEST_F(EscalateTest, O6_ResendForTheHostFlushesASumThatHasItsDataAlready) {
  build(3);
  join_all();
  contribute(0, 0, {1});
  contribute(2, 0, {4});
  EXPECT_EQ(contribute(0, 0, {1}, wire::kFlagResend).reason, DropReason::duplicate);
  EXPECT_EQ(contribute(0, 0, {1}, wire::kFlagAtPs).reason, DropReason::duplicate);
  EXPECT_EQ(contribute(0, 0, {1}, wire::kFlagResend | wire::kFlagAtPs).verdict, Verdict::forwarded);
  ASSERT_EQ(sent_.size(), 2u);
  EXPECT_EQ(sent_[0].header.type, PacketType::escalation);
  EXPECT_EQ(sent_[0].header.reason, Reason::resend);
  EXPECT_EQ(sent_[0].header.covered, 2u);
  EXPECT_EQ(sent_[0].elements<std::int32_t>(), std::vector<std::int32_t>{5});
  EXPECT_EQ(sent_[1].header.origin, 0u);
  EXPECT_NE(sent_[1].header.flags & wire::kFlagResend, 0u);
  EXPECT_EQ(counters().slots_open.get(), 0u);
  EXPECT_EQ(contribute(1, 0, {2}).verdict, Verdict::forwarded);
  EXPECT_TRUE(host_result(0, 7));
  EXPECT_EQ(sent_.at(0).elements<std::int32_t>(), std::vector<std::int32_t>{7});
}

// T15: a prefix that would be rounded on its way is not part of the declared expression; the host
// asks for what is in it.
TEST_F(EscalateTest, NarrowReproduciblePrefixIsNotRounded) {
  build_with([](config::JobConfig& job) {
    escalate_late(job);
    job.order = wire::Order::reproducible;
    job.partials = wire::Partials::narrow;
  });
  const std::array<std::uint16_t, 1> v = {0x6800};
  for (std::uint32_t r = 0; r < 2; ++r)
    deliver({data_header(r, 0, 1, wire::DType::float16), {}, std::as_bytes(std::span(v))}, peer(r));
  contribute(0, 1, {7});  // an int32 is never rounded
  now_ = now_ + Duration::ms(500);
  expire();
  ASSERT_EQ(sent_.size(), 2u);
  EXPECT_EQ(sent_[0].header.covered, 0u);
  EXPECT_EQ(sent_[1].header.covered, 1u);
}

// Sums of small types travel in what they are accumulated in, or rounded where the job says so.
TEST_F(EscalateTest, PartialSumsAreWideOrNarrow) {
  for (const auto partials : {wire::Partials::wide, wire::Partials::narrow}) {
    config::JobConfig job = test_job(3);
    escalate_late(job);
    job.partials = partials;
    build(test_switch({job}));
    join_all();
    const std::vector<std::int8_t> v = {100, -3};
    for (std::uint32_t r = 0; r < 2; ++r)
      deliver({data_header(r, 0, 2, wire::DType::int8), {}, std::as_bytes(std::span(v))}, peer(r));
    now_ = now_ + Duration::ms(500);
    expire();
    ASSERT_EQ(sent_.size(), 1u);
    if (partials == wire::Partials::wide) {
      EXPECT_EQ(sent_[0].elements<std::int32_t>(), (std::vector<std::int32_t>{200, -6}));
    } else {
      EXPECT_EQ(sent_[0].elements<std::int8_t>(), (std::vector<std::int8_t>{127, -6}));
      EXPECT_NE(sent_[0].header.flags & wire::kFlagOverflow, 0u);
    }
  }
}

// O4 with O9's first mode: the sum goes to be verified and the slot is free at once.
TEST_F(EscalateTest, VerifiedResultComesBackThroughTheSwitch) {
  build_with([](config::JobConfig& job) { job.verify = true; }, 2);
  contribute(0, 0, {1});
  EXPECT_EQ(contribute(1, 0, {2}).verdict, Verdict::completed);
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].to, Outgoing::To::completion_host);
  EXPECT_EQ(sent_[0].header.reason, Reason::verify);
  EXPECT_EQ(sent_[0].header.covered, 2u);
  EXPECT_EQ(counters().slots_open.get(), 0u);
  EXPECT_EQ(engine_->chunk_state(0, 0, 0), ChunkState::sent);
  EXPECT_TRUE(host_result(0, 3, wire::kFlagVerified));
  EXPECT_EQ(sent_.at(0).to, Outgoing::To::job_group);
}

// Rule 7: the host answers at once, so where it has not, the sum is gone: the first rank to ask
// makes the chunk the host's, which asks all ranks for their data.
TEST_F(EscalateTest, SumThatTheHostRefusedIsMadeAgain) {
  build_with([](config::JobConfig& job) { job.verify = true; }, 2);
  contribute(0, 0, {1});
  contribute(1, 0, {2});
  EXPECT_EQ(probe(0, 0).verdict, Verdict::forwarded);
  ASSERT_EQ(sent_.size(), 2u);
  EXPECT_EQ(sent_[0].header.type, PacketType::escalation);
  EXPECT_EQ(sent_[0].header.covered, 0u);
  EXPECT_EQ(sent_[1].header.type, PacketType::probe);
  EXPECT_EQ(engine_->chunk_state(0, 0, 0), ChunkState::escalated);
  EXPECT_EQ(escalated(Reason::resend), 1u);
  EXPECT_EQ(contribute(0, 0, {1}, wire::kFlagResend).verdict, Verdict::forwarded);
  EXPECT_EQ(probe(1, 0).verdict, Verdict::forwarded);
  EXPECT_EQ(escalated(Reason::resend), 1u);
}

// O9's second mode: until the result returns the sum can be sent again, but no longer than the
// deadline.
TEST_F(EscalateTest, SlotIsHeldUntilTheResultReturns) {
  build_with(
      [](config::JobConfig& job) {
        job.verify = true;
        job.release = config::Release::returned;
      },
      2);
  contribute(0, 0, {1});
  contribute(1, 0, {2});
  EXPECT_EQ(counters().slots_open.get(), 1u);
  EXPECT_EQ(probe(0, 0).verdict, Verdict::answered);
  ASSERT_EQ(sent_.size(), 2u);  // the host had no room for the sum
  EXPECT_EQ(sent_[0].to, Outgoing::To::completion_host);
  EXPECT_EQ(sent_[0].elements<std::int32_t>(), std::vector<std::int32_t>{3});
  EXPECT_EQ(sent_[1].header.type, PacketType::pending);
  EXPECT_EQ(contribute(0, 0, {1}, wire::kFlagResend).verdict, Verdict::answered);
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_TRUE(host_result(0, 3));
  EXPECT_EQ(counters().slots_open.get(), 0u);

  contribute(0, 1, {1});
  contribute(1, 1, {2});
  now_ = now_ + Duration::ms(500);
  expire();
  EXPECT_EQ(counters().slots_open.get(), 0u);
  EXPECT_EQ(status().state, JobState::running);
  // Rule 7: what went up exists nowhere any more, so the data can be asked for again.
  EXPECT_EQ(contribute(0, 1, {1}, wire::kFlagResend).verdict, Verdict::forwarded);
  EXPECT_EQ(engine_->chunk_state(0, 0, 1), ChunkState::escalated);
  EXPECT_EQ(escalated(Reason::resend), 1u);
}

// Rule 1: survivors are told at once when a chunk needs the data of a rank that leaves, wherever
// the chunk is being made.
TEST_F(EscalateTest, LeavingWithDataOwedToAnEscalatedChunkEndsTheEpoch) {
  build_with(escalate_late);
  contribute(0, 0, {1});
  contribute(2, 0, {1});
  now_ = now_ + Duration::ms(500);
  expire();
  EXPECT_EQ(leave(2).verdict, Verdict::answered);  // the host has all that it needs of it
  EXPECT_EQ(leave(1).verdict, Verdict::epoch_aborted);
  EXPECT_EQ(sent_.at(0).header.reason, Reason::rank_left);
  EXPECT_EQ(sent_.at(0).missing(), (std::vector<std::uint32_t>{1, 2}));
}

TEST_F(EscalateTest, ChunkForTheHostAfterALeaveEndsTheEpoch) {
  build_with(escalate_late);
  leave(2);
  EXPECT_EQ(contribute(0, 0, {1}, wire::kFlagAtPs).verdict, Verdict::epoch_aborted);
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].header.reason, Reason::rank_left);
  EXPECT_EQ(sent_[0].missing(), std::vector<std::uint32_t>{2});
}

TEST_F(EscalateTest, BarrierIsEscalatedWithWhoHasArrived) {
  build_with(escalate_late);
  wire::Header h = data_header(1, 0, 0, wire::DType::none);
  h.collective = wire::Collective::barrier;
  deliver(h, peer(1));
  now_ = now_ + Duration::ms(500);
  expire();
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].header.covered, 1u);
  EXPECT_EQ(covered_by(sent_[0]), 0b010u);
  EXPECT_EQ(sent_[0].header.collective, wire::Collective::barrier);
}

}  // namespace
}  // namespace tributary::aggregator
