// Epochs, leases, aborts and who may speak for a rank: protocol rules 1 and 18 (T3, T22, O9).
#include "core/net/udp_peer.h"
#include "tests/aggregator/engine_fixture.h"

namespace tributary::aggregator {
namespace {

using wire::PacketType;
using wire::Reason;

TEST_F(EngineTest, StartWaitsForAllRanks) {
  build(3);
  EXPECT_EQ(join(0).verdict, Verdict::answered);
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].header.type, PacketType::pending);
  EXPECT_EQ(sent_[0].missing(), (std::vector<std::uint32_t>{1, 2}));
  EXPECT_EQ(wire::find_nonce(sent_[0].extensions), nonce(0, 0));
  join(1);
  join(2);
  ASSERT_EQ(sent_.size(), 3u);
  for (std::uint32_t r = 0; r < 3; ++r) {
    EXPECT_EQ(sent_[r].header.type, PacketType::start);
    EXPECT_EQ(sent_[r].peer, peer(r));
    EXPECT_EQ(wire::find_nonce(sent_[r].extensions), nonce(r, 0));
    const auto info = wire::find_start_info(sent_[r].extensions);
    ASSERT_TRUE(info);
    EXPECT_EQ(info->window, 4u);
    EXPECT_EQ(info->chunk_bytes, 64u);
    EXPECT_EQ(info->workers, 3u);
    EXPECT_EQ(info->group_ipv4, config::job_group_ipv4(kJob));
  }
  EXPECT_EQ(status().state, JobState::running);
  EXPECT_EQ(counters().members.get(), 3u);
}

TEST_F(EngineTest, LostStartIsRepeated) {
  build(2);
  join_all();
  EXPECT_EQ(join(1).verdict, Verdict::answered);
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].header.type, PacketType::start);
  EXPECT_EQ(sent_[0].header.epoch, epoch_);
}

// What front ends make of it is good until `serial` changes.
TEST_F(EngineTest, Rule20_MembersOfTheEpochAreListed) {
  build(2);
  EXPECT_EQ(engine_->members(kJob).serial, 0u) << "there was no epoch";
  EXPECT_EQ(engine_->members(99).serial, 0u) << "there is no such job";
  EXPECT_TRUE(engine_->members(99).list.empty());
  join_all();
  const Members first = engine_->members(kJob);
  ASSERT_EQ(first.list.size(), 2u);
  EXPECT_EQ(first.list[1].peer, peer(1));
  EXPECT_NE(first.serial, 0u);
  EXPECT_EQ(engine_->members(kJob).serial, first.serial);
  join_all(1);
  EXPECT_NE(engine_->members(kJob).serial, first.serial);
}

TEST_F(EngineTest, StrangersAreTurnedAwayWithTheReason) {
  build(2);
  wire::Header h = header(PacketType::contribution, 0);
  h.job = 99;
  EXPECT_EQ(deliver(h, peer(0)).reason, DropReason::unknown_job);
  EXPECT_EQ(sent_.at(0).header.reason, Reason::unknown_job);

  epoch_ = 5;
  EXPECT_EQ(contribute(0, 0, {1}).verdict, Verdict::refused);
  EXPECT_EQ(sent_.at(0).header.reason, Reason::stale_epoch);

  h = header(PacketType::join, 9);
  std::array<std::byte, 16> buffer;
  wire::ExtensionWriter ext(buffer);
  ext.add_nonce(1);
  EXPECT_EQ(deliver({h, ext.bytes(), {}}, peer(1)).reason, DropReason::bad_child);
  EXPECT_EQ(sent_.at(0).header.reason, Reason::bad_rank);
  EXPECT_EQ(wire::find_nonce(sent_.at(0).extensions), 1u);

  h = header(PacketType::join, 0);
  h.fan_in = 4;
  EXPECT_EQ(deliver({h, ext.bytes(), {}}, peer(0)).reason, DropReason::join_mismatch);
  EXPECT_EQ(sent_.at(0).header.reason, Reason::job_size_mismatch);
}

