// What a running session makes of packets: results, answers to probes, refusals (rules 1, 5 to 7).
#include <gmock/gmock.h>

#include "tests/worker/session_fixture.h"

namespace tributary::worker {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using wire::PacketType;

TEST_F(SessionTest, ResultIsWrittenExactlyOnce) {
  start(start_info());
  Call& call = submit(4);
  const auto sent = drain();
  receive_result(sent[0], 100);
  EXPECT_EQ(session->take_finished(), &call.op);
  EXPECT_EQ(call.data[3], 103);
  receive_result(sent[0], 500);  // a duplicate, as multicast and answer may both arrive
  EXPECT_EQ(call.data[3], 103);
  EXPECT_EQ(session->counters().duplicate_results.get(), 1u);
  EXPECT_EQ(session->counters().results.get(), 1u);
}

TEST_F(SessionTest, DuplicateAheadOfTheWindowBaseIsCountedToo) {
  start(start_info());
  submit(8);
  const auto sent = drain();
  receive_result(sent[1]);
  receive_result(sent[1]);
  EXPECT_EQ(session->counters().duplicate_results.get(), 1u);
  EXPECT_FALSE(session->idle());
}

// T13, rule 14: from the stated op on its packets say that they are for no sum on the way.
TEST_F(SessionTest, T13AnExcludedRankFlagsItsData) {
  start(start_info());
  const auto word = [&](bool excluded, std::uint32_t op) {
    wire::Header h = from_switch(PacketType::lease);
    h.flags = excluded ? wire::kFlagExcluded : 0u;
    h.op = op;
    receive(h);
  };
  std::uint32_t op = 0;
  const auto flagged = [&] {
    submit(4);
    const Sent sent = drain().at(0);
    EXPECT_EQ(sent.header.op, op++);
    receive_result(sent);
    session->take_finished();
    const std::uint32_t both = wire::kFlagBypass | wire::kFlagExcluded;
    EXPECT_TRUE((sent.header.flags & both) == 0 || (sent.header.flags & both) == both);
    return (sent.header.flags & both) != 0;
  };
  EXPECT_FALSE(flagged());
  word(true, 2);
  EXPECT_FALSE(flagged()) << "op 1 is before it";
  EXPECT_TRUE(flagged());
  word(true, 2);  // twice
  word(false, 4);
  word(true, 2);  // late
  EXPECT_TRUE(flagged()) << "op 3 is still to be flagged";
  EXPECT_FALSE(flagged());
  word(true, 5);
  EXPECT_TRUE(flagged());
  word(false, 4);  // late
  EXPECT_TRUE(flagged());
  word(false, 0);  // it never was
  EXPECT_FALSE(flagged());
}

// Rule 5, and nothing from the wire is used before it is checked.
TEST_F(SessionTest, ResultsThatDoNotFitAreRefusedAndCounted) {
  start(start_info());
  Call& call = submit(4);
  const Sent sent = drain()[0];
  const std::vector<std::byte> payload = plus(sent.payload, 100);
  const auto refused = [&](auto change, DropReason reason) {
    wire::Header h = result_of(sent);
    change(h);
    const auto before = session->counters().drops.get(reason);
    receive(h, nullptr,
            std::span(payload).first(h.element_count * wire::size_of(h.dtype) <= payload.size()
                                         ? h.element_count * wire::size_of(h.dtype)
                                         : payload.size()));
    EXPECT_EQ(session->counters().drops.get(reason), before + 1) << drop_label(reason);
  };
  using H = wire::Header;
  refused([](H& h) { h.job = 2; }, DropReason::unknown_job);
  refused([](H& h) { h.epoch = kEpoch - 1; }, DropReason::stale_epoch);
  refused([](H& h) { h.attempt = 1; }, DropReason::stale_epoch);
  refused([](H& h) { h.shard = 1; }, DropReason::bad_shard);
  refused([](H& h) { h.plane = 1; }, DropReason::bad_shard);
  refused([](H& h) { h.seq = 1; }, DropReason::beyond_window);
  refused([](H& h) { h.op = 1; }, DropReason::op_mismatch);
  refused([](H& h) { h.chunk = 1; }, DropReason::op_mismatch);
  refused([](H& h) { h.element_count = 3; }, DropReason::op_mismatch);
  refused([](H& h) { h.dtype = wire::DType::float32; }, DropReason::op_mismatch);
  refused([](H& h) { h.reduce_op = wire::ReduceOp::max; }, DropReason::op_mismatch);
  refused([](H& h) { h.collective = wire::Collective::reduce; }, DropReason::op_mismatch);
  refused([](H& h) { h.covered = 2; }, DropReason::op_mismatch);
  refused([](H& h) { h.type = PacketType::join; }, DropReason::bad_type);
  EXPECT_EQ(call.data[3], 3);
  EXPECT_EQ(session->take_finished(), nullptr);
  receive_result(sent);
  EXPECT_EQ(session->take_finished(), &call.op);
}

// Rule 6: a header-only question first; data only when the switch lacks it.
TEST_F(SessionTest, LostContributionIsProbedThenResent) {
  start(start_info());
  submit(4);
  const Sent sent = drain()[0];
  EXPECT_TRUE(run_for(Duration::ms(19)).empty());
  const auto probes = run_for(Duration::ms(1));
  ASSERT_EQ(probes.size(), 1u);
  EXPECT_EQ(probes[0].header.type, PacketType::probe);
  EXPECT_EQ(probes[0].header.seq, sent.header.seq);
  EXPECT_EQ(probes[0].header.op, sent.header.op);
  EXPECT_TRUE(probes[0].payload.empty());
  EXPECT_TRUE(drain().empty());

  receive(answer(probes[0], PacketType::unknown));
  const auto again = drain();
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].header.type, PacketType::contribution);
  EXPECT_EQ(again[0].header.flags, wire::kFlagLast | wire::kFlagResend);
  EXPECT_EQ(again[0].payload, sent.payload);
  receive(answer(probes[0], PacketType::unknown));  // its duplicate changes nothing
  EXPECT_TRUE(drain().empty());
  EXPECT_EQ(session->counters().resends.get(), 1u);
}

