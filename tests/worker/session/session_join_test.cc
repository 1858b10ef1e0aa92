// JOIN, START, LEAVE (rule 1).
#include <gmock/gmock.h>

#include "tests/worker/session_fixture.h"

namespace tributary::worker {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using wire::PacketType;

TEST_F(SessionTest, JoinRepeatsEvery100msUntilStart) {
  const auto joins = run_for(Duration::ms(350));
  ASSERT_EQ(joins.size(), 4u);
  for (const Sent& j : joins) {
    EXPECT_EQ(j.header.type, PacketType::join);
    EXPECT_EQ(j.header.job, kJob);
    EXPECT_EQ(j.header.epoch, 0);
    EXPECT_EQ(j.header.origin, 1u);
    EXPECT_EQ(j.header.child, 1);
    EXPECT_EQ(j.header.fan_in, 3);
    EXPECT_EQ(wire::find_nonce(j.extensions), kNonce);
  }
  receive_start(start_info());
  EXPECT_EQ(session->state(), SessionState::running);
  EXPECT_EQ(session->epoch(), kEpoch);
  EXPECT_TRUE(drain().empty());
  receive_start(start_info());  // twice is harmless
  EXPECT_EQ(session->state(), SessionState::running);
}

TEST_F(SessionTest, StartForAnotherIncarnationIsIgnored) {
  drain();
  receive_start(start_info(), 0, kNonce + 1);
  EXPECT_EQ(session->state(), SessionState::joining);
  EXPECT_EQ(session->counters().drops.get(DropReason::stale_epoch), 1u);
}

TEST_F(SessionTest, JoinTimeoutNamesTheMissingRanks) {
  drain();
  wire::ExtensionWriter w(room);
  w.add_nonce(kNonce);
  w.add_missing_ids(std::array{0u, 2u});
  wire::Header h = from_switch(PacketType::pending);
  h.epoch = 0;
  receive(h, &w);
  run_for(options.join_timeout);
  ASSERT_EQ(session->state(), SessionState::failed);
  EXPECT_EQ(session->failure()->text,
            "job 1: timed out: not joined within the timeout of 60 s: waiting for ranks 0 and 2");
  EXPECT_THAT(session->failure()->ranks, ElementsAre(0u, 2u));
}

// In further planes all ranks of the job are there, and would begin an epoch with who has gone.
TEST_F(SessionTest, A2_APlaceThatWasKeptInAFurtherPlaneIsGivenBack) {
  options.plane = 2;
  create();
  drain();
  wire::ExtensionWriter w(room);
  w.add_nonce(kNonce);
  w.add_missing_ids(std::array{0u});
  wire::Header h = from_switch(PacketType::pending);
  h.epoch = 0;
  h.plane = 2;
  receive(h, &w);
  session->leave(now);
  EXPECT_EQ(session->state(), SessionState::leaving);
  const auto sent = drain();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].header.type, PacketType::leave);
  EXPECT_EQ(sent[0].header.epoch, 0);
  wire::Header ack = from_switch(PacketType::ack);
  ack.epoch = 0;
  ack.plane = 2;
  receive(ack);
  EXPECT_EQ(session->state(), SessionState::left);
}

// Otherwise the switch would begin an epoch with it when the others are there.
TEST_F(SessionTest, ARankThatGivesUpWaitingLeaves) {
  drain();
  receive_awaited({0});
  session->leave(now);
  EXPECT_EQ(session->state(), SessionState::leaving);
  const auto sent = drain();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].header.type, PacketType::leave);
  EXPECT_EQ(sent[0].header.epoch, 0);
}

// A rank that has given up is missing, too; the one that never came is why.
TEST_F(SessionTest, ATimeoutNamesTheRanksThatNeverCame) {
  drain();
  for (const auto& missing : std::vector<std::vector<std::uint32_t>>{{0, 2}, {2}, {0, 2}})
    receive_awaited(missing);
  run_for(options.join_timeout);
  EXPECT_EQ(session->failure()->text,
            "job 1: timed out: not joined within the timeout of 60 s: waiting for rank 2");
  create();
  drain();
  for (const auto& missing : std::vector<std::vector<std::uint32_t>>{{0, 2}, {2}, {0}})
    receive_awaited(missing);
  run_for(options.join_timeout);
  EXPECT_EQ(session->failure()->text,
            "job 1: timed out: not joined within the timeout of 60 s: waiting for rank 0");
}

