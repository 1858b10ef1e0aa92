// A switch with switches below it (T1, O3, O12): who may join as what, which sums it takes in, and
// whom it names when something is missing.
#include <gmock/gmock.h>

#include "core/net/udp_peer.h"
#include "tests/aggregator/upstream_fixture.h"

namespace tributary::aggregator {
namespace {

using testing::ElementsAre;
using testing::SizeIs;
using wire::PacketType;

TEST_F(RootTest, Rule1_StartsWhenSwitchesAndWorkersHaveJoined) {
  join_leaf();
  EXPECT_THAT(sent_[0].missing(), ElementsAre(1));
  join(1);
  ASSERT_THAT(sent_, SizeIs(2));
  EXPECT_EQ(sent_[0].header.origin, kLeafId);
  EXPECT_EQ(sent_[0].header.child, 0);
  EXPECT_EQ(sent_[1].header.origin, 1u);
  EXPECT_EQ(sent_[1].header.child, 1);
  EXPECT_EQ(sent_[1].header.fan_in, 2);
  EXPECT_EQ(wire::find_start_info(sent_[1].extensions)->workers, 3u);
}

TEST_F(RootTest, WorkersWaitForTheRanksOfASwitchThatHasNotJoined) {
  join(1);
  EXPECT_THAT(sent_[0].missing(), ElementsAre(0, 2));
}

TEST_F(RootTest, RefusesJoinsThatDoNotFitTheTree) {
  join_leaf(1, 3);
  EXPECT_EQ(sent_[0].header.reason, wire::Reason::job_size_mismatch);
  join(0, 0, peer(0));
  EXPECT_EQ(sent_[0].header.reason, wire::Reason::bad_rank) << "rank 0 hangs on switch 201";
  std::array<std::byte, 16> room;
  wire::ExtensionWriter ext(room);
  ext.add_nonce(1);
  wire::Header h = from_leaf(PacketType::join);
  h.origin = 1;
  deliver({h, ext.bytes(), {}}, leaf());
  EXPECT_EQ(sent_[0].header.reason, wire::Reason::bad_rank) << "1 is a worker, no switch";
  h = from_leaf(PacketType::join);
  wire::UdpPeer elsewhere = leaf();
  elsewhere.port = 2;
  deliver({h, ext.bytes(), {}}, elsewhere);
  EXPECT_EQ(sent_[0].header.reason, wire::Reason::sender_mismatch);
  wire::UdpPeer neighbour = leaf();
  neighbour.ipv4 += 1;
  deliver({h, ext.bytes(), {}}, neighbour);
  EXPECT_EQ(sent_[0].header.reason, wire::Reason::sender_mismatch) << "rule 18: on a shared port";
}

TEST_F(RootTest, O12_SumsOfSwitchesAndDataOfWorkersMakeOneResult) {
  run_epoch();
  EXPECT_EQ(aggregate(sum_header(0), 12).verdict, Verdict::opened);
  EXPECT_EQ(contribution(0, 30).verdict, Verdict::completed);
  ASSERT_THAT(sent_, SizeIs(1));
  EXPECT_EQ(sent_[0].to, Outgoing::To::job_group);
  EXPECT_EQ(sent_[0].header.covered, 3u);
  EXPECT_THAT(sent_[0].elements<std::int32_t>(), ElementsAre(42));
  EXPECT_EQ(contribution(1, 30).verdict, Verdict::opened);
  EXPECT_EQ(aggregate(sum_header(1), 12).verdict, Verdict::completed);
  EXPECT_THAT(sent_[0].elements<std::int32_t>(), ElementsAre(42));
}

TEST_F(RootTest, Rule7_ASumIsTakenInOnce) {
  run_epoch();
  aggregate(sum_header(0), 12);
  wire::Header again = sum_header(0);
  again.flags |= wire::kFlagResend;
  EXPECT_EQ(aggregate(again, 12).reason, DropReason::duplicate);
  contribution(0, 30);
  EXPECT_EQ(aggregate(again, 12).verdict, Verdict::answered);
  EXPECT_EQ(sent_[0].peer, leaf());
  EXPECT_THAT(sent_[0].elements<std::int32_t>(), ElementsAre(42));
}

TEST_F(RootTest, Rule10_ASumMustCoverWhatIsBelowItsSwitch) {
  run_epoch();
  wire::Header h = sum_header(0);
  h.covered = 1;
  EXPECT_EQ(aggregate(h, 12).reason, DropReason::bad_coverage);
  h = sum_header(0);
  h.flags = wire::kFlagLast;
  EXPECT_EQ(aggregate(h, 12).reason, DropReason::bad_coverage);
  h = sum_header(0);
  h.type = PacketType::contribution;
  EXPECT_EQ(aggregate(h, 12).reason, DropReason::bad_type) << "a switch has no data of its own";
  h = data_header(1, 0, 1);
  h.fan_in = 2;
  h.type = PacketType::aggregate;
  const std::int32_t value = 1;
  EXPECT_EQ(deliver({h, {}, std::as_bytes(std::span(&value, 1))}, worker()).reason,
            DropReason::bad_type)
      << "a worker has no sums";
  EXPECT_EQ(engine_->chunk_state(0, 0, 0), ChunkState::unseen);
}

TEST_F(RootTest, Rule6_ASwitchsProbeIsAnsweredLikeAWorkers) {
  run_epoch();
  wire::Header probe = from_leaf(PacketType::probe);
  deliver(probe, leaf());
  EXPECT_EQ(sent_[0].header.type, PacketType::unknown);
  aggregate(sum_header(0), 12);
  deliver(probe, leaf());
  EXPECT_EQ(sent_[0].header.type, PacketType::pending);
  EXPECT_THAT(sent_[0].missing(), ElementsAre(1));
  contribution(0, 30);
  deliver(probe, leaf());
  EXPECT_EQ(sent_[0].header.type, PacketType::result);
}

TEST_F(RootTest, ALeaseOfASwitchIsAnsweredAWorkersIsNot) {
  run_epoch();
  deliver(from_leaf(PacketType::lease), leaf());
  ASSERT_THAT(sent_, SizeIs(1));
  EXPECT_EQ(sent_[0].header.type, PacketType::ack);
  EXPECT_EQ(sent_[0].header.epoch, epoch_);
  wire::Header h = header(PacketType::lease, 1);
  h.fan_in = 2;
  deliver(h, worker());
  EXPECT_THAT(sent_, SizeIs(0));
}

TEST_F(RootTest, ASilentSwitchIsNamedWithItsRanks) {
  run_epoch();
  now_ = now_ + Duration::ms(600);
  deliver(header(PacketType::lease, 1), worker());
  now_ = now_ + Duration::ms(500);
  expire();
  ASSERT_THAT(sent_, SizeIs(1));
  EXPECT_EQ(sent_[0].header.reason, wire::Reason::lease_expired);
  EXPECT_EQ(sent_[0].header.slot, kLeafId);
  EXPECT_THAT(sent_[0].missing(), ElementsAre(0, 2));
}

TEST_F(RootTest, Rule13_ADeadlineNamesTheRanksBelowTheMissingSwitch) {
  run_epoch();
  contribution(0, 30);
  now_ = now_ + Duration::ms(500);
  expire();
  EXPECT_EQ(sent_[0].header.reason, wire::Reason::deadline);
  EXPECT_THAT(sent_[0].missing(), ElementsAre(0, 2));
}

TEST_F(RootTest, Rule1_WhatEndsTheEpochBelowEndsItForAll) {
  run_epoch();
  std::array<std::byte, 64> room;
  wire::ExtensionWriter ext(room);
  ext.add_missing_ids(std::array{2u, 77u});
  wire::Header h = from_leaf(PacketType::abort);
  h.reason = wire::Reason::deadline;
  h.seq = 3;
  wire::UdpPeer stranger = leaf();
  stranger.port = 2;
  EXPECT_EQ(deliver({h, ext.bytes(), {}}, stranger).reason, DropReason::sender_mismatch);
  EXPECT_EQ(deliver({h, ext.bytes(), {}}, leaf()).verdict, Verdict::epoch_aborted);
  ASSERT_THAT(sent_, SizeIs(1));
  EXPECT_EQ(sent_[0].to, Outgoing::To::job_group);
  EXPECT_EQ(sent_[0].header.reason, wire::Reason::deadline);
  EXPECT_EQ(sent_[0].header.seq, 3u);
  EXPECT_THAT(sent_[0].missing(), ElementsAre(2));
  // Said again, it is answered like everything of a dead epoch.
  EXPECT_EQ(deliver({h, ext.bytes(), {}}, leaf()).reason, DropReason::aborted);
  EXPECT_EQ(sent_[0].header.type, PacketType::abort);
}

TEST_F(RootTest, Rule1_OnlySwitchesAbort) {
  run_epoch();
  wire::Header h = header(PacketType::abort, 1);
  h.fan_in = 2;
  h.reason = wire::Reason::deadline;
  EXPECT_EQ(deliver(h, worker()).reason, DropReason::bad_type);
  EXPECT_EQ(status().state, JobState::running);
}

TEST_F(RootTest, Rule1_ARestartedSwitchEndsTheEpoch) {
  run_epoch();
  EXPECT_EQ(join_leaf(2).verdict, Verdict::epoch_aborted);
  EXPECT_EQ(sent_[0].header.reason, wire::Reason::rank_restarted);
  EXPECT_THAT(sent_[0].missing(), ElementsAre(0, 2));
  EXPECT_EQ(sent_[0].header.slot, kLeafId);
}

}  // namespace
}  // namespace tributary::aggregator