TEST_F(SessionTest, LostResultIsAnsweredByAProbe) {
  start(start_info());
  Call& call = submit(4);
  const Sent sent = drain()[0];
  ASSERT_EQ(of_type(run_for(Duration::ms(20)), PacketType::probe).size(), 1u);
  receive_result(sent);
  EXPECT_EQ(session->take_finished(), &call.op);
  EXPECT_TRUE(of_type(run_for(Duration::seconds(2)), PacketType::probe).empty());
}

// Karn: an answer to a probed or resent chunk says nothing about the round trip.
TEST_F(SessionTest, ProbedChunksGiveNoRoundTripSample) {
  start(start_info());
  submit(4);
  Sent sent = drain()[0];
  run_for(Duration::ms(30));
  receive_result(sent);
  EXPECT_EQ(session->counters().smoothed_rtt_ns.get(), 0u);
  submit(4);
  sent = drain()[0];
  now = now + Duration::ms(3);
  receive_result(sent);
  EXPECT_EQ(session->counters().smoothed_rtt_ns.get(), 3'000'000u);
  // The timer is at its floor of 10 ms now.
  submit(4);
  drain();
  EXPECT_TRUE(of_type(run_for(Duration::ms(9)), PacketType::probe).empty());
  EXPECT_EQ(of_type(run_for(Duration::ms(1)), PacketType::probe).size(), 1u);
}

// Rules 1 and 18: a refusal may be about one packet whose source was damaged where no checksum
// shows it. The rank itself is refused when the switch says nothing else for a lease.
TEST_F(SessionTest, ASenderMismatchEndsTheEpochOnlyWhenItLasts) {
  start(start_info());
  const Call& call = submit(8);
  wire::Header nack = from_switch(PacketType::nack);
  nack.reason = wire::Reason::sender_mismatch;
  const auto refuse_for = [&](Duration d) {
    for (const Instant end = now + d; now < end && session->state() == SessionState::running;
         now = now + Duration::ms(100)) {
      drain();
      receive(nack);
    }
  };
  const std::vector<Sent> sent = drain();
  refuse_for(Duration::ms(2900));
  receive(answer(sent[0], PacketType::pending));  // said to a member
  refuse_for(Duration::ms(2900));
  EXPECT_EQ(session->state(), SessionState::running);
  receive_result(sent[0]);
  receive_result(sent[1]);
  EXPECT_FALSE(call.op.failure);
  refuse_for(Duration::seconds(8));  // nothing is open: no answer is due
  EXPECT_EQ(session->state(), SessionState::running);

  submit(4);
  refuse_for(Duration::seconds(4));
  ASSERT_EQ(session->state(), SessionState::failed);
  EXPECT_EQ(session->failure()->reason, wire::Reason::sender_mismatch);
  EXPECT_GE(session->counters().drops.get(DropReason::sender_mismatch), 29u + 29u + 80u + 30u);
}

TEST_F(SessionTest, AnyOtherRefusalEndsTheEpochAtOnce) {
  start(start_info());
  submit(4);
  wire::Header nack = from_switch(PacketType::nack);
  nack.reason = wire::Reason::not_joined;
  receive(nack);
  EXPECT_EQ(session->state(), SessionState::failed);
}

