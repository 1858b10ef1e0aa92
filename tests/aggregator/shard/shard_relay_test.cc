// Chunks that a switch of a tree cannot finish go up to the completion engine, through every switch
// on the way, and the host's answers come down (T3, T5, T6, O6, O7, O9; rules 5, 6, 7, 8, 10, 11).
#include <gmock/gmock.h>

#include "core/wire/rank_bitmap.h"
#include "tests/aggregator/upstream_fixture.h"

namespace tributary::aggregator {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using wire::PacketType;

using Ranks = std::vector<std::uint32_t>;

Ranks coverage(const Sent& s) {
  std::uint64_t set = 0;
  EXPECT_TRUE(wire::read_rank_bitmaps(s.extensions, 64, std::span(&set, 1)));
  Ranks ranks;
  for (std::uint32_t rank = 0; rank < 64; ++rank)
    if ((set >> rank & 1) != 0) ranks.push_back(rank);
  return ranks;
}

// Ranks 0 and 2 of three, below a hand-made parent.
class LeafRelayTest : public LeafTest {
 protected:
  void build_and_run(const config::JobConfig& job) {
    build_leaf(job);
    run_epoch();
  }
  static config::JobConfig escalating() {
    config::JobConfig job = leaf_job();
    job.on_deadline = config::OnDeadline::escalate;
    return job;
  }
  void miss_the_deadline(std::uint32_t seq = 0) {
    contribute_worker(0, seq, 10);
    now_ = now_ + Duration::ms(500);
    expire();
  }
  Decision resend(std::uint32_t rank, std::uint32_t seq, std::int32_t value) {
    wire::Header h = from_worker(PacketType::contribution, rank);
    h.op = h.seq = seq;
    h.covered = 1;
    h.dtype = wire::DType::int32;
    h.element_count = 1;
    h.flags = wire::kFlagLast | wire::kFlagResend;
    return deliver({h, {}, std::as_bytes(std::span(&value, 1))}, place(rank));
  }
  // But for what keeps the lease.
  [[nodiscard]] std::vector<Sent> data_up() const {
    std::vector<Sent> found;
    for (const Sent& s : up())
      if (s.header.type != PacketType::lease) found.push_back(s);
    return found;
  }
  Decision say(PacketType type, std::uint32_t seq, std::uint32_t flags = 0,
               std::uint32_t origin = 0) {
    wire::Header h = from_parent(type, seq);
    h.flags = flags;
    h.origin = origin;
    return deliver(h, parent());
  }
};

TEST_F(LeafRelayTest, T3_AfterTheDeadlineWhatHasArrivedGoesUpWithWhoseItIs) {
  build_and_run(escalating());
  miss_the_deadline();
  ASSERT_THAT(data_up(), SizeIs(1));
  const Sent s = data_up()[0];
  EXPECT_EQ(s.header.type, PacketType::escalation);
  EXPECT_EQ(s.header.reason, wire::Reason::deadline);
  EXPECT_EQ(s.header.origin, kLeafId);
  EXPECT_EQ(s.header.child, 1);
  EXPECT_EQ(s.header.fan_in, 2);
  EXPECT_EQ(s.header.covered, 1u);
  EXPECT_THAT(coverage(s), ElementsAre(0));
  EXPECT_THAT(s.elements<std::int32_t>(), ElementsAre(10));
  EXPECT_EQ(counters().slots_open.get(), 0u) << "T22: its slot is free";
}

TEST_F(LeafRelayTest, T6_LateDataGoesUpFlaggedAndIsAddedToNothing) {
  build_and_run(escalating());
  miss_the_deadline();
  EXPECT_EQ(contribute_worker(2, 0, 5).verdict, Verdict::forwarded);
  ASSERT_THAT(sent_, SizeIs(1));
  const Sent& s = sent_[0];
  EXPECT_EQ(s.to, Outgoing::To::parent);
  EXPECT_EQ(s.header.type, PacketType::contribution);
  EXPECT_NE(s.header.flags & wire::kFlagBypass, 0u);
  EXPECT_EQ(s.header.origin, 2u) << "T5: the straggler's id";
  EXPECT_EQ(s.header.child, 1) << "the leaf's place above";
  EXPECT_EQ(s.header.fan_in, 2);
  EXPECT_THAT(s.elements<std::int32_t>(), ElementsAre(5));
}

TEST_F(LeafRelayTest, Rule5_TheResultOfAnEscalatedChunkIsKeptAndPassedOn) {
  build_and_run(escalating());
  miss_the_deadline();
  contribute_worker(2, 0, 5);
  EXPECT_EQ(result(0, 16).verdict, Verdict::completed);
  ASSERT_THAT(to(Outgoing::To::job_group), SizeIs(1));
  EXPECT_EQ(result(0, 17).reason, DropReason::duplicate);
  probe(2, 0);
  EXPECT_THAT(sent_[0].elements<std::int32_t>(), ElementsAre(16));
}

TEST_F(LeafRelayTest, Rule6_ProbesGoUpAndTheHostsWordComesDownToTheRank) {
  build_and_run(escalating());
  miss_the_deadline();
  EXPECT_EQ(probe(0, 0).verdict, Verdict::forwarded);
  ASSERT_THAT(up(), SizeIs(1));
  EXPECT_EQ(up()[0].header.type, PacketType::probe);
  EXPECT_NE(up()[0].header.flags & wire::kFlagBypass, 0u);
  EXPECT_EQ(up()[0].header.origin, 0u);
  EXPECT_EQ(up()[0].header.child, 1);
  say(PacketType::unknown, 0, wire::kFlagBypass, 2);
  ASSERT_THAT(sent_, SizeIs(1));
  EXPECT_EQ(sent_[0].to, Outgoing::To::peer);
  EXPECT_EQ(sent_[0].peer, place(2));
  EXPECT_EQ(sent_[0].header.type, PacketType::unknown);
  EXPECT_EQ(sent_[0].header.flags, 0u) << "to a worker like any other";
  say(PacketType::pending, 0, wire::kFlagBypass, 1);
  EXPECT_THAT(sent_, IsEmpty()) << "rank 1 is elsewhere";
}

TEST_F(LeafRelayTest, Rule7_ASumThatIsFreedAndLostIsAskedForAgain) {
  config::JobConfig job = leaf_job();
  job.release = config::Release::sent;
  build_and_run(job);
  contribute_worker(0, 0, 10);
  EXPECT_EQ(contribute_worker(2, 0, 5).verdict, Verdict::sent_up);
  EXPECT_EQ(up()[0].header.type, PacketType::aggregate);
  EXPECT_THAT(up()[0].elements<std::int32_t>(), ElementsAre(15));
  EXPECT_EQ(counters().slots_open.get(), 0u) << "O9, first mode";
  say(PacketType::unknown, 0);
  ASSERT_THAT(up(), SizeIs(1));
  EXPECT_EQ(up()[0].header.type, PacketType::escalation);
  EXPECT_EQ(up()[0].header.covered, 0u);
  EXPECT_THAT(up()[0].payload, IsEmpty());
  ASSERT_THAT(to(Outgoing::To::peer), SizeIs(2)) << "both ranks are asked";
  EXPECT_EQ(to(Outgoing::To::peer)[0].header.type, PacketType::unknown);
  EXPECT_EQ(to(Outgoing::To::peer)[0].header.reason, wire::Reason::resend);
  for (const std::uint32_t rank : {0u, 2u}) {
    EXPECT_EQ(resend(rank, 0, 7).verdict, Verdict::forwarded);
    EXPECT_EQ(up()[0].header.origin, rank);
    EXPECT_NE(up()[0].header.flags & wire::kFlagResend, 0u);
  }
  EXPECT_EQ(result(0, 20).verdict, Verdict::completed);
}

TEST_F(LeafRelayTest, O9_ASlotThatIsHeldIsFreeWhenTheResultReturns) {
  config::JobConfig job = leaf_job();
  job.release = config::Release::returned;
  build_and_run(job);
  contribute_worker(0, 0, 10);
  contribute_worker(2, 0, 5);
  EXPECT_EQ(counters().slots_open.get(), 1u);
  say(PacketType::unknown, 0);
  EXPECT_THAT(up()[0].elements<std::int32_t>(), ElementsAre(15)) << "it is sent again";
  result(0, 16);
  EXPECT_EQ(counters().slots_open.get(), 0u);
}

TEST_F(LeafRelayTest, O9_TheWaitForTheResultIsBoundedByTheDeadline) {
  config::JobConfig job = leaf_job();
  job.release = config::Release::returned;
  build_and_run(job);
  contribute_worker(0, 0, 10);
  contribute_worker(2, 0, 5);
  now_ = now_ + Duration::ms(499);
  result(77, 0);
  expire();
  EXPECT_EQ(counters().slots_open.get(), 1u);
  now_ = now_ + Duration::ms(1);
  expire();
  EXPECT_EQ(counters().slots_open.get(), 0u);
  say(PacketType::unknown, 0);
  EXPECT_EQ(up()[0].header.covered, 0u) << "nothing is left of it: the ranks are asked";
}

TEST_F(LeafRelayTest, Rule5_WhatWasGivenUpAboveIsFollowedByWhatIsHere) {
  config::JobConfig job = leaf_job();
  job.release = config::Release::returned;
  build_and_run(job);
  contribute_worker(0, 0, 10);
  contribute_worker(2, 0, 5);
  say(PacketType::escalation, 0);
  ASSERT_THAT(up(), SizeIs(1));
  EXPECT_EQ(up()[0].header.type, PacketType::escalation);
  EXPECT_THAT(coverage(up()[0]), ElementsAre(0, 2));
  EXPECT_THAT(up()[0].elements<std::int32_t>(), ElementsAre(15));
  EXPECT_EQ(engine_->chunk_state(0, 0, 0), ChunkState::escalated);
  say(PacketType::escalation, 0);
  EXPECT_THAT(sent_, IsEmpty());
}

TEST_F(LeafRelayTest, Rule5_TheHostsWordForARankSaysThatTheChunkIsEscalated) {
  config::JobConfig job = leaf_job();
  job.release = config::Release::sent;
  build_and_run(job);
  contribute_worker(0, 0, 10);
  contribute_worker(2, 0, 5);
  EXPECT_EQ(resend(2, 0, 5).reason, DropReason::duplicate);
  say(PacketType::unknown, 0, wire::kFlagBypass, 2);
  EXPECT_EQ(to(Outgoing::To::peer)[0].peer, place(2));
  EXPECT_EQ(resend(2, 0, 5).verdict, Verdict::forwarded);
}

TEST_F(LeafRelayTest, OnlyTheParentCanSayThatAChunkIsEscalatedAbove) {
  build_and_run(leaf_job());
  contribute_worker(0, 0, 10);
  contribute_worker(2, 0, 5);
  wire::Header h = from_parent(PacketType::escalation, 0);
  wire::UdpPeer forged = parent();
  forged.port = 2;
  EXPECT_EQ(deliver(h, forged).verdict, Verdict::refused);
  EXPECT_EQ(deliver(from_worker(PacketType::escalation, 0), place(0)).reason, DropReason::bad_type);
  EXPECT_EQ(engine_->chunk_state(0, 0, 0), ChunkState::sent);
}

TEST_F(LeafRelayTest, O8_ACollisionGoesUpAndTheSeedIsThisSwitchsOwn) {
  config::JobConfig job = leaf_job();
  job.slots = config::SlotMode::dynamic;
  job.quota = 1;
  build_and_run(job);
  contribute_worker(0, 0, 10);
  EXPECT_EQ(contribute_worker(0, 1, 11).verdict, Verdict::forwarded);
  ASSERT_THAT(up(), SizeIs(2));
  EXPECT_EQ(up()[0].header.type, PacketType::escalation);
  EXPECT_EQ(up()[0].header.covered, 0u);
  EXPECT_EQ(up()[0].header.reason, wire::Reason::no_slot);
  EXPECT_NE(up()[1].header.flags & wire::kFlagCollision, 0u);
  EXPECT_EQ(contribute_worker(2, 1, 4).verdict, Verdict::forwarded) << "follows the first";
}

TEST_F(LeafRelayTest, T15_AReproducibleChunkGoesUpAsPrefixAndSingles) {
  config::JobConfig job = escalating();
  job.order = wire::Order::reproducible;
  job.children = {{false, 0, 0, "p0", {0}}, {false, 1, 0, "p2", {1}}, {false, 2, 0, "p1", {2}}};
  build_leaf(job);
  join(0, 0, peer(0));
  join(1, 0, peer(2));
  join(2, 0, peer(1));
  start_info_.order = 1;
  const std::uint64_t nonce = join_nonce();
  epoch_ = 500;
  start(epoch_, nonce);
  const auto give = [&](std::uint32_t rank, const Endpoint& from, std::int32_t value) {
    wire::Header h = header(PacketType::contribution, rank);
    h.fan_in = 3;
    h.covered = 1;
    h.dtype = wire::DType::int32;
    h.element_count = 1;
    h.flags = wire::kFlagLast;
    return deliver({h, {}, std::as_bytes(std::span(&value, 1))}, from);
  };
  EXPECT_EQ(give(0, peer(0), 10).verdict, Verdict::opened);
  EXPECT_EQ(give(2, peer(1), 30).verdict, Verdict::folded);
  now_ = now_ + Duration::ms(500);
  expire();
  ASSERT_THAT(data_up(), SizeIs(2));
  EXPECT_THAT(coverage(data_up()[0]), ElementsAre(0));
  const Sent held = data_up()[1];
  EXPECT_EQ(held.header.type, PacketType::contribution);
  EXPECT_EQ(held.header.origin, 2u);
  EXPECT_NE(held.header.flags & wire::kFlagRaw, 0u);
  EXPECT_THAT(held.elements<std::int32_t>(), ElementsAre(30));
}

// Leaf 201 with ranks 0 and 2, and rank 1.
class RootRelayTest : public RootTest {
 protected:
  void SetUp() override {
    RootTest::SetUp();
    run_epoch();
  }
  [[nodiscard]] std::vector<Sent> host() const {
    std::vector<Sent> found;
    for (const Sent& s : sent_)
      if (s.to == Outgoing::To::completion_host) found.push_back(s);
    return found;
  }
  Decision escalation(std::uint32_t seq, const Ranks& ranks, std::int32_t value,
                      std::uint32_t covered) {
    std::array<std::byte, 64> room;
    wire::ExtensionWriter ext(room);
    std::uint64_t set = 0;
    for (const std::uint32_t rank : ranks) set |= 1ULL << rank;
    wire::add_rank_bitmaps(ext, std::span(&set, 1));
    wire::Header h = sum_header(seq);
    h.type = PacketType::escalation;
    h.flags = wire::kFlagLast;
    h.reason = wire::Reason::deadline;
    h.covered = covered;
    return deliver({h, ext.bytes(), std::as_bytes(std::span(&value, 1))}, leaf());
  }
  Decision announcement(std::uint32_t seq) {
    wire::Header h = from_leaf(PacketType::escalation);
    h.op = h.seq = seq;
    h.reason = wire::Reason::collision;
    return deliver(h, leaf());
  }
  Decision relayed(std::uint32_t rank, std::uint32_t seq, std::int32_t value,
                   std::uint32_t flags = 0) {
    wire::Header h = sum_header(seq);
    h.type = PacketType::contribution;
    h.origin = rank;
    h.covered = 1;
    h.flags = wire::kFlagLast | wire::kFlagBypass | flags;
    return deliver({h, {}, std::as_bytes(std::span(&value, 1))}, leaf());
  }
  Decision relayed_probe(std::uint32_t rank, std::uint32_t seq) {
    wire::Header h = from_leaf(PacketType::probe);
    h.op = h.seq = seq;
    h.origin = rank;
    h.flags = wire::kFlagBypass;
    return deliver(h, leaf());
  }
};

TEST_F(RootRelayTest, Rule5_AnOpenChunkIsGivenUpWhenASwitchBelowGivesItUp) {
  contribution(0, 100);
  EXPECT_EQ(escalation(0, {0}, 10, 1).verdict, Verdict::forwarded);
  ASSERT_THAT(host(), SizeIs(2));
  EXPECT_THAT(coverage(host()[0]), ElementsAre(1)) << "what the root held";
  EXPECT_THAT(host()[0].elements<std::int32_t>(), ElementsAre(100));
  EXPECT_THAT(coverage(host()[1]), ElementsAre(0));
  EXPECT_THAT(host()[1].elements<std::int32_t>(), ElementsAre(10));
  EXPECT_EQ(counters().slots_open.get(), 0u);
  EXPECT_EQ(relayed(2, 0, 5).verdict, Verdict::forwarded);
  ASSERT_THAT(host(), SizeIs(1));
  EXPECT_EQ(host()[0].header.origin, 2u);
}

TEST_F(RootRelayTest, T7_Rule5_AChunkThatIsEscalatedBelowIsNotOpened) {
  EXPECT_EQ(announcement(0).verdict, Verdict::forwarded);
  EXPECT_EQ(engine_->chunk_state(0, 0, 0), ChunkState::escalated);
  EXPECT_EQ(contribution(0, 100).verdict, Verdict::forwarded);
  EXPECT_EQ(counters().slots_open.get(), 0u);
}

TEST_F(RootRelayTest, Rule10_AWholeSumOfAnEscalatedChunkGoesOnWithItsRanks) {
  announcement(0);
  EXPECT_EQ(aggregate(sum_header(0), 15).verdict, Verdict::forwarded);
  ASSERT_THAT(host(), SizeIs(1));
  EXPECT_EQ(host()[0].header.type, PacketType::escalation);
  EXPECT_EQ(host()[0].header.covered, 2u);
  EXPECT_THAT(coverage(host()[0]), ElementsAre(0, 2));
  EXPECT_THAT(host()[0].elements<std::int32_t>(), ElementsAre(15));
}

TEST_F(RootRelayTest, Rule10_ASwitchSpeaksForTheRanksBehindItOnly) {
  EXPECT_EQ(escalation(0, {0, 1}, 10, 2).reason, DropReason::bad_coverage) << "1 hangs on the root";
  EXPECT_EQ(escalation(0, {0, 2}, 10, 1).reason, DropReason::bad_coverage) << "a wrong count";
  EXPECT_EQ(escalation(0, {0}, 10, 2).reason, DropReason::bad_coverage);
  EXPECT_EQ(escalation(0, {0, 40}, 10, 2).reason, DropReason::bad_extension) << "outside the job";
  EXPECT_EQ(relayed(1, 0, 10).verdict, Verdict::refused);
  EXPECT_EQ(relayed(7, 0, 10).verdict, Verdict::refused);
  wire::Header h = sum_header(0);
  h.type = PacketType::escalation;
  h.child = 1;
  h.origin = 1;
  EXPECT_EQ(deliver({h, {}, {}}, worker()).reason, DropReason::bad_type) << "a worker is no switch";
  EXPECT_EQ(engine_->chunk_state(0, 0, 0), ChunkState::unseen);
}

TEST_F(RootRelayTest, T6_WhatIsCoveredAlreadyIsDroppedAndCounted) {
  aggregate(sum_header(0), 15);
  for (const Decision d : {announcement(0), escalation(0, {0}, 10, 1), relayed(2, 0, 5)})
    EXPECT_EQ(d.reason, DropReason::duplicate);
  EXPECT_EQ(counters().duplicates.get(), 3u);
  EXPECT_EQ(contribution(0, 100).verdict, Verdict::completed);
  EXPECT_THAT(sent_[0].elements<std::int32_t>(), ElementsAre(115));
  EXPECT_EQ(relayed(2, 0, 5, wire::kFlagResend).verdict, Verdict::answered);
  EXPECT_THAT(sent_[0].elements<std::int32_t>(), ElementsAre(115));
  EXPECT_EQ(sent_[0].peer, leaf());
}

TEST_F(RootRelayTest, Rule6_AProbeForARankBelowIsAnsweredForThatRank) {
  EXPECT_EQ(relayed_probe(2, 0).verdict, Verdict::answered);
  EXPECT_EQ(sent_[0].header.type, PacketType::unknown);
  EXPECT_EQ(sent_[0].header.origin, 2u);
  EXPECT_NE(sent_[0].header.flags & wire::kFlagBypass, 0u);
  EXPECT_EQ(sent_[0].peer, leaf());
  aggregate(sum_header(0), 15);
  relayed_probe(2, 0);
  EXPECT_EQ(sent_[0].header.type, PacketType::pending);
  EXPECT_THAT(sent_[0].missing(), ElementsAre(1));
  announcement(1);
  EXPECT_EQ(relayed_probe(2, 1).verdict, Verdict::forwarded);
  EXPECT_EQ(host()[0].header.origin, 2u);
}

TEST_F(RootRelayTest, Rule6_TheHostsWordGoesToTheSwitchThatTheRankIsBehind) {
  announcement(0);
  wire::Header h;
  h.type = PacketType::unknown;
  h.job = kJob;
  h.epoch = epoch_;
  h.origin = 2;
  sent_.clear();
  EXPECT_TRUE(engine_->on_host_packet({h, {}, {}}, now_, *outbox_));
  collect();
  ASSERT_THAT(sent_, SizeIs(1));
  EXPECT_EQ(sent_[0].peer, leaf());
  EXPECT_EQ(sent_[0].header.origin, 2u);
  EXPECT_NE(sent_[0].header.flags & wire::kFlagBypass, 0u);
}

TEST_F(RootRelayTest, Rule6_ASwitchThatAsksForItsSumLearnsThatItLacksOrIsEscalated) {
  announcement(0);
  for (const PacketType answer : {PacketType::unknown, PacketType::escalation}) {
    EXPECT_EQ(deliver(from_leaf(PacketType::probe), leaf()).verdict, Verdict::answered);
    ASSERT_THAT(sent_, SizeIs(1));
    EXPECT_EQ(sent_[0].peer, leaf());
    EXPECT_EQ(sent_[0].header.type, answer);
    aggregate(sum_header(0), 15);
  }
}

TEST_F(RootRelayTest, RanksBelowThatDisagreeAreFoundOut) {
  contribution(0, 100);
  wire::Header h = sum_header(0);
  h.type = PacketType::contribution;
  h.origin = 2;
  h.covered = 1;
  h.reduce_op = wire::ReduceOp::max;
  h.flags = wire::kFlagLast | wire::kFlagBypass;
  const std::int32_t value = 5;
  EXPECT_EQ(deliver({h, {}, std::as_bytes(std::span(&value, 1))}, leaf()).verdict,
            Verdict::epoch_aborted);
  // An announcement does not say what the chunk is: the first data does.
  SetUp();
  announcement(0);
  EXPECT_EQ(contribution(0, 100).verdict, Verdict::forwarded);
  EXPECT_EQ(deliver({h, {}, std::as_bytes(std::span(&value, 1))}, leaf()).verdict,
            Verdict::epoch_aborted);
}

TEST_F(RootRelayTest, O4_AVerifiedSumCoversTheRanksOfEveryChild) {
  config::JobConfig job = root_job();
  job.verify = true;
  build(test_switch({job}));
  run_epoch();
  aggregate(sum_header(0), 15);
  contribution(0, 100);
  ASSERT_THAT(host(), SizeIs(1));
  EXPECT_EQ(host()[0].header.covered, 3u);
  EXPECT_THAT(coverage(host()[0]), ElementsAre(0, 1, 2));
}

// T10: a host elsewhere may have lost the sum; a rank below that was asked for its data says so.
TEST_F(RootRelayTest, O4_ASumThatTheHostLacksIsAskedForBelow) {
  for (const auto release : {config::Release::sent, config::Release::returned}) {
    config::JobConfig job = root_job();
    job.verify = true;
    job.release = release;
    build(test_switch({job}));
    run_epoch();
    engine_->set_completion_host(kJob, 0, 0x0A020001, 1);
    aggregate(sum_header(0), 15);
    contribution(0, 100);
    EXPECT_EQ(relayed_probe(2, 0).verdict, Verdict::forwarded);
    EXPECT_EQ(relayed(2, 0, 5).reason, DropReason::duplicate) << "nobody has asked for it";
    relayed(2, 0, 5, wire::kFlagResend);
    if (release == config::Release::returned) {
      ASSERT_THAT(host(), SizeIs(1));
      EXPECT_THAT(coverage(host()[0]), ElementsAre(0, 1, 2)) << "the sum is still here";
      EXPECT_EQ(engine_->chunk_state(0, 0, 0), ChunkState::sent);
      continue;
    }
    ASSERT_THAT(host(), SizeIs(2)) << "an announcement, and the data";
    EXPECT_EQ(host()[1].header.origin, 2u);
    EXPECT_EQ(engine_->chunk_state(0, 0, 0), ChunkState::escalated);
  }
}

TEST_F(RootRelayTest, T15_AValueOfASubtreeThatMayNotBeAddedYetGoesOnByItself) {
  config::JobConfig job = root_job();
  job.order = wire::Order::reproducible;
  job.on_deadline = config::OnDeadline::escalate;
  job.child_order = config::Bracket{{config::Bracket{{}, 1}, config::Bracket{{}, 0}}, 0};
  build(test_switch({job}));
  run_epoch();
  aggregate(sum_header(0), 15);
  now_ = now_ + Duration::ms(500);
  expire();
  ASSERT_THAT(host(), SizeIs(2));
  EXPECT_EQ(host()[0].header.covered, 0u) << "rank 1 comes first";
  EXPECT_EQ(host()[1].header.type, PacketType::escalation);
  EXPECT_THAT(coverage(host()[1]), ElementsAre(0, 2));
  EXPECT_THAT(host()[1].elements<std::int32_t>(), ElementsAre(15));
}

}  // namespace
}  // namespace tributary::aggregator