TEST_F(SessionTest, A2_APlaneJoinsAndSpeaksForItself) {
  options.plane = 2;
  create();
  const auto join = drain();
  ASSERT_EQ(join.size(), 1u);
  EXPECT_EQ(join[0].header.plane, 2);
  const auto start = [&](std::uint8_t plane) {
    wire::ExtensionWriter w(room);
    w.add_nonce(kNonce);
    wire::StartInfo info = start_info();
    info.shards = 4;
    info.planes = 4;
    w.add(info);
    wire::Header h = from_switch(PacketType::start);
    h.plane = plane;
    receive(h, &w);
  };
  start(1);
  EXPECT_EQ(session->state(), SessionState::joining);
  EXPECT_EQ(session->counters().drops.get(DropReason::bad_shard), 1u);
  start(2);
  ASSERT_EQ(session->state(), SessionState::running);
  now = now + Duration::ms(start_info().lease_ms);
  session->poll(now, batch);
  ASSERT_EQ(batch.size(), 1u);
  EXPECT_EQ(batch.datagrams()[0].port, 8) << "behind those of two planes";
  EXPECT_EQ(copy(batch.datagrams()[0]).header.plane, 2);
}

TEST_F(SessionTest, A2_StartWithPlanesThatCannotBeIsRefused) {
  const auto refusal = [&](std::uint32_t planes, std::uint8_t shards) {
    create();
    drain();
    wire::StartInfo info = start_info();
    info.planes = planes;
    info.shards = shards;
    receive_start(info);
    return session->failure() ? session->failure()->text : "";
  };
  EXPECT_EQ(refusal(4, 4), "");
  EXPECT_NE(refusal(4, 5).find("4 planes of 5 shards"), std::string::npos);
  EXPECT_NE(refusal(17, 1).find("17 planes"), std::string::npos);
  EXPECT_NE(refusal(65536, 16).find("65536 planes"), std::string::npos);
}

TEST_F(SessionTest, JoinTimeoutSaysThatTheSwitchIsSilent) {
  run_for(options.join_timeout);
  ASSERT_EQ(session->state(), SessionState::failed);
  EXPECT_EQ(session->failure()->text,
            "job 1: timed out: not joined within the timeout of 60 s: the switch did not answer at "
            "udp://10.0.0.1");
}

TEST_F(SessionTest, RefusedJoinFailsAtOnceButABoundRankIsRetried) {
  drain();
  wire::ExtensionWriter w(room);
  w.add_nonce(kNonce);
  wire::Header h = from_switch(PacketType::nack);
  h.epoch = 0;
  h.reason = wire::Reason::sender_mismatch;
  receive(h, &w);
  EXPECT_EQ(session->state(), SessionState::joining);
  EXPECT_EQ(run_for(Duration::ms(100)).size(), 1u);
  h.reason = wire::Reason::unknown_job;
  receive(h, &w);
  ASSERT_EQ(session->state(), SessionState::failed);
  EXPECT_EQ(session->failure()->reason, wire::Reason::unknown_job);
  EXPECT_EQ(session->failure()->text,
            "job 1: the switch refused rank 1 of 3 (unknown-job): the switch has no such job");
}

// Two switches read a new tree one after the other.
TEST_F(SessionTest, Rule16_JoinGoesOnUntilAllSwitchesHaveReadTheSameTree) {
  drain();
  wire::ExtensionWriter w(room);
  w.add_nonce(kNonce);
  wire::Header h = from_switch(PacketType::nack);
  h.epoch = 0;
  h.reason = wire::Reason::configuration_changed;
  receive(h, &w);
  EXPECT_EQ(session->state(), SessionState::joining);
  EXPECT_EQ(run_for(Duration::ms(100)).size(), 1u);
  run_for(options.join_timeout);
  ASSERT_EQ(session->state(), SessionState::failed);
  EXPECT_EQ(session->failure()->reason, wire::Reason::configuration_changed);
  EXPECT_THAT(session->failure()->text, HasSubstr("have read different trees of this job"));
}