// Rule 1: the same job started again gets its own sums, not the previous run's.
TEST_F(EngineTest, SecondRunGetsItsOwnSums) {
  build(2);
  join_all(0);
  const std::uint16_t first_epoch = epoch_;
  complete(0);
  join(0, 1);  // the first run died without a word
  EXPECT_EQ(sent_.at(0).header.type, PacketType::abort);
  EXPECT_EQ(sent_.at(0).header.reason, Reason::rank_restarted);
  EXPECT_EQ(sent_.at(0).missing(), std::vector<std::uint32_t>{0});
  EXPECT_EQ(sent_.at(1).header.type, PacketType::pending);
  join(1, 1);
  ASSERT_EQ(sent_.size(), 2u);
  EXPECT_NE(sent_[0].header.epoch, first_epoch);
  epoch_ = sent_[0].header.epoch;
  EXPECT_EQ(contribute(0, 0, {40}).verdict, Verdict::opened);
  EXPECT_EQ(contribute(1, 0, {2}).verdict, Verdict::completed);
  EXPECT_EQ(sent_.at(0).elements<std::int32_t>(), std::vector<std::int32_t>{42});
  epoch_ = first_epoch;
  EXPECT_EQ(contribute(0, 1, {1}).reason, DropReason::stale_epoch);
}

