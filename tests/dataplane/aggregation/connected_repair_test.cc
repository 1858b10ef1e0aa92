// What a connection repairs, and what a peer may not make of it: ends that are said again, results
// that are asked for, packets that were taken in part.
#include "tests/dataplane/aggregation/connected_fixture.h"

namespace tributary::dataplane {
namespace {

class ConnectedRepairTest : public ConnectedTest {
 protected:
  static config::SwitchConfig config_with_room() {
    auto config = connected_config();
    config.memory.reserve_megabytes = 1;
    return config;
  }
  // DREQs within that time.
  std::size_t disconnects(Duration time) {
    pass(time);
    const auto sent = sw->sent(0);
    return static_cast<std::size_t>(std::count_if(sent.begin(), sent.end(), [](const Bytes& frame) {
      return RcRank::attribute_of(frame) == kDreq;
    }));
  }
};

TEST_F(ConnectedRepairTest, A5_AnEndIsSaidAgainUntilTheRankConfirmsIt) {
  start(connected_config());
  run();
  sw->inject(1, ranks[1].frame(ranks[1].header(wire::PacketType::leave), {}, {}));
  settle();
  inject(write(0, 0, values(1)));
  pass(Duration::ms(20));
  sw->sent(0);
  EXPECT_EQ(disconnects(Duration::ms(100)), 1u) << "after 50 ms";
  inject(rc->to_switch(wire::CmAttribute::drep));
  EXPECT_EQ(disconnects(Duration::seconds(5)), 0u);
}

TEST_F(ConnectedRepairTest, A5_SoItIsWhenTheRankHasComeAnew) {
  start(connected_config());
  run();
  sw->inject(1, ranks[1].frame(ranks[1].header(wire::PacketType::leave), {}, {}));
  settle();
  inject(write(0, 0, values(1)));
  const RcRank before = *rc;
  rc->id += 1;
  rc->qpn += 1;
  ASSERT_NO_FATAL_FAILURE(connect());
  EXPECT_EQ(disconnects(Duration::ms(100)), 1u) << "of the connection before";
  inject(before.to_switch(wire::CmAttribute::drep));
  EXPECT_EQ(disconnects(Duration::ms(500)), 0u);
  ASSERT_NE(connection(), nullptr);
  EXPECT_EQ(connection()->remote_id, rc->id);
}

// It has failed, and nothing has been said of that yet.
TEST_F(ConnectedRepairTest, A5_SoItIsWhenARankFailsAsTheSwitchChangesOrEnds) {
  for (const bool ends : {false, true}) {
    auto config = config_with_room();
    start(config);
    run();
    pass(Duration::ms(5));  // connections are looked at again in a millisecond
    rc->id += 1;
    sw->inject(0, rc->req());
    sw->turn();
    ASSERT_EQ(connection()->state, Connection::State::failed) << "its other end has begun anew";
    config.jobs[0].window = 8;
    if (ends)
      sw->packet_loop().shut_down(sw->now);
    else
      sw->reload(config);
    EXPECT_EQ(disconnects(Duration::ms(20)), 1u);
    EXPECT_EQ(disconnects(Duration::ms(140)), 2u) << "after 50 and 150 ms";
    ranks.clear();
  }
}

// The job is another one by then, or there is none.
TEST_F(ConnectedRepairTest, A5_SoItIsWhenItsJobHasChanged) {
  for (const bool goes : {false, true}) {
    auto config = config_with_room();
    start(config);
    run();
    if (goes)
      config.jobs.erase(config.jobs.begin());
    else
      config.jobs[0].window = 8;
    sw->reload(config);
    settle();
    ASSERT_TRUE(has_disconnected());
    EXPECT_EQ(connection(), nullptr) << "its place is free";
    EXPECT_EQ(disconnects(Duration::ms(160)), 2u);
    config.jobs.back().lease = Duration::seconds(9);
    sw->reload(config);
    EXPECT_EQ(disconnects(Duration::ms(210)), 1u) << "over another reload, ever more rarely";
    const auto before = sw->drops(0, DropReason::rdma_qp);
    inject(rc->to_switch(wire::CmAttribute::drep));
    EXPECT_EQ(sw->drops(0, DropReason::rdma_qp), before);
    EXPECT_EQ(disconnects(Duration::seconds(5)), 0u);
    ranks.clear();
  }
}

TEST_F(ConnectedRepairTest, A5_ItIsNotSaidForEver) {
  auto config = config_with_room();
  start(config);
  run();
  config.jobs[0].window = 8;
  sw->reload(config);
  EXPECT_EQ(disconnects(Duration::seconds(4)), kMostDisconnects);
  EXPECT_EQ(disconnects(Duration::seconds(4)), 0u);
  EXPECT_TRUE(sw->packet_loop().connections().empty());
}

// Another end's DREP, or one from another host, confirms nothing.
TEST_F(ConnectedRepairTest, A5_OthersDoNotConfirmIt) {
  auto config = config_with_room();
  start(config);
  run();
  config.jobs[0].window = 8;
  sw->reload(config);
  settle();
  ASSERT_TRUE(has_disconnected());
  const RcRank good = *rc;
  rc->switch_id ^= 0x100;
  expect_dropped(rc->to_switch(wire::CmAttribute::drep), DropReason::rdma_qp);
  *rc = good;
  rc->id += 1;
  expect_dropped(rc->to_switch(wire::CmAttribute::drep), DropReason::rdma_qp);
  *rc = good;
  rc->cm.send.source_ip += 1;
  expect_dropped(rc->to_switch(wire::CmAttribute::drep), DropReason::rdma_qp);
  EXPECT_GT(disconnects(Duration::ms(200)), 0u);
}

// The switch goes on for a moment.
TEST_F(ConnectedRepairTest, A5_AndWhenTheSwitchEnds) {
  start(connected_config());
  run();
  sw->packet_loop().shut_down(sw->now);
  EXPECT_TRUE(has_disconnected());
  EXPECT_EQ(disconnects(Duration::ms(160)), 2u);
  inject(rc->to_switch(wire::CmAttribute::drep));
  EXPECT_TRUE(sw->packet_loop().connections().empty());
}

// The rank has written 200 chunks, and none of them has a result.
class QuestionsTest : public ConnectedRepairTest {
 protected:
  static constexpr std::uint32_t kOps = 200;
  void begin() {
    auto config = connected_config();
    config.jobs[0].window = 256;
    start(config);
    rc->request.ops = 256;
    run();
    for (std::uint32_t op = 0; op < kOps; ++op) {
      sw->inject(0, write(op, op * 64, values(1)));
      sw->turn();
    }
  }
  [[nodiscard]] std::uint64_t asked() const {
    return sw->packet_loop().engine().counters(0).probes.get();
  }
};

TEST_F(QuestionsTest, Rule4_AreBoundedInATurn) {
  begin();
  const std::uint64_t before = asked();
  std::uint64_t most = 0;
  for (int i = 0; i < 50; ++i) {
    const std::uint64_t so_far = asked();
    pass(Duration::ms(5));
    most = std::max(most, asked() - so_far);
  }
  EXPECT_GE(asked() - before, kOps);
  EXPECT_LE(most, 64u);
}

// A turn asks 64 questions, so that a round of 200 takes longer than rounds are apart.
TEST_F(QuestionsTest, Rule4_ARoundGoesOnToTheLastChunk) {
  begin();
  bool has_ended = false;
  for (int i = 0; i < 20 && !has_ended; ++i) {
    const std::uint64_t before = asked();
    sw->now = sw->now + Duration::ms(40);
    sw->turn();
    has_ended = asked() - before == kOps % 64;
  }
  EXPECT_TRUE(has_ended) << "each round began anew after three turns";
}

// Four chunks are in the window, and the packet's second one is beyond it.
class PartlyTakenTest : public ConnectedTest {
 protected:
  void begin() {
    start(connected_config());
    run();
    for (std::uint32_t op = 0; op < 4; ++op) inject(write(op, op * 64, values(1)));
    contribute(0, values(100));
    inject(rc->answer(kAck, RcRank::kPsn));
    expect_answer(inject(write(4, 0, values(1, 32))), 0x20 | 14, 4);
    EXPECT_EQ(taken(), 6u);
  }
  // Contributions of both ranks.
  [[nodiscard]] std::uint64_t taken() const {
    return sw->packet_loop().engine().counters(0).contributions.get();
  }
  void expect_end(const Bytes& frame) {
    const auto sent = inject(frame);
    ASSERT_GE(sent.size(), 2u);
    const auto nak = read_rc(sent[0]);
    ASSERT_TRUE(nak);
    EXPECT_EQ(nak->aeth.syndrome, 0x61);
    EXPECT_EQ(RcRank::attribute_of(sent[1]), kDreq);
    EXPECT_EQ(taken(), 6u);
  }
};

TEST_F(PartlyTakenTest, A5_TheSamePacketGoesOn) {
  begin();
  contribute(1, values(100));
  inject(rc->answer(kAck, psn_after(RcRank::kPsn)));
  expect_answer(inject(write(4, 0, values(1, 32))), kAck, 4);
  EXPECT_EQ(taken(), 8u);
}

TEST_F(PartlyTakenTest, A5_AnotherAddressEndsTheConnection) {
  begin();
  expect_end(write(4, 128, values(1, 32)));
}

TEST_F(PartlyTakenTest, A5_AnotherLengthEndsTheConnection) {
  begin();
  expect_end(write(4, 0, values(1)));
}

TEST_F(PartlyTakenTest, A5_AnEmptyPacketEndsTheConnection) {
  begin();
  expect_end(write(4, 0, {}));
}

// More are made than may be on their way: the rest is asked of the engine, and sent once.
TEST_F(ConnectedRepairTest, ResultsThatHadToWaitAreNotSentAgain) {
  constexpr std::uint32_t kOps = 100;
  auto config = connected_config();
  config.jobs[0].window = 128;
  start(config);
  rc->request.ops = 128;
  run();
  for (std::uint32_t op = 0; op < kOps; ++op) {
    sw->inject(0, write(op, op * 64, values(1)));
    sw->inject(1, ranks[1].contribution(op, values(100)));
    sw->turn();
  }
  inject(rc->answer(kAck, RcRank::kPsn + SendSide::kMostOnTheWay - 1));
  EXPECT_EQ(connection()->counters.results.get(), kOps);
  EXPECT_EQ(connection()->counters.resent.get(), 0u);
}

}  // namespace
}  // namespace tributary::dataplane
