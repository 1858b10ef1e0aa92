// A switch below another one (T1, O12): its epoch follows its parent's; which sums go up and are
// kept until the result returns; and how each lost packet is made good.
#include <gmock/gmock.h>

#include "core/net/udp_peer.h"
#include "tests/aggregator/upstream_fixture.h"

namespace tributary::aggregator {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;
using testing::SizeIs;
using wire::PacketType;

TEST_F(LeafTest, Rule1_JoinsItsParentWhenAllItsChildrenHaveJoined) {
  join_worker(0);
  EXPECT_THAT(up(), Each(Field(&Sent::header, Field(&wire::Header::type, PacketType::pending))));
  EXPECT_THAT(sent_[0].missing(), ElementsAre(2));
  join_worker(2);
  ASSERT_THAT(up(), SizeIs(1));
  const wire::Header h = up()[0].header;
  EXPECT_EQ(h.type, PacketType::join);
  EXPECT_EQ(h.epoch, 0);
  EXPECT_EQ(h.origin, kLeafId);
  EXPECT_EQ(h.child, 1);
  EXPECT_EQ(h.fan_in, 2);
  EXPECT_EQ(h.covered, 2u);
  EXPECT_EQ(h.flags, wire::kFlagCompleteSubtree);
  EXPECT_EQ(status().state, JobState::forming);
  EXPECT_EQ(status().upstream->state, "joining");
}

TEST_F(LeafTest, Rule1_ChildrensJoinsRepeatItsOwnNotMoreOftenThanEvery50ms) {
  join_worker(0);
  join_worker(2);
  const std::uint64_t nonce = join_nonce();
  now_ = now_ + Duration::ms(49);
  join_worker(0);
  EXPECT_THAT(up(), IsEmpty());
  now_ = now_ + Duration::ms(1);
  join_worker(2);
  EXPECT_EQ(join_nonce(), nonce);
}

// T9: of a host that notifies ranks itself, from which they hear results directly.
TEST_F(LeafTest, T9_StartPassesTheUdpPortOfTheHostOn) {
  host_udp_port_ = 47123;
  run_epoch();
  EXPECT_THAT(sent_, Each(Field(&Sent::header, Field(&wire::Header::slot, 47123u))));
}

TEST_F(LeafTest, Rule1_StartOfTheParentStartsTheSameEpochHere) {
  join_worker(0);
  join_worker(2);
  const std::uint64_t nonce = join_nonce();
  EXPECT_EQ(start(500, nonce + 1).reason, DropReason::stale_epoch);
  start(500, nonce, 77);
  ASSERT_THAT(sent_, SizeIs(2));
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(sent_[i].header.type, PacketType::start);
    EXPECT_EQ(sent_[i].header.epoch, 500);
    EXPECT_EQ(sent_[i].header.seq, 77u);
    EXPECT_EQ(sent_[i].header.child, i);
    EXPECT_EQ(sent_[i].header.fan_in, 2);
    EXPECT_EQ(sent_[i].header.origin, 2 * i);
    EXPECT_EQ(wire::find_start_info(sent_[i].extensions)->workers, 3u);
  }
  EXPECT_EQ(status().epoch, 500);
  EXPECT_EQ(start(500, nonce).verdict, Verdict::answered) << "it may come twice: a question";
  ASSERT_THAT(up(), SizeIs(1));
  EXPECT_EQ(up()[0].header.type, PacketType::lease);
}

TEST_F(LeafTest, Rule16_StartHasNoEffectWhileAShardIsAwayNorDoResults) {
  join_worker(0);
  join_worker(2);
  const std::uint64_t nonce = join_nonce();
  epoch_ = 500;
  auto shard = engine_->hand_over(0);
  EXPECT_EQ(start(500, nonce).reason, DropReason::bad_shard);
  EXPECT_EQ(status().state, JobState::forming);
  engine_->take_back(shard, *outbox_);
  now_ = now_ + Duration::ms(50);
  join_worker(0);
  EXPECT_EQ(join_nonce(), nonce) << "is asked for again";
  EXPECT_EQ(start(500, nonce).verdict, Verdict::answered);
  shard = engine_->hand_over(0);
  EXPECT_EQ(result(0, 1).reason, DropReason::bad_shard);
  engine_->take_back(shard, *outbox_);
}