// One of them has another number of planes until then; who asks in vain is told both.
TEST_F(SessionTest, A2_JoinGoesOnWhileTwoSwitchesHaveDifferentNumbersOfPlanes) {
  drain();
  wire::ExtensionWriter w(room);
  w.add_nonce(kNonce);
  wire::Header h = from_switch(PacketType::nack);
  h.epoch = 0;
  h.reason = wire::Reason::planes_mismatch;
  h.origin = 201;
  h.slot = 240;
  h.op = 0;
  h.chunk = 1;
  receive(h, &w);
  EXPECT_EQ(session->state(), SessionState::joining);
  EXPECT_EQ(run_for(Duration::ms(100)).size(), 1u);
  run_for(options.join_timeout);
  ASSERT_EQ(session->state(), SessionState::failed);
  EXPECT_EQ(session->failure()->reason, wire::Reason::planes_mismatch);
  EXPECT_THAT(session->failure()->text,
              HasSubstr("switch 201 cuts this job into 1 plane, switch 240 above it into 2 planes; "
                        "allowed: one number (jobs[].planes) in a tree"));
}

// Ranks of an earlier start may go; until then, and at the end, one of them is named.
TEST_F(SessionTest, Rule1_JoinNamesItsRunAndGoesOnWhileAnotherOneWaits) {
  options.run_id = 0x5151;
  create();
  const auto sent = drain();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(wire::find_run_id(sent[0].extensions), 0x5151u);
  wire::ExtensionWriter w(room);
  w.add_nonce(kNonce);
  wire::Header h = from_switch(PacketType::nack);
  h.epoch = 0;
  h.reason = wire::Reason::other_run;
  h.origin = 2;
  h.slot = 0x0A000002;
  h.op = 4000;
  receive(h, &w);
  EXPECT_EQ(session->taken_by(), "rank 2 waits at 10.0.0.2 UDP port 4000 for ranks of another run");
  EXPECT_EQ(session->state(), SessionState::joining);
  EXPECT_EQ(run_for(Duration::ms(100)).size(), 1u);
  run_for(options.join_timeout);
  ASSERT_EQ(session->state(), SessionState::failed);
  EXPECT_EQ(session->failure()->reason, wire::Reason::other_run);
  EXPECT_THAT(
      session->failure()->text,
      HasSubstr("rank 2 waits at 10.0.0.2 UDP port 4000 for ranks of another run; allowed"));
}

TEST_F(SessionTest, JoinTimeoutOfABoundRankSaysSo) {
  drain();
  wire::ExtensionWriter w(room);
  w.add_nonce(kNonce);
  wire::Header h = from_switch(PacketType::nack);
  h.reason = wire::Reason::sender_mismatch;
  receive(h, &w);
  run_for(options.join_timeout);
  EXPECT_EQ(session->failure()->reason, wire::Reason::sender_mismatch);
  EXPECT_THAT(session->failure()->text, HasSubstr("whose lease has not lapsed"));
}

// Nothing of START is trusted before it is checked.
TEST_F(SessionTest, UnusableStartIsRefusedWithItsReason) {
  const auto refusal = [this](auto change) {
    create();
    drain();
    wire::StartInfo info = start_info();
    change(info);
    receive_start(info);
    EXPECT_EQ(session->state(), SessionState::failed);
    return session->failure() ? session->failure()->text : "accepted";
  };
  using Info = wire::StartInfo;
  EXPECT_EQ(refusal([](Info& i) { i.workers = 4; }),
            "job 1: cannot start: the switch counts 4 workers, this rank 3");
  EXPECT_THAT(refusal([](Info& i) { i.window = 48; }), HasSubstr("window 48"));
  EXPECT_THAT(refusal([](Info& i) { i.window = 0; }), HasSubstr("window 0"));
  EXPECT_THAT(refusal([](Info& i) { i.window = 1u << 31; }), HasSubstr("power of two up to 4096"));
  EXPECT_THAT(refusal([](Info& i) { i.chunk_bytes = 0; }), HasSubstr("chunk_bytes 0"));
  EXPECT_THAT(refusal([](Info& i) { i.chunk_bytes = 1001; }), HasSubstr("multiple of 8"));
  EXPECT_THAT(refusal([](Info& i) { i.chunk_bytes = 1u << 20; }), HasSubstr("up to 8192"));
  EXPECT_THAT(refusal([](Info& i) { i.shards = 0; }), HasSubstr("0 shards"));
  EXPECT_THAT(refusal([](Info& i) { i.shards = 200; }), HasSubstr("200 shards"));
  EXPECT_THAT(refusal([](Info& i) { i.integrity = 9; }), HasSubstr("integrity 9"));
  EXPECT_THAT(refusal([](Info& i) { i.partials = 2; }), HasSubstr("partials 2"));
  EXPECT_THAT(refusal([](Info& i) { i.order = 2; }), HasSubstr("order 2"));
  EXPECT_THAT(refusal([](Info& i) { i.arithmetic = 2; }), HasSubstr("arithmetic 2"));
  EXPECT_THAT(refusal([](Info& i) { i.lease_ms = 0; }), HasSubstr("lease"));
  EXPECT_THAT(refusal([](Info& i) { i.chunk_bytes = 1408; }),
              HasSubstr("need datagrams of 1526, but the path carries 1472"));
}

