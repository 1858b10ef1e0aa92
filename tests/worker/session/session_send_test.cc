// What a running session sends: windows, shards, headers, acknowledgements (rules 2, 4, 8, 10).
#include <gmock/gmock.h>

#include "core/op_number.h"
#include "tests/worker/session_fixture.h"
#include "worker/transport/packet_check.h"

namespace tributary::worker {
namespace {

using wire::PacketType;

TEST_F(SessionTest, ContributionCarriesWhatTheSwitchNeeds) {
  start(start_info());
  Call& call = submit(6);  // chunks of 4 int32
  const auto sent = drain();
  ASSERT_EQ(sent.size(), 2u);
  const wire::Header& first = sent[0].header;
  EXPECT_EQ(first.type, PacketType::contribution);
  EXPECT_EQ(first.flags, 0u);
  EXPECT_EQ(first.epoch, kEpoch);
  EXPECT_EQ(first.covered, 1u);
  EXPECT_EQ(first.origin, 1u);
  EXPECT_EQ(first.child, 1);
  EXPECT_EQ(first.fan_in, 3);
  EXPECT_EQ(first.dtype, wire::DType::int32);
  EXPECT_EQ(first.reduce_op, wire::ReduceOp::sum);
  EXPECT_EQ(first.element_count, 4);
  EXPECT_EQ(wire::find_task_information(sent[0].extensions), (wire::TaskInformation{6, 3, 0}));
  const wire::Header& last = sent[1].header;
  EXPECT_EQ(last.flags, wire::kFlagLast);
  EXPECT_EQ(last.chunk, 1u);
  EXPECT_EQ(last.seq, 1u);
  EXPECT_EQ(last.slot, 1u);
  EXPECT_EQ(last.element_count, 2);
  EXPECT_TRUE(sent[1].extensions.empty());
  EXPECT_EQ(std::memcmp(sent[1].payload.data(), call.data.data() + 4, 8), 0);
}

// O2: what is summed is summed by the completion host, whatever the switch could do.
TEST_F(SessionTest, O2_ARankMayAskForTheCompletionHost) {
  options.at_host = true;
  create();
  start(start_info());
  submit(6);
  const auto sent = drain();
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_EQ(sent[0].header.flags, wire::kFlagAtPs);
  EXPECT_EQ(sent[1].header.flags, wire::kFlagAtPs | wire::kFlagLast);
  const auto probes = of_type(run_for(Duration::ms(30)), PacketType::probe);
  ASSERT_EQ(probes.size(), 1u);
  receive(answer(probes[0], PacketType::unknown));
  const auto again = of_type(drain(), PacketType::contribution);
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].header.flags, wire::kFlagAtPs | wire::kFlagResend);
}

// Op numbers do not wrap: the switch could not tell the op from one that is long over.
TEST_F(SessionTest, TheOpAfterTheLastNumberFailsAndThoseBeforeGoOn) {
  start(start_info());
  session->skip_ops_before(kNoOp - 1);
  Call& last = submit(1);
  for (int again = 0; again < 2; ++again) {
    Call& beyond = submit(1);
    EXPECT_EQ(session->take_finished(), &beyond.op);
    ASSERT_TRUE(beyond.op.failure);
    EXPECT_THAT(beyond.op.failure->text, testing::HasSubstr("all 4294967295 ops"));
  }
  EXPECT_EQ(session->state(), SessionState::running);
  const auto sent = drain();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].header.op, kNoOp - 1);
  EXPECT_FALSE(last.op.failure);
  EXPECT_EQ(session->take_finished(), nullptr);
}

class LostSums : public SessionTest {
 protected:
  void lose(const Sent& s) {
    wire::Header h = answer(s, PacketType::unknown);
    h.reason = wire::Reason::resend;
    receive(h);
    const auto again = drain();
    ASSERT_EQ(again.size(), 1u) << "without a probe";
    EXPECT_EQ(again[0].header.flags & ~wire::kFlagLast, wire::kFlagResend);
    receive(h);
    EXPECT_TRUE(drain().empty()) << "a duplicate";
    lost_.push_back(s);
  }
  void recover() {
    for (const Sent& s : std::exchange(lost_, {})) receive_result(s);
  }

  std::vector<Sent> lost_;  // whose results have not come
};

// O2: where all sums are lost between switches, a rank asks for the host, but for samples.
TEST_F(LostSums, O2_LostSumsMakeARankAskForTheCompletionHost) {
  constexpr std::uint32_t kRow = Fallback::kInARow;
  constexpr std::uint32_t kFirst = Fallback::kSampleEvery - kRow;
  start(start_info(kRow), kFirst);
  submit(4 * 4 * kRow);
  auto sent = drain();
  ASSERT_EQ(sent.size(), kRow);
  for (const Sent& s : sent) lose(s);
  recover();
  const auto asking = drain();
  ASSERT_EQ(asking.size(), kRow);
  for (const Sent& s : asking)
    EXPECT_EQ((s.header.flags & wire::kFlagAtPs) != 0, s.header.seq != kFirst + kRow)
        << s.header.seq;
  lose(asking[0]);
  recover();
  for (const Sent& s : std::span(asking).subspan(1)) receive_result(s);
  const auto still = drain();
  ASSERT_EQ(still.size(), kRow);
  for (const Sent& s : still) EXPECT_NE(s.header.flags & wire::kFlagAtPs, 0u) << s.header.seq;
}