TEST_F(LeafTest, Rule1_OnlyTheParentsPlaceMayStart) {
  join_worker(0);
  join_worker(2);
  const std::uint64_t nonce = join_nonce();
  std::array<std::byte, 128> room;
  wire::ExtensionWriter ext(room);
  ext.add_nonce(nonce);
  ext.add(wire::StartInfo{});
  wire::Header h = from_parent(PacketType::start);
  h.epoch = 500;
  std::array<wire::UdpPeer, 3> forged = {parent(), parent(), parent()};
  forged[0].port = 2;
  forged[1].ipv4 += 1;
  forged[2].mac[5] = 1;
  for (const wire::UdpPeer& from : forged)
    EXPECT_EQ(deliver({h, ext.bytes(), {}}, from).reason, DropReason::sender_mismatch);
  EXPECT_EQ(status().state, JobState::forming);
}

TEST_F(LeafTest, ChildrenLearnWhomTheParentWaitsFor) {
  join_worker(0);
  join_worker(2);
  std::array<std::byte, 64> room;
  wire::ExtensionWriter ext(room);
  ext.add_nonce(join_nonce());
  ext.add_missing_ids(std::array{1u});
  wire::Header h = from_parent(PacketType::pending);
  h.epoch = 0;
  EXPECT_EQ(deliver({h, ext.bytes(), {}}, parent()).verdict, Verdict::noted);
  join_worker(0);
  EXPECT_THAT(sent_[0].missing(), ElementsAre(1));
}

// Two files for one tree: no rank may compute anything with them.
TEST_F(LeafTest, OtherSettingsAboveAreGivenBackAndChildrenRefused) {
  using Change = void (*)(wire::StartInfo&);
  const Change changes[] = {
      [](wire::StartInfo& i) { i.window = 8; },     [](wire::StartInfo& i) { i.chunk_bytes = 32; },
      [](wire::StartInfo& i) { i.workers = 4; },    [](wire::StartInfo& i) { i.shards = 2; },
      [](wire::StartInfo& i) { i.lease_ms = 900; }, [](wire::StartInfo& i) { i.integrity = 1; },
      [](wire::StartInfo& i) { i.partials = 1; },   [](wire::StartInfo& i) { i.order = 1; },
      [](wire::StartInfo& i) { i.arithmetic = 1; }, [](wire::StartInfo& i) { i.group_ipv4 += 1; },
  };
  for (const Change change : changes) {
    SetUp();
    now_ = now_ + Duration::seconds(1);
    join_worker(0);
    join_worker(2);
    start_info_ = settings();
    change(start_info_);
    start(500, join_nonce());
    ASSERT_THAT(sent_, SizeIs(1));
    EXPECT_EQ(sent_[0].to, Outgoing::To::parent);
    EXPECT_EQ(sent_[0].header.type, PacketType::abort);
    EXPECT_EQ(sent_[0].header.reason, wire::Reason::settings_mismatch);
    EXPECT_EQ(sent_[0].header.slot, kLeafId);
    EXPECT_EQ(status().state, JobState::forming);
    join_worker(0);
    EXPECT_EQ(sent_[0].header.type, PacketType::nack);
    EXPECT_EQ(sent_[0].header.reason, wire::Reason::settings_mismatch);
    // Not for ever: the file may have been mended.
    now_ = now_ + Duration::ms(500);
    join_worker(0);
    EXPECT_EQ(sent_[0].header.type, PacketType::pending);
  }
}

TEST_F(LeafTest, RefusalsAreNotRefused) {
  for (const PacketType type : {PacketType::nack, PacketType::abort, PacketType::result}) {
    wire::Header h = from_parent(type);
    h.job = 99;
    EXPECT_EQ(deliver(h, parent()).reason, DropReason::unknown_job);
    EXPECT_THAT(sent_, IsEmpty()) << "or two switches would go on for ever";
  }
}