// C1: chunks longer than the path's packets, where the switch and this end know fragments.
TEST_F(SessionTest, C1_LongChunksNeedFragmentsAtBothEnds) {
  const auto state = [this](std::size_t cut, std::uint32_t flags) {
    options.max_cut_bytes = cut;
    create();
    drain();
    wire::StartInfo info = start_info();
    info.chunk_bytes = 8192;
    receive_start(info, 0, kNonce, 1, 3, flags);
    return session->state();
  };
  EXPECT_EQ(state(65507, wire::kFlagFragments), SessionState::running);
  EXPECT_EQ(state(65507, 0), SessionState::failed);
  EXPECT_THAT(session->failure()->text, HasSubstr("the path carries 1472"));
  EXPECT_EQ(state(0, wire::kFlagFragments), SessionState::failed);
  EXPECT_EQ(state(4000, wire::kFlagFragments), SessionState::failed);
  EXPECT_THAT(session->failure()->text, HasSubstr("the path carries 4000"));
}

TEST_F(SessionTest, O3_StartSaysWhichChildOfItsSwitchThisRankIs) {
  drain();
  receive_start(start_info(), 0, kNonce, 0, 2);
  submit(4);
  const auto sent = drain();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].header.origin, 1u);
  EXPECT_EQ(sent[0].header.child, 0);
  EXPECT_EQ(sent[0].header.fan_in, 2);
}

TEST_F(SessionTest, StartOfAChildThatCannotBeIsRefused) {
  drain();
  receive_start(start_info(), 0, kNonce, 2, 2);
  ASSERT_EQ(session->state(), SessionState::failed);
  EXPECT_THAT(session->failure()->text, HasSubstr("child 2 of 2"));
}

TEST_F(SessionTest, LeaveIsSentThreeTimes20msApart) {
  start(start_info());
  session->leave(now);
  EXPECT_EQ(session->state(), SessionState::leaving);
  const Instant begin = now;
  const auto sent = run_for(Duration::ms(59));
  ASSERT_EQ(sent.size(), 3u);
  for (const Sent& s : sent) {
    EXPECT_EQ(s.header.type, PacketType::leave);
    EXPECT_EQ(s.header.epoch, kEpoch);
  }
  EXPECT_EQ(session->state(), SessionState::leaving);
  EXPECT_TRUE(run_to(begin + Duration::ms(60)).empty());
  EXPECT_EQ(session->state(), SessionState::left);
}

TEST_F(SessionTest, LeaveEndsWithItsAck) {
  start(start_info());
  session->leave(now);
  drain();
  wire::Header stale = from_switch(PacketType::ack);
  stale.epoch = kEpoch - 1;
  receive(stale);
  EXPECT_EQ(session->state(), SessionState::leaving);
  receive(from_switch(PacketType::ack));
  EXPECT_EQ(session->state(), SessionState::left);
}

// T9: the switch may not know yet what a rank holds by the word of a host.
TEST_F(SessionTest, T9_LeaveSaysWhichOpsThisRankHolds) {
  start(start_info());
  session->leave(now);
  const auto none = drain();
  ASSERT_EQ(none.size(), 1u);
  EXPECT_EQ(none[0].header.op, 0u);
}

