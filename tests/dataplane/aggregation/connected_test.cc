// T19, A5: a rank on an RC queue pair and one by UDP, through a switch.
#include "tests/dataplane/aggregation/connected_fixture.h"

namespace tributary::dataplane {
namespace {

TEST_F(ConnectedTest, T19_WritesAreSummedWithARankByUdp) {
  start(connected_config());
  run();
  EXPECT_EQ(rc->grant.ops, 4u);
  EXPECT_EQ(rc->grant.chunk_bytes, 64u);
  for (std::uint32_t op = 0; op < 40; ++op) {
    expect_answer(inject(write(op, op % 4 * 64, values(1))), kAck, op);
    expect_result(contribute(op, values(100)), op, sums());
    EXPECT_TRUE(inject(rc->answer(kAck, RcRank::kPsn + op)).empty());
    sw->sent(1);
  }
  EXPECT_EQ(completions(), 40u);
  EXPECT_EQ(sw->packet_loop().port_counters(0).drops.total(), 0u);
  EXPECT_EQ(sw->buffers_in_use(), 0u);
}

TEST_F(ConnectedTest, ADuplicateIsAcknowledgedAndNotSummed) {
  start(connected_config());
  run();
  expect_answer(inject(write(0, 0, values(1))), kAck, 0);
  expect_answer(inject(write(0, 0, values(7))), kAck, 0);
  EXPECT_EQ(sw->drops(0, DropReason::duplicate), 1u);
  expect_result(contribute(0, values(0)), 0, [] {
    Values sum(16);
    for (int i = 0; i < 16; ++i) sum[static_cast<std::size_t>(i)] = 1 + 2 * i;
    return sum;
  }());
}

TEST_F(ConnectedTest, AGapIsAskedForOnce) {
  start(connected_config());
  run();
  expect_answer(inject(write(1, 64, values(1))), 0x60, 0);
  EXPECT_TRUE(inject(write(2, 128, values(1))).empty());
  expect_answer(inject(write(0, 0, values(1))), kAck, 0);
  expect_answer(inject(write(1, 64, values(1))), kAck, 1);
  EXPECT_EQ(sw->drops(0, DropReason::rdma_psn), 2u);
}

TEST_F(ConnectedTest, BeyondTheWindowTheRankIsToWait) {
  start(connected_config());
  run();
  for (std::uint32_t op = 0; op < 4; ++op)
    expect_answer(inject(write(op, op * 64, values(1))), kAck, op);
  expect_answer(inject(write(4, 0, values(1))), 0x20 | 14, 4);
  contribute(0, values(100));
  inject(rc->answer(kAck, RcRank::kPsn));
  expect_answer(inject(write(4, 0, values(1))), kAck, 4);
}

TEST_F(ConnectedTest, DataBeforeStartIsToWaitToo) {
  start(connected_config());
  connect();
  expect_answer(inject(write(0, 0, values(1))), 0x20 | 24, 0);
}

TEST_F(ConnectedTest, DataStandsForALostRtu) {
  start(connected_config());
  const auto sent = inject(rc->req());
  ASSERT_TRUE(rc->take_rep(sent.at(0)));
  expect_answer(inject(write(0, 0, values(1))), 0x20 | 24, 0);
  ASSERT_NE(connection(), nullptr);
  EXPECT_EQ(connection()->state, Connection::State::joining);
}

TEST_F(ConnectedTest, Rule4_ALostResultIsWrittenAgain) {
  start(connected_config());
  run();
  for (std::uint32_t op = 0; op < 2; ++op) {
    inject(write(op, op * 64, values(1)));
    contribute(op, values(100));
  }
  const auto again = inject(rc->answer(0x60, RcRank::kPsn));
  ASSERT_EQ(again.size(), 2u);
  EXPECT_EQ(read_rc(again[0])->bth.psn, RcRank::kPsn);
  EXPECT_EQ(read_rc(again[1])->bth.psn, psn_after(RcRank::kPsn));
  EXPECT_EQ(read_rc(again[1])->immediate, 1u);
  EXPECT_TRUE(inject(rc->answer(kAck, RcRank::kPsn)).empty());
  pass(Duration::ms(40));
  sw->sent(0);
  pass(Duration::ms(20));
  const auto late = sw->sent(0);
  ASSERT_EQ(late.size(), 1u) << "no acknowledgement in time";
  EXPECT_EQ(read_rc(late[0])->bth.psn, psn_after(RcRank::kPsn));
}

TEST_F(ConnectedTest, ARankWithoutAReceiveIsSpared) {
  start(connected_config());
  run();
  inject(write(0, 0, values(1)));
  contribute(0, values(100));
  EXPECT_TRUE(inject(rc->answer(0x20 | 20, RcRank::kPsn)).empty());
  pass(Duration::ms(15));
  const auto sent = sw->sent(0);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(read_rc(sent[0])->bth.psn, RcRank::kPsn);
}

TEST_F(ConnectedTest, AQuietRankIsAskedWhetherItLives) {
  auto config = connected_config();
  config.jobs[0].lease = Duration::seconds(1);
  start(config);
  run();
  std::uint32_t psn = RcRank::kPsn;
  for (int i = 0; i < 8; ++i) {
    pass(Duration::ms(260));
    sw->inject(1, ranks[1].frame(ranks[1].header(wire::PacketType::lease), {}, {}));
    const auto questions = sw->sent(0);
    ASSERT_FALSE(questions.empty()) << "a WRITE without data asks";
    for (const Bytes& frame : questions) {
      const auto view = read_rc(frame);
      ASSERT_TRUE(view && view->payload.empty() && view->bth.acknowledge) << "the epoch lives";
      psn = view->bth.psn;
    }
    inject(rc->answer(kAck, psn));
  }
  EXPECT_EQ(connection()->state, Connection::State::running);
  pass(Duration::ms(1500));
  EXPECT_EQ(sw->packet_loop().engine().running_epoch(kJob), std::nullopt) << "and now it is gone";
}

TEST_F(ConnectedTest, RepeatedNaksDoNotMultiplyResults) {
  start(connected_config());
  run();
  inject(write(0, 0, values(1)));
  contribute(0, values(100));
  for (int i = 0; i < 20; ++i) sw->inject(0, rc->answer(0x60, RcRank::kPsn));
  sw->turn();
  EXPECT_EQ(sw->sent(0).size(), 1u);
  EXPECT_EQ(sw->drops(0, DropReason::reply_limit), 19u);
}

// A rank that lacks a result of what it wrote asks the engine, as ranks with the library do.
TEST_F(ConnectedTest, AMissingResultIsAskedFor) {
  start(connected_config());
  run();
  inject(write(0, 0, values(1)));
  const auto asked = [&] { return sw->packet_loop().engine().counters(0).probes.get(); };
  const std::uint64_t before = asked();
  pass(Duration::ms(450));
  EXPECT_GE(asked() - before, 3u);
  EXPECT_EQ(connection()->state, Connection::State::running);
}

// The mark is the packet's, in its IP header or as FECN, which no ICRC covers.
TEST_F(ConnectedTest, Rule15_DataThatMetAQueueIsMarkedForAllRanks) {
  start(connected_config());
  run();
  const auto marked = [&] { return sw->packet_loop().engine().counters(0).marked_data.get(); };
  Bytes frame = write(0, 0, values(1));
  frame[wire::kUdpPayloadOffset + 4] |= std::byte{0x80};
  inject(frame);
  EXPECT_EQ(marked(), 1u);
  contribute(0, values(100));
  inject(write(1, 64, values(1)));
  EXPECT_EQ(sw->packet_loop().engine().counters(0).contributions.get(), 3u);
  EXPECT_EQ(marked(), 1u) << "the next one met none";
}

// A root's data is passed on at once: it is no sum, and never in the rank's ring.
TEST_F(ConnectedTest, DataOfAnotherCollectiveEndsTheConnection) {
  start(connected_config());
  run();
  wire::Header h = ranks[1].header(wire::PacketType::contribution);
  h.flags = wire::kFlagLast;
  h.collective = wire::Collective::broadcast;
  h.covered = 1;
  h.dtype = wire::DType::int32;
  h.element_count = 16;
  const Values data = values(1);
  for (const Bytes& frame : inject(ranks[1].frame(h, {}, std::as_bytes(std::span(data))), 1))
    EXPECT_TRUE(!read_rc(frame) || read_rc(frame)->payload.empty());
  const Connection* const c = connection();
  EXPECT_TRUE(c == nullptr || c->state != Connection::State::running);
}

class ConnectedEndTest : public ConnectedTest {
 protected:
  // The rank's connection ends by this packet; the other rank is told, other jobs are not touched.
  void expect_end(const Bytes& frame, std::uint8_t syndrome, DropReason reason) {
    const auto before = sw->drops(0, reason);
    const auto sent = inject(frame);
    EXPECT_EQ(sw->drops(0, reason), before + 1);
    ASSERT_GE(sent.size(), 2u);
    const auto nak = read_rc(sent[0]);
    ASSERT_TRUE(nak);
    EXPECT_EQ(nak->aeth.syndrome, syndrome);
    EXPECT_EQ(RcRank::attribute_of(sent[1]), 0x15) << "DREQ";
    EXPECT_TRUE(inject(write(0, 0, values(1))).empty());
    EXPECT_GT(sw->drops(0, DropReason::rdma_qp), 0u);
    EXPECT_EQ(completions(), 0u);
    EXPECT_EQ(sw->packet_loop().engine().counters(0).contributions.get(), 0u);
    inject(rc->to_switch(wire::CmAttribute::drep));
    EXPECT_EQ(connection(), nullptr);
  }
};

TEST_F(ConnectedEndTest, A5_AWrongRkey) {
  start(connected_config());
  run();
  const auto good = rc->grant;
  rc->grant.rkey ^= 1;
  const Bytes frame = write(0, 0, values(1));
  rc->grant = good;
  expect_end(frame, 0x62, DropReason::rdma_address);
}

TEST_F(ConnectedEndTest, A5_AnAddressAcrossTheWindowsEnd) {
  start(connected_config());
  run();
  expect_end(write(0, 256 - 32, values(1)), 0x62, DropReason::rdma_address);
}

TEST_F(ConnectedEndTest, A5_AWriteThatIsNoWholeChunk) {
  start(connected_config());
  run();
  expect_end(write(0, 0, values(1, 8)), 0x61, DropReason::rdma_address);
}

TEST_F(ConnectedEndTest, A5_ARead) {
  start(connected_config());
  run();
  expect_end(rc->rc({.bth = {.opcode = 0x0C, .psn = rc->request_psn},
                     .reth = {rc->grant.address, rc->grant.rkey, 64}}),
             0x61, DropReason::rdma_opcode);
}

TEST_F(ConnectedEndTest, A5_AnAtomicOperation) {
  start(connected_config());
  run();
  Bytes frame = write(0, 0, values(1));
  frame[wire::kUdpPayloadOffset] = std::byte{0x13};
  wire::seal_icrc(std::span(frame).subspan(wire::kEthernetBytes));
  expect_end(frame, 0x61, DropReason::rdma_opcode);
}

TEST_F(ConnectedTest, A5_OthersPacketsDoNotTouchTheConnection) {
  start(connected_config());
  run();
  const RcRank good = *rc;
  rc->path.source_ip += 1;
  expect_dropped(write(0, 0, values(1)), DropReason::sender_mismatch);
  *rc = good;
  rc->switch_qpn ^= 0x100;
  expect_dropped(write(0, 0, values(1)), DropReason::rdma_qp);
  *rc = good;
  expect_dropped(write(0, 0, values(1)), DropReason::rdma_port, 1);
  Bytes bad = write(0, 0, values(1));
  bad[bad.size() - 10] ^= std::byte{1};
  expect_dropped(bad, DropReason::icrc);
  expect_dropped(rc->rc({.bth = {.opcode = 0x2A, .psn = rc->request_psn},  // UC's WRITE
                         .reth = {rc->grant.address, rc->grant.rkey, 64}},
                        bytes_of(values(1))),
                 DropReason::rdma_opcode);
  expect_dropped(rc->answer(kAck, RcRank::kPsn + 7), DropReason::duplicate);
  expect_answer(inject(write(0, 0, values(1))), kAck, 0);
}

TEST_F(ConnectedTest, TheEndOfTheEpochEndsTheConnection) {
  start(connected_config());
  run();
  sw->inject(1, ranks[1].frame(ranks[1].header(wire::PacketType::leave), {}, {}));
  settle();
  inject(write(0, 0, values(1)));
  pass(Duration::ms(10));
  sw->now = sw->now + Duration::seconds(1);
  sw->turn();
  EXPECT_TRUE(has_disconnected()) << "DREQ, once more after a second";
  pass(Duration::seconds(5));
  EXPECT_EQ(connection(), nullptr) << "no DREP comes, and the connection is given up";
}

TEST_F(ConnectedTest, ARankLeavesByDreq) {
  start(connected_config());
  run();
  auto sent = inject(rc->to_switch(wire::CmAttribute::dreq));
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(RcRank::attribute_of(sent[0]), 0x16);
  EXPECT_EQ(connection(), nullptr);
  sent = inject(rc->to_switch(wire::CmAttribute::dreq));
  ASSERT_EQ(sent.size(), 1u) << "the DREP may have been lost";
  EXPECT_EQ(RcRank::attribute_of(sent[0]), 0x16);
  EXPECT_EQ(sw->packet_loop().port_counters(0).drops.total(), 0u);
}

class ConnectedSetUpTest : public ConnectedTest {
 protected:
  std::string ask(const std::function<void(RcRank&)>& mistake) {
    RcRank other = *rc;
    mistake(other);
    pass(Duration::ms(100));
    const auto sent = inject(other.req());
    return sent.empty() ? "" : RcRank::rejection(sent[0]);
  }
};

TEST_F(ConnectedSetUpTest, SaysWhyThereIsNoConnection) {
  auto config = connected_config();
  config.jobs[1].shards = 2;
  start(config);
  EXPECT_EQ(ask([](RcRank& r) { r.request.job = 99; }),
            "28 no such job here, or it has no `rdma: true`");
  EXPECT_EQ(ask([](RcRank& r) { r.request.rank = 2; }), "28 the job does not have this rank");
  EXPECT_EQ(ask([](RcRank& r) { r.request.job = kJob + 1; }).substr(0, 2), "28");
  EXPECT_EQ(ask([](RcRank& r) { r.request.op_bytes = 0; }).substr(0, 2), "28");
  EXPECT_EQ(ask([](RcRank& r) { r.request.op_bytes = 0xFFFFFFFF; }),
            "28 op bytes must be a multiple of the element's size");
  EXPECT_EQ(ask([](RcRank& r) { r.request.op_bytes = 0xFFFFFFFC; }),
            "28 op bytes must be at most 1073741824");
  EXPECT_EQ(ask([](RcRank& r) { r.request.ops = 0; }).substr(0, 2), "28");
  EXPECT_EQ(ask([](RcRank& r) { r.request.dtype = 77; }).substr(0, 2), "28");
  EXPECT_EQ(ask([](RcRank& r) { r.port = 47001; }).substr(0, 2), "8 ");
  EXPECT_EQ(ask([](RcRank& r) { r.transport = 3; }).substr(0, 2), "9 ");
  EXPECT_EQ(connection(), nullptr);
}

// What is beyond the window is dropped on UC, and never comes again: such an op could not end.
TEST_F(ConnectedSetUpTest, OnUcAnOpOfMoreChunksThanTheWindow) {
  const auto config = connected_config();
  start(config);
  const std::uint32_t most = config.jobs[0].window * config.jobs[0].chunk_bytes;
  for (const std::uint8_t transport : {std::uint8_t{1}, std::uint8_t{0}}) {
    const std::string said = ask([&](RcRank& r) {
      r.transport = transport;
      r.request.op_bytes = most + 4;
    });
    EXPECT_EQ(said.starts_with("28 an op has more chunks than the job's `window`"), transport == 1);
  }
}

TEST_F(ConnectedSetUpTest, AReductionThatTheJobDoesNotAdmit) {
  auto config = connected_config();
  config.jobs[0].reductions = {{wire::DType::float32, wire::ReduceOp::sum}};
  start(config);
  EXPECT_EQ(ask([](RcRank&) {}), "28 the job's `reductions` do not have this type and operation");
}

TEST_F(ConnectedSetUpTest, AJobThatMayBeResized) {
  auto config = connected_config();
  config.jobs[0].min_workers = 1;
  start(config);
  EXPECT_EQ(ask([](RcRank&) {}),
            "28 the job's number of ranks may change, which WRITEs cannot tell");
}

TEST_F(ConnectedSetUpTest, AChunkThatDoesNotDivideThePathMtu) {
  auto config = connected_config();
  config.jobs[0].chunk_bytes = 512;
  start(config);
  EXPECT_EQ(ask([](RcRank&) {}).substr(0, 3), "26 ");
}

// Its packets would be lost without a word on the way to the switch.
TEST_F(ConnectedSetUpTest, T19_APathMtuThatThePortDoesNotTake) {
  auto config = connected_config();
  config.ports[0].mtu = 1024 + 64;  // the headers of a WRITE with immediate: 64 bytes
  start(config);
  EXPECT_EQ(ask([](RcRank& r) { r.mtu_code = 4; }),
            "26 packets of the path MTU are larger than the port's mtu");
  EXPECT_EQ(connection(), nullptr);
  config.ports[0].mtu = 1024 + 63;
  start(config);
  EXPECT_EQ(ask([](RcRank& r) { r.mtu_code = 3; }).substr(0, 3), "26 ");
  config.ports[0].mtu = 1024 + 64;
  start(config);
  EXPECT_EQ(ask([](RcRank& r) { r.mtu_code = 3; }), "");
}

TEST_F(ConnectedSetUpTest, ARankThatIsTaken) {
  start(connected_config());
  run();
  EXPECT_EQ(ask([](RcRank& r) { r.id += 1, r.qpn += 1; }), "28 the rank is taken");
  EXPECT_EQ(ask([](RcRank& r) { r.request.rank = 1; }),
            "28 the rank is taken, or behind another switch");
  EXPECT_EQ(connection()->state, Connection::State::running);
}

TEST_F(ConnectedSetUpTest, ARequestAgainIsAnsweredAlike) {
  start(connected_config());
  connect();
  const std::uint32_t qpn = rc->switch_qpn;
  pass(Duration::ms(100));
  const auto sent = inject(rc->req());
  ASSERT_EQ(sent.size(), 1u);
  ASSERT_TRUE(rc->take_rep(sent[0]));
  EXPECT_EQ(rc->switch_qpn, qpn);
}

TEST_F(ConnectedSetUpTest, AQueuePairThatHasBegunAnewEndsItsOldConnection) {
  start(connected_config());
  run();
  EXPECT_EQ(ask([](RcRank& r) { r.id += 1; }).substr(0, 3), "10 ");
  pass(Duration::ms(10));
  EXPECT_EQ(sw->packet_loop().engine().counters(0).members.get(), 1u);
  rc->id += 1;
  const std::uint32_t qpn = rc->switch_qpn;
  pass(Duration::seconds(5));
  sw->sent(0);
  const auto sent = inject(rc->req());
  ASSERT_EQ(sent.size(), 1u);
  ASSERT_TRUE(rc->take_rep(sent[0]));
  EXPECT_NE(rc->switch_qpn, qpn) << "numbers come again late";
}

TEST_F(ConnectedSetUpTest, ARepIsRepeatedUntilTheRankAnswers) {
  start(connected_config());
  inject(rc->req());
  pass(Duration::ms(2200));
  const auto sent = sw->sent(0);
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_TRUE(rc->take_rep(sent[0]));
  pass(Duration::seconds(12));
  EXPECT_EQ(connection(), nullptr);
}

TEST_F(ConnectedTest, AReloadKeepsConnectionsOfJobsThatStay) {
  auto config = connected_config();
  config.memory.reserve_megabytes = 1;
  start(config);
  run();
  config.jobs[1].window = 8;
  sw->reload(config);
  expect_answer(inject(write(0, 0, values(1))), kAck, 0);
  config.jobs[0].window = 8;
  sw->reload(config);
  settle();
  EXPECT_TRUE(has_disconnected());
  EXPECT_EQ(connection(), nullptr);
}

// There is no epoch that ends: its program would wait for ever.
TEST_F(ConnectedTest, ARankThatWaitsForOthersIsToldWhenItsJobChangesOrTheSwitchEnds) {
  auto config = connected_config();
  config.memory.reserve_megabytes = 1;
  start(config);
  connect();
  settle();
  ASSERT_EQ(connection()->state, Connection::State::joining);
  config.jobs[1].window = 8;
  sw->reload(config);
  settle();
  EXPECT_FALSE(has_disconnected()) << "another job";
  config.jobs[0].window = 8;
  sw->reload(config);
  settle();
  EXPECT_TRUE(has_disconnected());

  inject(rc->to_switch(wire::CmAttribute::drep));
  pass(Duration::ms(100));
  connect();
  settle();
  EXPECT_FALSE(has_disconnected());
  sw->packet_loop().shut_down(sw->now);
  EXPECT_TRUE(has_disconnected());
}

TEST_F(ConnectedTest, AnyLcoreHandsPacketsToTheJobs) {
  auto config = connected_config();
  config.lcores = {-1, -1};
  config.jobs.resize(1);  // job 5 is lcore 1's, port 0 lcore 0's
  start(config);
  run();
  EXPECT_EQ(lcore_of_qpn(rc->switch_qpn), 1);
  expect_answer(inject(write(0, 0, values(1))), kAck, 0);
  expect_result(contribute(0, Values(16)), 0, values(1));
}

}  // namespace
}  // namespace tributary::dataplane
