// A rank's part in the end of an epoch after an op that all ranks finish (rule 22).
#include <gmock/gmock.h>

#include "core/op_number.h"
#include "core/wire/drain.h"
#include "tests/worker/session_fixture.h"

namespace tributary::worker {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using wire::DrainStep;
using wire::PacketType;

constexpr std::uint64_t kId = 77;

class SessionDrainTest : public SessionTest {
 protected:
  void hear(DrainStep step, std::uint32_t op = 0, std::uint64_t id = kId) {
    wire::ExtensionWriter w(room);
    wire::add_drain(w, {step, id, op, 9});
    receive(from_switch(PacketType::lease), &w);
  }
  // What the session says of a drain now.
  std::vector<wire::Drain> say() {
    std::vector<wire::Drain> said;
    for (const Sent& sent : of_type(run_for(Duration::ms(1)), PacketType::lease))
      said.push_back(wire::find_drain(sent.extensions).value_or(wire::Drain{}));
    return said;
  }
  static wire::Drain answer_of(std::uint32_t op) { return {DrainStep::answer, kId, op, 0}; }
};

TEST_F(SessionDrainTest, Rule22_AJoinSaysThatTheRankCanDrain) {
  const auto sent = drain();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(wire::find_drain(sent[0].extensions), (wire::Drain{DrainStep::able, 0, 0, 0}));
}

TEST_F(SessionDrainTest, Rule22_TheAnswerIsHowManyOpsHaveBegun) {
  start(start_info());
  submit(4);
  submit(4);
  EXPECT_EQ(session->op_limit(), kNoOp);
  hear(DrainStep::ask);
  EXPECT_THAT(say(), ElementsAre(answer_of(2)));
  EXPECT_EQ(session->op_limit(), 2u) << "the answer has to stay true";
  EXPECT_THAT(say(), IsEmpty());
  hear(DrainStep::ask);
  EXPECT_THAT(say(), ElementsAre(answer_of(2))) << "the first one may be lost";
}

TEST_F(SessionDrainTest, Rule22_TheEpochIsOverWhenTheLastOpIs) {
  start(start_info());
  submit(4);
  const auto first = of_type(drain(), PacketType::contribution);
  hear(DrainStep::ask);
  say();
  hear(DrainStep::end, 2);
  EXPECT_TRUE(session->ends());
  EXPECT_EQ(session->op_limit(), 2u);
  receive_result(first.at(0));
  EXPECT_FALSE(session->drained()) << "another rank has begun op 1";
  submit(4);
  const auto second = of_type(drain(), PacketType::contribution);
  EXPECT_FALSE(session->drained());
  receive_result(second.at(0));
  EXPECT_EQ(session->drained(), (wire::Resumption{kId, 2}));
}

TEST_F(SessionDrainTest, Rule22_AnIdleRankIsThroughAtOnce) {
  start(start_info());
  hear(DrainStep::ask);
  EXPECT_FALSE(session->drained());
  hear(DrainStep::end, 0);
  EXPECT_EQ(session->drained(), (wire::Resumption{kId, 0}));
}

TEST_F(SessionDrainTest, Rule22_WhatDoesNotFitIsDropped) {
  start(start_info());
  submit(4);
  hear(DrainStep::end, 1);
  EXPECT_FALSE(session->ends()) << "it was not asked";
  hear(DrainStep::ask, 0, 0);
  EXPECT_EQ(session->op_limit(), kNoOp);
  hear(DrainStep::ask);
  hear(DrainStep::ask, 0, kId + 1);
  hear(DrainStep::end, 1, kId + 1);
  hear(DrainStep::end, 0);
  EXPECT_FALSE(session->ends()) << "op 0 has begun";
  hear(DrainStep::end, 1);
  EXPECT_TRUE(session->ends());
  EXPECT_EQ(session->counters().drops.total(), 5u);
}

// Its next call waits for the answer, and no op that is open has a timeout.
TEST_F(SessionDrainTest, O1_ASwitchThatAsksAndDiesIsNoticed) {
  start(start_info());
  const Duration lease = Duration::ms(start_info().lease_ms);
  hear(DrainStep::ask);
  for (int beat = 0; beat < 20; ++beat) {
    run_for(lease / 2);
    hear(DrainStep::ask);
    ASSERT_EQ(session->state(), SessionState::running) << "it repeats its question";
  }
  run_for(lease - Duration::ms(10));
  EXPECT_EQ(session->state(), SessionState::running);
  run_for(Duration::ms(20));
  ASSERT_EQ(session->state(), SessionState::failed);
  EXPECT_THAT(session->failure()->text, HasSubstr("udp://10.0.0.1 did not answer for 3 s"));
  EXPECT_EQ(session->failure()->reason, wire::Reason::parent_lost);
}

TEST_F(SessionDrainTest, O1_AfterTheEndOfTheEpochIsKnownSilenceIsNoFault) {
  start(start_info());
  hear(DrainStep::ask);
  hear(DrainStep::end, 3);
  run_for(Duration::ms(start_info().lease_ms) * 3);
  EXPECT_EQ(session->state(), SessionState::running);
}

TEST_F(SessionDrainTest, Rule22_ARankWithAModelRefuses) {
  start(start_info());
  Call call;
  call.data.resize(4);
  call.op.data = reinterpret_cast<std::byte*>(call.data.data());
  call.op.count = 4;
  call.op.dtype = wire::DType::float32;
  call.op.collective = wire::Collective::update;
  session->submit(call.op, now);
  hear(DrainStep::ask);
  EXPECT_THAT(say(), ElementsAre(wire::Drain{DrainStep::refuse, kId, 1, 0}));
  session->fail_locally("over");
}

TEST_F(SessionDrainTest, Rule22_AFailedEpochHoldsNothingBack) {
  start(start_info());
  hear(DrainStep::ask);
  session->fail_locally("over");
  EXPECT_EQ(session->op_limit(), kNoOp);
  EXPECT_FALSE(session->drained());
}

TEST_F(SessionDrainTest, Rule22_TheNextEpochIsJoinedInAHurry) {
  options.resumes = {kId, 5};
  create();
  const auto joins = run_for(Duration::ms(35));
  ASSERT_EQ(joins.size(), 4u);
  EXPECT_EQ(wire::find_resumption(joins[0].extensions), options.resumes);
  run_for(Duration::seconds(2));
  EXPECT_LE(run_for(Duration::ms(500)).size(), 6u) << "but not for ever";
}

TEST_F(SessionDrainTest, Rule22_ARefusalToGoOnIsFinalAndNamesTheCause) {
  options.resumes = {kId, 5};
  for (const auto reason : {wire::Reason::rank_restarted, wire::Reason::lease_expired}) {
    create();
    drain();
    wire::ExtensionWriter w(room);
    w.add_nonce(kNonce);
    w.add_missing_ids(std::array{2u});
    wire::Header h = from_switch(PacketType::nack);
    h.epoch = 0;
    h.reason = reason;
    receive(h, &w);
    ASSERT_EQ(session->state(), SessionState::failed);
    EXPECT_EQ(session->failure()->reason, reason);
    EXPECT_THAT(session->failure()->ranks, ElementsAre(2u));
  }
}

// Switches read it one after the other.
TEST_F(SessionDrainTest, Rule22_JoinOutlastsThatAJobHasMovedToOtherSwitches) {
  options.resumes = {kId, 5};
  create();
  drain();
  wire::ExtensionWriter w(room);
  w.add_nonce(kNonce);
  wire::Header h = from_switch(PacketType::nack);
  h.epoch = 0;
  h.reason = wire::Reason::unknown_job;
  receive(h, &w);
  EXPECT_EQ(session->state(), SessionState::joining);
  EXPECT_FALSE(run_for(Duration::ms(100)).empty()) << "it says JOIN again";
  run_for(Membership::kMoveTime);
  EXPECT_EQ(session->state(), SessionState::joining);
  receive(h, &w);
  ASSERT_EQ(session->state(), SessionState::failed);
  EXPECT_EQ(session->failure()->reason, wire::Reason::unknown_job);
  EXPECT_EQ(session->failure()->text,
            "job 1: the switch refused rank 1 of 3 (unknown-job): the switch has no such job");
}

}  // namespace
}  // namespace tributary::worker