// A chunk without elements, as a barrier's, is not lost with its sum, and does not break the row.
TEST_F(LostSums, O2_WhatHasNoElementsSaysNothingOfSums) {
  constexpr std::uint32_t kRow = Fallback::kInARow;
  start(start_info(kRow));
  for (int half = 0; half < 2; ++half) {
    submit(4 * kRow / 2);
    for (const Sent& s : drain()) lose(s);
    recover();
    submit(0);
    for (const Sent& s : drain()) receive_result(s);
  }
  submit(4);
  const auto sent = drain();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_NE(sent[0].header.flags & wire::kFlagAtPs, 0u);
}

// An own packet that is lost says nothing of sums.
TEST_F(LostSums, LostContributionsDoNot) {
  constexpr std::uint32_t kRow = Fallback::kInARow;
  start(start_info(kRow));
  submit(4 * 2 * kRow);
  for (const Sent& s : drain()) {
    receive(answer(s, PacketType::unknown));
    receive_result(s);
  }
  const auto next = drain();
  ASSERT_EQ(next.size(), kRow);
  for (const Sent& s : next) EXPECT_EQ(s.header.flags & wire::kFlagAtPs, 0u) << s.header.seq;
}

// A sum that arrives ends the row.
TEST_F(LostSums, O2_ASumThatArrivesSaysThatOthersMay) {
  constexpr std::uint32_t kRow = Fallback::kInARow;
  start(start_info(kRow));
  submit(4 * 2 * kRow);
  const auto sent = drain();
  for (const Sent& s : std::span(sent).first(kRow - 1)) lose(s);
  recover();
  receive_result(sent[kRow - 1]);
  const auto next = drain();
  ASSERT_EQ(next.size(), kRow);
  lose(next[0]);
  recover();
  submit(4);
  const auto last = drain();
  ASSERT_EQ(last.size(), 1u);
  EXPECT_EQ(last[0].header.flags & wire::kFlagAtPs, 0u);
}

// Fan-in, membership and how to sum are agreed once, by file and START; but for its first chunk an
// op is headers and data.
TEST_F(SessionTest, A4_RequestsCarryDataAlone) {
  start(start_info(8));
  submit(4 * 8);
  const auto sent = drain();
  ASSERT_EQ(sent.size(), 8u);
  std::size_t beyond = 0;
  for (const Sent& s : sent) beyond += s.bytes.size() - wire::kHeaderBytes - s.payload.size();
  EXPECT_EQ(beyond, sent[0].extensions.size()) << "what says how large the op is, once";
  EXPECT_GT(beyond, 0u);
}

// Rule 2: seq s only when all results up to s − W are held, whatever came out of order.
TEST_F(SessionTest, WindowIsNeverExceeded) {
  start(start_info(4));
  submit(4 * 20);
  auto sent = drain();
  ASSERT_EQ(sent.size(), 4u);
  receive_result(sent[2]);
  receive_result(sent[1]);
  receive_result(sent[3]);
  EXPECT_TRUE(of_type(drain(), PacketType::contribution).empty());
  receive_result(sent[0]);
  const auto more = drain();
  ASSERT_EQ(more.size(), 4u);
  EXPECT_EQ(more[0].header.seq, 4u);
  EXPECT_EQ(more[0].header.slot, 0u);
  EXPECT_EQ(more[3].header.seq, 7u);
}

TEST_F(SessionTest, SequenceWraps) {
  start(start_info(4), 0xFFFFFFFE);
  Call& call = submit(4 * 10);
  std::vector<std::uint32_t> seqs;
  for (int turn = 0; turn < 10 && !call.op.failure; ++turn)
    for (const Sent& s : drain()) {
      seqs.push_back(s.header.seq);
      receive_result(s);
    }
  ASSERT_EQ(seqs.size(), 10u);
  EXPECT_EQ(seqs[1], 0xFFFFFFFFu);
  EXPECT_EQ(seqs[2], 0u);
  EXPECT_EQ(session->take_finished(), &call.op);
  EXPECT_EQ(call.data[39], 139);
}