// Where a tree changes, a switch that was above may say why its epoch has ended, of the number that
// the last one here had.
TEST_F(LeafTest, Rule16_AnAbortFromASwitchThatIsAboveNoMoreIsNotAnswered) {
  run_epoch();
  abort_from_parent(wire::Reason::lease_expired, {1});
  wire::Header h = from_parent(PacketType::abort);
  h.epoch = status().epoch;
  h.reason = wire::Reason::lease_expired;
  const wire::UdpPeer once_above = {3, 47000, kParentIpv4 + 1, std::nullopt, {2, 10}};
  EXPECT_EQ(deliver(h, once_above).reason, DropReason::bad_type);
  EXPECT_THAT(sent_, IsEmpty()) << "or the two would answer each other for ever";
  h.origin = kParentId;
  EXPECT_EQ(deliver(h, once_above).reason, DropReason::aborted);
  EXPECT_THAT(sent_, SizeIs(1)) << "one that goes up names its sender";
}

TEST_F(LeafTest, ChildrenLearnWhyTheParentRefuses) {
  join_worker(0);
  join_worker(2);
  std::array<std::byte, 64> room;
  wire::ExtensionWriter ext(room);
  ext.add_nonce(join_nonce());
  wire::Header h = from_parent(PacketType::nack);
  h.epoch = 0;
  h.reason = wire::Reason::unknown_job;
  deliver({h, ext.bytes(), {}}, parent());
  join_worker(0);
  EXPECT_EQ(sent_[0].header.type, PacketType::nack);
  EXPECT_EQ(sent_[0].header.reason, wire::Reason::unknown_job);
}

TEST_F(LeafTest, O12_ACompleteSumGoesUpAndSaysWhatItCovers) {
  run_epoch();
  EXPECT_EQ(contribute_worker(2, 0, 5).verdict, Verdict::opened);
  EXPECT_THAT(sent_, IsEmpty());
  EXPECT_EQ(contribute_worker(0, 0, 7).verdict, Verdict::sent_up);
  ASSERT_THAT(sent_, SizeIs(1));
  const Sent& s = sent_[0];
  EXPECT_EQ(s.to, Outgoing::To::parent);
  EXPECT_EQ(s.header.type, PacketType::aggregate);
  EXPECT_EQ(s.header.origin, kLeafId);
  EXPECT_EQ(s.header.child, 1);
  EXPECT_EQ(s.header.fan_in, 2);
  EXPECT_EQ(s.header.covered, 2u);
  EXPECT_EQ(s.header.flags, wire::kFlagCompleteSubtree | wire::kFlagLast);
  EXPECT_THAT(s.elements<std::int32_t>(), ElementsAre(12));
  EXPECT_EQ(engine_->chunk_state(0, 0, 0), ChunkState::sent);
  EXPECT_EQ(counters().slots_open.get(), 1u) << "O9: until the result returns";
}

TEST_F(LeafTest, O9_TheResultTakesTheSumsPlaceAndGoesToTheChildren) {
  run_epoch();
  contribute_worker(0, 0, 7);
  contribute_worker(2, 0, 5);
  EXPECT_EQ(result(0, 100).verdict, Verdict::completed);
  ASSERT_THAT(sent_, SizeIs(1));
  EXPECT_EQ(sent_[0].to, Outgoing::To::job_group);
  EXPECT_THAT(sent_[0].elements<std::int32_t>(), ElementsAre(100));
  EXPECT_EQ(sent_[0].header.covered, 3u);
  EXPECT_EQ(engine_->chunk_state(0, 0, 0), ChunkState::complete);
  EXPECT_EQ(result(0, 101).reason, DropReason::duplicate);
  probe(0, 0);
  EXPECT_THAT(sent_[0].elements<std::int32_t>(), ElementsAre(100));
}