// 0 means that there is none, so it is left out.
TEST_F(EngineTest, Rule1_TheEpochAfter65535Is1) {
  build(test_switch({test_job(2)}), {65'535, 0});
  join_all();
  EXPECT_EQ(epoch_, 65'535);
  complete(0);
  EXPECT_EQ(sent_.at(0).elements<std::int32_t>(), std::vector<std::int32_t>{3});
  join(0, 1);
  join(1, 1);
  ASSERT_EQ(sent_.size(), 2u);
  EXPECT_EQ(sent_[0].header.epoch, 1);
  EXPECT_EQ(contribute(0, 0, {1}).reason, DropReason::stale_epoch) << "of the one before";
  epoch_ = 1;
  complete(0);
  EXPECT_EQ(sent_.at(0).header.epoch, 1);
  EXPECT_EQ(sent_.at(0).elements<std::int32_t>(), std::vector<std::int32_t>{3});
}

TEST_F(EngineTest, DelayedJoinOfADeadIncarnationIsIgnored) {
  build(2);
  join_all(0);
  complete(0);
  join(0, 1);
  EXPECT_EQ(join(1, 0).reason, DropReason::duplicate);  // copy from the first run
  EXPECT_EQ(status().state, JobState::forming);
}

// Rule 18: no other sender may speak for a rank while its lease lasts.
TEST_F(EngineTest, ChildIsBoundToPortAndAddress) {
  build(2);
  join_all();
  wire::Header h = data_header(0, 0, 0);
  EXPECT_EQ(deliver(h, peer(1)).reason, DropReason::sender_mismatch);
  wire::UdpPeer forged = peer(0);
  forged.port = 3;
  EXPECT_EQ(deliver(h, forged).reason, DropReason::sender_mismatch);
  EXPECT_EQ(sent_.at(0).header.reason, Reason::sender_mismatch);
  EXPECT_EQ(join(0, 5, forged).reason, DropReason::sender_mismatch);
  EXPECT_EQ(status().state, JobState::running);
  EXPECT_EQ(counters().contributions.get(), 0u);
}

// Rule 18: a second process of the same host is told who has the rank, once that has answered.
TEST_F(EngineTest, Rule18_ASecondProcessForARankIsToldWhoHasIt) {
  build(2);
  join_all();
  const auto claim = [&](const wire::UdpPeer& from, PacketType said) {
    now_ = now_ + Duration::ms(100);
    join(0, 5, from);
    ASSERT_EQ(sent_.size(), 2u);
    EXPECT_EQ(sent_[0].header.type, PacketType::start) << "a question";
    EXPECT_EQ(sent_[0].peer, peer(0));
    EXPECT_EQ(sent_[1].header.type, said);
    EXPECT_EQ(sent_[1].peer, Endpoint(from));
    EXPECT_EQ(sent_[1].header.slot, 0u) << "not final";
  };
  wire::UdpPeer elsewhere = peer(0);
  elsewhere.port = 3;
  for (const auto& [from, said] :
       {std::pair{peer(0, 6000), PacketType::pending}, std::pair{elsewhere, PacketType::nack}}) {
    claim(from, said);
    now_ = now_ + Duration::ms(1);
    deliver(header(PacketType::lease, 0), peer(0));
    now_ = now_ + Duration::ms(99);
    EXPECT_EQ(join(0, 5, from).reason, DropReason::sender_mismatch);
    ASSERT_EQ(sent_.size(), 2u);
    EXPECT_EQ(sent_[0].header.type, PacketType::start) << "the next question";
    EXPECT_EQ(sent_[1].header.reason, Reason::sender_mismatch);
    EXPECT_EQ(sent_[1].header.slot, peer(0).ipv4);
    EXPECT_EQ(sent_[1].header.op, peer(0).udp_port);
    now_ = now_ + Duration::ms(900);  // the next one's claim is another
    deliver(header(PacketType::lease, 0), peer(0));
    deliver(header(PacketType::lease, 1), peer(1));
    now_ = now_ + Duration::ms(100);
  }
  EXPECT_EQ(status().state, JobState::running);
}

// Rule 1: a second process repeats its JOIN, and has the rank once the first one has left or died.
TEST_F(EngineTest, Rule1_AClaimThatIsRepeatedSucceedsWhenTheRankGoes) {
  for (const bool leaves : {true, false}) {
    build(2);
    join_all();
    const auto claim = [&] {
      now_ = now_ + Duration::ms(100);
      const Verdict said = join(0, 5, peer(0, 6000)).verdict;
      return std::pair(said, sent_.back().header.type);
    };
    for (int i = 0; i < 40; ++i) {
      claim();
      ASSERT_EQ(status().state, JobState::running);
      ASSERT_EQ(sent_.front().header.type, PacketType::start);
      ASSERT_EQ(sent_.size(), 2u);
      now_ = now_ + Duration::ms(1);
      for (const std::uint16_t rank : {std::uint16_t{0}, std::uint16_t{1}})
        deliver(header(PacketType::lease, rank), peer(rank));
    }
    if (leaves) {
      for (const std::uint16_t rank : {std::uint16_t{0}, std::uint16_t{1}})
        deliver(header(PacketType::leave, rank), peer(rank));
      EXPECT_EQ(claim(), std::pair(Verdict::answered, PacketType::pending));
    } else {
      int more = 1;
      while (claim().first != Verdict::epoch_aborted) ASSERT_LE(++more, 6);
      EXPECT_EQ(sent_.front().header.reason, Reason::rank_restarted);
    }
    now_ = now_ + Duration::ms(1);
    join(1, 6, peer(1));
    EXPECT_EQ(sent_.at(0).header.type, PacketType::start);
    EXPECT_EQ(sent_.at(0).peer, peer(0, 6000)) << "at once";
  }
}

TEST_F(EngineTest, ARestartedRankWaitsForTwoQuestionsToTheOldOne) {
  build(2);
  join_all();
  for (int i = 0; i < 2; ++i) {
    now_ = now_ + Duration::ms(100);
    EXPECT_EQ(join(0, 5, peer(0, 6000)).verdict, Verdict::answered);
    EXPECT_EQ(status().state, JobState::running);
  }
  now_ = now_ + Duration::ms(100);
  EXPECT_EQ(join(0, 5, peer(0, 6000)).verdict, Verdict::epoch_aborted);
  EXPECT_EQ(sent_.at(0).header.reason, Reason::rank_restarted);
}

TEST_F(EngineTest, PinnedRankMustUseItsPort) {
  config::JobConfig job = test_job(2);
  job.members = {{0, "p3"}};
  build(test_switch({job}));
  EXPECT_EQ(join(0).reason, DropReason::sender_mismatch);
  wire::UdpPeer right = peer(0);
  right.port = 3;
  EXPECT_EQ(join(0, 0, right).verdict, Verdict::answered);
}

// T3 without a completion engine: the deadline ends the epoch and names the missing ranks.
TEST_F(EngineTest, DeadlineAbortsAndNamesTheMissing) {
  build(3);
  join_all();
  contribute(1, 0, {1});
  now_ = now_ + Duration::ms(499);
  expire();
  EXPECT_TRUE(sent_.empty());
  now_ = now_ + Duration::ms(1);
  expire();
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].to, Outgoing::To::job_group);
  EXPECT_EQ(sent_[0].header.reason, Reason::deadline);
  EXPECT_EQ(sent_[0].missing(), (std::vector<std::uint32_t>{0, 2}));
  EXPECT_EQ(counters().slots_open.get(), 0u);  // T22: nothing is held past the deadline
  EXPECT_EQ(counters().slot_hold_ns_max.get(), 500'000'000u);
  EXPECT_EQ(engine_->slot_holds().count(), 1u);
  EXPECT_EQ(engine_->slot_holds().total_ns.get(), 500'000'000u);
}

TEST_F(EngineTest, CompletionCancelsTheDeadline) {
  build(2);
  join_all();
  complete(0);
  now_ = now_ + Duration::ms(900);
  expire();
  EXPECT_TRUE(sent_.empty());
}

TEST_F(EngineTest, MemberOfAnAbortedEpochIsToldAgain) {
  build(2);
  join_all();
  contribute(0, 0, {1});
  now_ = now_ + Duration::ms(600);
  expire();
  EXPECT_EQ(contribute(1, 0, {1}).reason, DropReason::aborted);
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].peer, peer(1));
  EXPECT_EQ(sent_[0].header.type, PacketType::abort);
  EXPECT_EQ(sent_[0].header.reason, Reason::deadline);
  EXPECT_EQ(sent_[0].missing(), std::vector<std::uint32_t>{1});
}