TEST_F(SessionTest, ChunksSpreadOverShardsEachWithItsOwnSequence) {
  start(start_info(2, 16, 3));
  submit(4 * 5);  // chunks 0..4
  submit(4);      // shard 0 only
  auto sent = drain();
  ASSERT_EQ(sent.size(), 5u);
  for (const Sent& s : sent) {
    EXPECT_EQ(s.header.shard, s.header.chunk % 3);
    EXPECT_EQ(s.header.seq, s.header.chunk / 3);
  }
  // Shard 0's window holds chunks 0 and 3 of op 0; op 1 is next there.
  for (const Sent& s : sent)
    if (s.header.shard == 0) receive_result(s);
  sent = drain();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].header.op, 1u);
  EXPECT_EQ(sent[0].header.shard, 0);
  EXPECT_EQ(sent[0].header.seq, 2u);
}

TEST_F(SessionTest, OpsOfAnySizeTakeAtLeastOneChunk) {
  start(start_info(64));
  Call& empty = submit(0);
  Call& one = submit(1);
  Call& four = submit(4);
  Call& five = submit(5);
  const auto sent = drain();
  ASSERT_EQ(sent.size(), 5u);
  EXPECT_EQ(sent[0].header.element_count, 0);
  EXPECT_EQ(sent[0].header.flags, wire::kFlagLast);
  EXPECT_EQ(sent[1].header.element_count, 1);
  EXPECT_EQ(sent[4].header.op, 3u);
  EXPECT_EQ(sent[4].header.element_count, 1);
  for (const Sent& s : sent) receive_result(s);
  for (Call* c : {&empty, &one, &four, &five}) EXPECT_EQ(session->take_finished(), &c->op);
  EXPECT_EQ(session->take_finished(), nullptr);
  EXPECT_EQ(five.data, (std::vector<std::int32_t>{100, 101, 102, 103, 104}));
  EXPECT_TRUE(session->idle());
}

TEST_F(SessionTest, BarrierIsOneChunkWithoutElements) {
  start(start_info());
  Op op;
  op.collective = wire::Collective::barrier;
  session->submit(op, now);
  const auto sent = drain();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].header.collective, wire::Collective::barrier);
  EXPECT_EQ(sent[0].header.dtype, wire::DType::none);
  EXPECT_TRUE(sent[0].payload.empty());
  receive_result(sent[0]);
  EXPECT_EQ(session->take_finished(), &op);
}

// Rule 4: an idle shard tells the switch what it may forget; a busy one says it by sending.
TEST_F(SessionTest, IdleShardAcknowledgesAfter10ms) {
  start(start_info(4));
  submit(8);
  for (const Sent& s : drain()) receive_result(s);
  EXPECT_TRUE(run_for(Duration::ms(9)).empty());
  const auto sent = run_for(Duration::ms(1));
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].header.type, PacketType::ack);
  EXPECT_EQ(sent[0].header.seq, 2u);
  EXPECT_TRUE(of_type(run_for(Duration::ms(100)), PacketType::ack).empty());
}

TEST_F(SessionTest, FullWindowNeedsNoAck) {
  start(start_info(2));
  submit(4 * 4);
  for (const Sent& s : drain()) receive_result(s);
  EXPECT_EQ(of_type(drain(), PacketType::contribution).size(), 2u);
  EXPECT_TRUE(of_type(run_for(Duration::ms(15)), PacketType::ack).empty());
}

TEST_F(SessionTest, CrcJobsSealEveryPacket) {
  wire::StartInfo info = start_info();
  info.integrity = 1;
  start(info);
  submit(6);
  session->poll(now, batch);
  ASSERT_EQ(batch.size(), 2u);
  for (const Datagram& d : batch.datagrams()) {
    Sent s = copy(d);
    auto parsed = wire::parse(s.bytes);
    EXPECT_EQ(check_crc32c(s.bytes, std::get<wire::Packet>(parsed), true), DropReason::none);
    s.bytes.back() ^= std::byte{1};
    parsed = wire::parse(s.bytes);
    EXPECT_EQ(check_crc32c(s.bytes, std::get<wire::Packet>(parsed), true), DropReason::crc32c);
  }
}

// A transport without room loses nothing and changes nothing of what the switch sees.
TEST_F(SessionTest, RejectedDatagramsAreSentLaterAsTheyWere) {
  start(start_info(4));
  submit(4 * 4);
  session->poll(now, batch);
  ASSERT_EQ(batch.size(), 4u);
  session->rejected(batch, 1);
  const auto again = drain();
  ASSERT_EQ(again.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(again[i].header.seq, i + 1);
    EXPECT_EQ(again[i].header.flags & wire::kFlagResend, 0u);
  }
  EXPECT_EQ(session->counters().contributions.get(), 4u);
  EXPECT_EQ(session->counters().resends.get(), 0u);
}

TEST_F(SessionTest, BatchesAreBounded) {
  start(start_info(256, 16));
  submit(4 * 200);
  session->poll(now, batch);
  EXPECT_TRUE(batch.full());
  EXPECT_EQ(drain().size(), 200 - SendBatch::kCapacity);
}

}  // namespace
}  // namespace tributary::worker