TEST_F(LeafTest, Rule5_AResultThatDoesNotFitIsNotTaken) {
  run_epoch();
  contribute_worker(0, 0, 7);
  EXPECT_EQ(result(0, 100).reason, DropReason::duplicate) << "of a chunk that is still open";
  contribute_worker(2, 0, 5);
  EXPECT_EQ(result(0, 100, 2).reason, DropReason::op_mismatch) << "not of all workers";
  EXPECT_EQ(result(1, 100).reason, DropReason::beyond_window) << "of a chunk never sent";
  epoch_ = 499;
  EXPECT_EQ(result(0, 100).reason, DropReason::stale_epoch) << "of an older epoch";
  EXPECT_EQ(engine_->chunk_state(0, 0, 0), ChunkState::sent);
}

TEST_F(LeafTest, Rule6_AProbeOfASentChunkGoesUpOnceEvery2ms) {
  run_epoch();
  contribute_worker(0, 0, 7);
  contribute_worker(2, 0, 5);
  probe(0, 0);
  EXPECT_THAT(up(), IsEmpty());
  now_ = now_ + Duration::ms(2);
  probe(0, 0);
  ASSERT_THAT(up(), SizeIs(1));
  EXPECT_EQ(up()[0].header.type, PacketType::probe);
  EXPECT_EQ(up()[0].header.origin, kLeafId);
  EXPECT_THAT(to(Outgoing::To::peer), IsEmpty()) << "the parent's word is the answer";
  probe(2, 0);
  EXPECT_THAT(sent_, IsEmpty());
  deliver(from_parent(PacketType::pending, 0), parent());
  probe(2, 0);
  EXPECT_EQ(sent_.at(0).header.type, PacketType::pending);
}

TEST_F(LeafTest, Rule7_UnknownFromTheParentSendsTheSumAgain) {
  run_epoch();
  contribute_worker(0, 0, 7);
  contribute_worker(2, 0, 5);
  EXPECT_EQ(deliver(from_parent(PacketType::unknown, 0), parent()).verdict, Verdict::answered);
  ASSERT_THAT(up(), SizeIs(1));
  EXPECT_EQ(up()[0].header.type, PacketType::aggregate);
  EXPECT_NE(up()[0].header.flags & wire::kFlagResend, 0u);
  EXPECT_THAT(up()[0].elements<std::int32_t>(), ElementsAre(12));
  result(0, 100);
  EXPECT_EQ(deliver(from_parent(PacketType::unknown, 0), parent()).reason, DropReason::duplicate);
}

TEST_F(LeafTest, Rule6_WhomTheParentWaitsForReachesTheAsker) {
  run_epoch();
  contribute_worker(0, 0, 7);
  contribute_worker(2, 0, 5);
  std::array<std::byte, 64> room;
  wire::ExtensionWriter ext(room);
  ext.add_missing_ids(std::array{1u});
  deliver({from_parent(PacketType::pending, 0), ext.bytes(), {}}, parent());
  probe(0, 0);
  EXPECT_THAT(sent_[0].missing(), ElementsAre(1));
}

TEST_F(LeafTest, Rule4_AcknowledgesUpwardsWhatItHolds) {
  run_epoch();
  contribute_worker(0, 0, 7);
  contribute_worker(2, 0, 5);
  result(0, 100);
  wire::Header ack = from_worker(PacketType::ack, 0);
  ack.seq = 1;
  deliver(ack, place(0));
  ASSERT_THAT(up(), SizeIs(1));
  EXPECT_EQ(up()[0].header.type, PacketType::ack);
  EXPECT_EQ(up()[0].header.seq, 1u);
  ack.child = 1;
  ack.origin = 2;
  deliver(ack, place(2));
  EXPECT_THAT(up(), IsEmpty()) << "nothing new";
}