TEST_F(SessionTest, T9_LeaveSaysThatAnUnfinishedOpIsNotHeld) {
  start(start_info());
  submit(4);
  const auto first = drain();
  ASSERT_EQ(first.size(), 1u);
  receive_result(first[0]);
  submit(4);
  drain();
  session->leave(now);
  const auto leaving = drain();
  ASSERT_EQ(leaving.size(), 1u);
  EXPECT_EQ(leaving[0].header.type, PacketType::leave);
  EXPECT_EQ(leaving[0].header.op, 1u);
}

// It was about one LEAVE, damaged on the way: the switch still holds this rank.
TEST_F(SessionTest, ASenderMismatchDoesNotEndLeaving) {
  start(start_info());
  session->leave(now);
  drain();
  wire::Header nack = from_switch(PacketType::nack);
  nack.reason = wire::Reason::sender_mismatch;
  receive(nack);
  EXPECT_EQ(session->state(), SessionState::leaving);
  EXPECT_EQ(run_for(Duration::ms(20)).size(), 1u);
  nack.reason = wire::Reason::not_joined;
  receive(nack);
  EXPECT_EQ(session->state(), SessionState::left);
}

TEST_F(SessionTest, LeaveIsNotSentWhereTheSwitchHoldsNothing) {
  session->leave(now);
  EXPECT_EQ(session->state(), SessionState::left);
  create();
  start(start_info());
  wire::Header abort = from_switch(PacketType::abort);
  abort.reason = wire::Reason::shutdown;
  receive(abort);
  session->leave(now);
  EXPECT_EQ(session->state(), SessionState::left);
}

// The switch asks whether it lives: another process claims its rank.
TEST_F(SessionTest, Rule18_AMemberAnswersAStartThatComesAgain) {
  start(start_info());
  drain();
  receive_start(start_info());
  EXPECT_EQ(session->next_wakeup(), now);
  const auto sent = drain();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].header.type, PacketType::lease);
  EXPECT_TRUE(run_for(Duration::ms(500)).empty()) << "once";
}

constexpr const char* kTaken = "rank 1 is already here, from 10.77.0.11 UDP port 41234";

// Another process has the rank, and may take its time to end.
TEST_F(SessionTest, Rule1_ARankThatIsTakenRepeatsItsJoinAndSaysByWhom) {
  drain();
  receive_refusal();
  EXPECT_EQ(session->taken_by(), "") << "its lease may lapse";
  receive_refusal(0x0A4D000B, 41'234);
  EXPECT_EQ(session->state(), SessionState::joining);
  EXPECT_EQ(session->taken_by(), kTaken);
  EXPECT_EQ(run_for(Duration::seconds(1)).size(), 10u);
  run_for(options.join_timeout);
  ASSERT_EQ(session->state(), SessionState::failed);
  EXPECT_EQ(session->taken_by(), "");
  EXPECT_EQ(session->failure()->reason, wire::Reason::sender_mismatch);
  EXPECT_EQ(session->failure()->text,
            std::string("job 1: timed out: not joined within the timeout of 60 s: ") + kTaken);
}

TEST_F(SessionTest, Rule1_ARankThatWasTakenIsInWhenTheOtherProcessHasGone) {
  drain();
  for (int i = 0; i < 400; ++i) {
    receive_refusal(0x0A4D000B, 41'234);
    ASSERT_EQ(run_for(Duration::ms(100)).size(), 1u) << i;
  }
  receive_awaited({0, 2});  // of the next epoch
  EXPECT_EQ(session->taken_by(), "");
  receive_start(start_info());
  EXPECT_EQ(session->state(), SessionState::running);
}

TEST_F(SessionTest, Rule1_FailIfTakenFailsWhenTheOtherProcessHasAnswered) {
  options.fail_if_taken = true;
  create();
  drain();
  receive_refusal();
  EXPECT_EQ(session->state(), SessionState::joining) << "its lease may lapse";
  receive_refusal(0x0A4D000B, 41'234);
  ASSERT_EQ(session->state(), SessionState::failed);
  EXPECT_EQ(session->failure()->text,
            std::string("job 1: the switch refused rank 1 of 3 (sender-mismatch): ") + kTaken);
}

TEST_F(SessionTest, QuietMemberRenewsItsLease) {
  start(start_info());  // 3 s
  const auto sent = run_for(Duration::ms(2500));
  ASSERT_EQ(sent.size(), 2u);
  for (const Sent& s : sent) EXPECT_EQ(s.header.type, PacketType::lease);
}

}  // namespace
}  // namespace tributary::worker