TEST_F(EngineTest, SilenceEndsTheEpochForAll) {
  build(2);
  join_all();
  now_ = now_ + Duration::ms(700);
  deliver(header(PacketType::lease, 0), peer(0));
  now_ = now_ + Duration::ms(300);
  expire();
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].header.reason, Reason::lease_expired);
  EXPECT_EQ(sent_[0].missing(), std::vector<std::uint32_t>{1});
}

TEST_F(EngineTest, LeaseKeepsAQuietMember) {
  build(2);
  join_all();
  for (int i = 0; i < 20; ++i) {
    now_ = now_ + Duration::ms(300);
    for (std::uint32_t r = 0; r < 2; ++r) deliver(header(PacketType::lease, r), peer(r));
    expire();
    ASSERT_TRUE(sent_.empty()) << i;
  }
}

TEST_F(EngineTest, FormingForgetsWhoStoppedJoining) {
  build(2);
  join(0);
  now_ = now_ + Duration::ms(1500);
  expire();
  EXPECT_EQ(status().state, JobState::idle);
  join(1);
  EXPECT_EQ(sent_.at(0).header.type, PacketType::pending);
}

// Its START was lost, and it knows no epoch.
TEST_F(EngineTest, ARankMayLeaveBeforeItKnowsItsEpoch) {
  build(2);
  join_all();
  wire::Header h = header(PacketType::leave, 0);
  h.epoch = 0;
  EXPECT_EQ(deliver(h, peer(0)).verdict, Verdict::answered);
  EXPECT_EQ(counters().members.get(), 1u);
  build(2);
  join_all();
  contribute(0, 0, {1});
  EXPECT_EQ(deliver(h, peer(0)).reason, DropReason::not_joined) << "it has had its START";
}