TEST_F(LeafTest, Rule1_TheParentsAbortEndsTheEpochHereForTheSameCause) {
  run_epoch();
  EXPECT_EQ(abort_from_parent(wire::Reason::lease_expired, {1, 9}).verdict, Verdict::epoch_aborted);
  ASSERT_THAT(sent_, SizeIs(1)) << "children are told, the parent knows";
  EXPECT_EQ(sent_[0].to, Outgoing::To::job_group);
  EXPECT_EQ(sent_[0].header.reason, wire::Reason::lease_expired);
  EXPECT_THAT(sent_[0].missing(), ElementsAre(1)) << "9 is no rank of the job";
  EXPECT_EQ(status().state, JobState::aborted);
}

TEST_F(LeafTest, Rule1_WhatEndsTheEpochHereGoesUpThreeTimes) {
  run_epoch();
  contribute_worker(0, 0, 7);
  now_ = now_ + Duration::ms(500);
  expire();
  ASSERT_THAT(up(), SizeIs(1));
  EXPECT_EQ(up()[0].header.reason, wire::Reason::deadline);
  EXPECT_THAT(up()[0].missing(), ElementsAre(2));
  for (int again = 0; again < 2; ++again) {
    now_ = now_ + Duration::ms(20);
    expire();
    EXPECT_THAT(up(), SizeIs(1));
  }
  now_ = now_ + Duration::ms(20);
  expire();
  EXPECT_THAT(up(), IsEmpty());
}

TEST_F(LeafTest, Rule1_AFarewellEndsWithTheParentsAnswer) {
  run_epoch();
  join_worker(0, 1);
  ASSERT_THAT(up(), SizeIs(1));
  EXPECT_EQ(up()[0].header.type, PacketType::abort);
  EXPECT_EQ(up()[0].header.epoch, 500);
  EXPECT_EQ(up()[0].header.reason, wire::Reason::rank_restarted);
  EXPECT_THAT(up()[0].missing(), ElementsAre(0));
  expire();
  now_ = now_ + Duration::ms(20);
  expire();
  EXPECT_THAT(up(), SizeIs(1));
  abort_from_parent(wire::Reason::rank_restarted, {0});
  now_ = now_ + Duration::ms(20);
  expire();
  EXPECT_THAT(up(), IsEmpty());
}

// Or the parent would blame this switch's ranks for having restarted.
TEST_F(LeafTest, Rule1_JoinsAgainOnlyWhenTheParentKnowsWhatEndedTheEpoch) {
  run_epoch();
  now_ = now_ + Duration::ms(1);
  contribute_worker(0, 0, 7);
  now_ = now_ + Duration::ms(500);
  expire();
  ASSERT_THAT(up(), SizeIs(1)) << "it is lost";
  join_worker(0, 1);
  join_worker(2, 1);
  EXPECT_THAT(up(), IsEmpty());
  expire();
  now_ = now_ + Duration::ms(20);
  expire();
  ASSERT_THAT(up(), SizeIs(1));
  EXPECT_EQ(up()[0].header.reason, wire::Reason::deadline);
  abort_from_parent(wire::Reason::deadline, {2});
  join_worker(2, 1);
  ASSERT_THAT(up(), SizeIs(1));
  EXPECT_EQ(up()[0].header.type, PacketType::join);
}

TEST_F(LeafTest, Rule1_TheNextEpochHasANonceOfItsOwn) {
  join_worker(0);
  join_worker(2);
  const std::uint64_t first = join_nonce();
  epoch_ = 500;
  start(500, first);
  abort_from_parent(wire::Reason::rank_restarted, {1});
  join_worker(0, 1);
  join_worker(2, 1);
  EXPECT_NE(join_nonce(), first);
}

TEST_F(LeafTest, HeartbeatsGoUpAndTheirAnswersAreMissed) {
  run_epoch();
  const auto keep_workers_alive = [&] {
    for (const std::uint32_t rank : {0u, 2u})
      deliver(from_worker(PacketType::lease, rank), place(rank));
  };
  int leases = 0;
  for (int ms = 0; ms < 990; ms += 10) {
    now_ = now_ + Duration::ms(10);
    keep_workers_alive();
    expire();
    leases += static_cast<int>(up().size());
  }
  EXPECT_GE(leases, 5);
  EXPECT_EQ(status().state, JobState::running);
  now_ = now_ + Duration::ms(10);
  keep_workers_alive();
  expire();
  EXPECT_EQ(status().state, JobState::aborted);
  const auto told = to(Outgoing::To::job_group);
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_EQ(told[0].header.reason, wire::Reason::parent_lost);
  EXPECT_EQ(told[0].header.slot, kParentId) << "which switch is gone";
}