TEST_F(SessionTest, TimeoutNamesJobOpChunkAndMissingRanks) {
  start(start_info());
  Call& done = submit(4);
  Call& stuck = submit(8);
  Call& later = submit(4);
  auto sent = drain();
  receive_result(sent[0]);
  EXPECT_EQ(session->take_finished(), &done.op);
  receive_result(sent[1]);
  const Instant end = now + options.op_timeout;
  while (session->next_wakeup() < end) {
    now = session->next_wakeup();
    for (const Sent& p : of_type(drain(), PacketType::probe))
      if (p.header.op == 1) receive_missing(answer(p, PacketType::pending), {0, 2});
  }
  EXPECT_EQ(session->state(), SessionState::running);
  run_to(end);
  EXPECT_EQ(session->state(), SessionState::failed);
  ASSERT_EQ(session->take_finished(), &stuck.op);
  EXPECT_EQ(stuck.op.failure->text,
            "job 1 op 1 chunk 1: timed out: no result within the timeout of 10 s: waiting for "
            "ranks 0 and 2");
  EXPECT_THAT(stuck.op.failure->ranks, ElementsAre(0u, 2u));
  ASSERT_EQ(session->take_finished(), &later.op);
  EXPECT_EQ(later.op.failure->text, "job 1 op 2 was not done: " + stuck.op.failure->text);
  // Nothing of a failed epoch touches the buffers any more; later ops fail at once.
  receive_result(sent[2]);
  EXPECT_EQ(stuck.data[4], 4);
  Call& after = submit(4);
  EXPECT_EQ(session->take_finished(), &after.op);
  EXPECT_TRUE(after.op.failure);
}

TEST_F(SessionTest, TimeoutSaysThatTheSwitchDidNotAnswer) {
  start(start_info());
  Call& call = submit(4);
  run_for(options.op_timeout);
  ASSERT_TRUE(call.op.failure);
  EXPECT_EQ(call.op.failure->text,
            "job 1 op 0 chunk 0: timed out: no result within the timeout of 10 s: the switch did "
            "not answer at "
            "udp://10.0.0.1");
}

// The limit counts from an op's turn, not from its submission.
TEST_F(SessionTest, WaitingForEarlierOpsDoesNotCount) {
  start(start_info());
  submit(4);
  Call& second = submit(4);
  const auto sent = drain();
  run_for(Duration::seconds(8));
  receive_result(sent[0]);
  run_for(Duration::seconds(8));
  EXPECT_EQ(session->state(), SessionState::running);
  receive_result(sent[1]);
  session->take_finished();
  EXPECT_EQ(session->take_finished(), &second.op);
  EXPECT_FALSE(second.op.failure);
}

TEST_F(SessionTest, MismatchSaysWhoSentWhat) {
  start(start_info());
  Call& call = submit(4);
  drain();
  wire::OpError error;
  error.expected = {
      1024, 0, 4, wire::DType::float32, wire::ReduceOp::sum, wire::Collective::allreduce, false};
  error.got = {1000, 2, 4, wire::DType::float32, wire::ReduceOp::sum, wire::Collective::allreduce,
               false};
  wire::ExtensionWriter w(room);
  w.add(error);
  wire::Header h = from_switch(PacketType::abort);
  h.reason = wire::Reason::op_mismatch;
  receive(h, &w);
  ASSERT_TRUE(call.op.failure);
  EXPECT_EQ(call.op.failure->reason, wire::Reason::op_mismatch);
  EXPECT_EQ(call.op.failure->text,
            "job 1 op 0: rank 2 sent 1000 float32, rank 0 sent 1024 float32");
  EXPECT_THAT(call.op.failure->ranks, ElementsAre(2u, 0u));
}

TEST_F(SessionTest, AbortOfAnotherEpochIsIgnored) {
  start(start_info());
  wire::Header h = from_switch(PacketType::abort);
  h.epoch = kEpoch - 1;
  h.reason = wire::Reason::shutdown;
  receive(h);
  EXPECT_EQ(session->state(), SessionState::running);
  h.type = PacketType::nack;
  receive(h);
  EXPECT_EQ(session->state(), SessionState::running);
}

TEST_F(SessionTest, NackEndsTheEpochWithItsReason) {
  start(start_info());
  Call& call = submit(4);
  wire::Header h = from_switch(PacketType::nack);
  h.reason = wire::Reason::not_joined;
  receive(h);
  ASSERT_TRUE(call.op.failure);
  EXPECT_EQ(call.op.failure->reason, wire::Reason::not_joined);
  EXPECT_EQ(session->next_wakeup(), Instant::max());
}

}  // namespace
}  // namespace tributary::worker