TEST_F(EngineTest, LeaveOfAllFreesEverything) {
  build(2);
  join_all();
  complete(0);
  EXPECT_EQ(leave(0).verdict, Verdict::answered);
  EXPECT_EQ(sent_.at(0).header.type, PacketType::ack);
  EXPECT_EQ(leave(1).verdict, Verdict::answered);
  EXPECT_EQ(status().state, JobState::idle);
  EXPECT_EQ(counters().results_retained.get(), 0u);
  EXPECT_EQ(counters().members.get(), 0u);
  EXPECT_EQ(leave(1).verdict, Verdict::answered);  // its ACK was lost
  join_all(1);
  EXPECT_EQ(status().state, JobState::running);
}

TEST_F(EngineTest, RankThatLeavesWithDataOwedEndsTheEpochAtOnce) {
  build(3);
  join_all();
  contribute(1, 0, {1});
  EXPECT_EQ(leave(2).verdict, Verdict::epoch_aborted);
  EXPECT_EQ(sent_.at(0).header.reason, Reason::rank_left);
  EXPECT_EQ(sent_.at(0).missing(), std::vector<std::uint32_t>{2});
}

TEST_F(EngineTest, NewChunkAfterALeaveNamesWhoLeft) {
  build(3);
  join_all();
  complete(0);
  EXPECT_EQ(leave(2).verdict, Verdict::answered);
  EXPECT_EQ(contribute(0, 1, {1}).verdict, Verdict::epoch_aborted);
  EXPECT_EQ(sent_.at(0).header.reason, Reason::rank_left);
  EXPECT_EQ(sent_.at(0).missing(), std::vector<std::uint32_t>{2});
}

TEST_F(EngineTest, SlowRankStillGetsItsResultAfterOthersLeft) {
  build(2);
  join_all();
  complete(0);
  leave(0);
  EXPECT_EQ(join(0, 1).verdict, Verdict::answered);  // next run waits for the last one's end
  EXPECT_EQ(sent_.at(0).header.type, PacketType::pending);
  EXPECT_EQ(sent_.at(0).missing(), std::vector<std::uint32_t>{1});
  EXPECT_EQ(probe(1, 0).verdict, Verdict::answered);
  EXPECT_EQ(sent_.at(0).header.type, PacketType::result);
}

TEST_F(EngineTest, ShutDownTellsTheMembers) {
  build(2);
  join_all();
  sent_.clear();
  engine_->shut_down(*outbox_);
  ASSERT_EQ(outbox_->items().size(), 1u);
  EXPECT_EQ(outbox_->items()[0].header.reason, Reason::shutdown);
}

TEST_F(EngineTest, LargestJobFitsTheOutboxAndItsLists) {
  build(config::kMaxWorkers, 2);
  join(0);
  EXPECT_EQ(sent_.at(0).missing().size(), wire::kMaxMissingIds);
  join_all();
  contribute(0, 0, {1});
  probe(0, 0);
  EXPECT_EQ(sent_.at(0).missing().size(), wire::kMaxMissingIds);
  std::array<std::byte, 2048> buffer;
  EXPECT_GT(wire::serialize(sent_.at(0).header, sent_.at(0).extensions, buffer), 0u);
  EXPECT_EQ(outbox_->overflows(), 0u);
}

// Rule 16: members who are where they can be no longer, as end_behind() has it of a port.
TEST_F(EngineTest, Rule16_EpochsEndWhereMembersAreElsewhere) {
  build(3);
  join_all();
  sent_.clear();
  engine_->end_where([](const Endpoint& at) { return at.station() == 0; }, *outbox_);
  collect();
  EXPECT_TRUE(sent_.empty());
  engine_->end_where([](const Endpoint& at) { return at == peer(2); }, *outbox_);
  collect();
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].header.type, wire::PacketType::abort);
  EXPECT_EQ(sent_[0].header.reason, wire::Reason::configuration_changed);
}

}  // namespace
}  // namespace tributary::aggregator