TEST_F(LeafTest, HeartbeatsThatAreAnsweredKeepTheEpoch) {
  run_epoch();
  for (int ms = 0; ms < 3000; ms += 50) {
    now_ = now_ + Duration::ms(50);
    for (const std::uint32_t rank : {0u, 2u})
      deliver(from_worker(PacketType::lease, rank), place(rank));
    expire();
    if (!up().empty()) deliver(from_parent(PacketType::ack), parent());
  }
  EXPECT_EQ(status().state, JobState::running);
}

TEST_F(LeafTest, ARestartedParentRefusesTheEpochAndSoEndsIt) {
  run_epoch();
  wire::Header h = from_parent(PacketType::nack);
  h.reason = wire::Reason::stale_epoch;
  EXPECT_EQ(deliver(h, parent()).verdict, Verdict::epoch_aborted);
  EXPECT_EQ(sent_[0].header.reason, wire::Reason::parent_lost);
  EXPECT_EQ(status().state, JobState::aborted);
}

// Found by the swarm: no checksum covers a frame's whole source.
TEST_F(LeafTest, AStrangersAnswerIsNotTheParentsDeath) {
  run_epoch();
  wire::Header h = from_parent(PacketType::nack);
  h.reason = wire::Reason::sender_mismatch;
  EXPECT_EQ(deliver(h, parent()).verdict, Verdict::noted);
  EXPECT_EQ(status().state, JobState::running);
}

TEST_F(LeafTest, LeavesWhenItsLastChildHasLeft) {
  run_epoch();
  deliver(from_worker(PacketType::leave, 0), place(0));
  EXPECT_THAT(up(), IsEmpty());
  deliver(from_worker(PacketType::leave, 2), place(2));
  ASSERT_THAT(up(), SizeIs(1));
  EXPECT_EQ(up()[0].header.type, PacketType::leave);
  EXPECT_EQ(status().upstream->state, "leaving");
  join_worker(0, 1);
  join_worker(2, 1);
  EXPECT_THAT(up(), IsEmpty()) << "it would look like a restart";
  deliver(from_parent(PacketType::ack), parent());
  EXPECT_EQ(status().upstream->state, "down");
  join_worker(0, 1);
  EXPECT_EQ(up()[0].header.type, PacketType::join);
}

TEST_F(LeafTest, AStartThatComesTooLateIsGivenBack) {
  join_worker(0);
  join_worker(2);
  const std::uint64_t nonce = join_nonce();
  wire::Header gone = from_worker(PacketType::leave, 2);
  gone.epoch = 0;
  deliver(gone, place(2));
  start(500, nonce);
  ASSERT_THAT(up(), SizeIs(1));
  EXPECT_EQ(up()[0].header.type, PacketType::abort);
  EXPECT_EQ(up()[0].header.epoch, 500);
  EXPECT_THAT(up()[0].missing(), ElementsAre(2));
}

TEST_F(LeafTest, DeadlinesNameRanksAndDoNotRunForSentChunks) {
  run_epoch();
  contribute_worker(0, 0, 7);
  contribute_worker(2, 0, 5);
  contribute_worker(0, 1, 7);
  now_ = now_ + Duration::ms(499);
  expire();
  EXPECT_EQ(status().state, JobState::running);
  now_ = now_ + Duration::ms(1);
  expire();
  ASSERT_THAT(to(Outgoing::To::job_group), SizeIs(1));
  EXPECT_EQ(to(Outgoing::To::job_group)[0].header.seq, 1u);
  EXPECT_THAT(to(Outgoing::To::job_group)[0].missing(), ElementsAre(2));
}

}  // namespace
}  // namespace tributary::aggregator
