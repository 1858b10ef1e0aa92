// T19, A5: a rank on a UC queue pair and one by UDP, through a switch.
#include "dataplane/telemetry/report_record.h"
#include "tests/dataplane/aggregation/connected_fixture.h"
#include "tests/dataplane/ip_frame.h"

namespace tributary::dataplane {
namespace {

using enum wire::RoceOperation;
constexpr std::uint32_t kBegin = 0xFFFFFFFF;

class UnreliableTest : public ConnectedTest {
 protected:
  void start(const config::SwitchConfig& config) {
    ConnectedTest::start(config);
    rc->transport = 1;
  }
  // The switch's next packet to the rank.
  std::optional<wire::RoceView> next(const std::vector<Bytes>& sent) {
    const auto view = only(sent);
    if (!view) return std::nullopt;
    EXPECT_EQ(view->bth.opcode, rc->opcode(write_only_immediate));
    EXPECT_EQ(view->bth.qpn, RdmaRank::kQpn);
    EXPECT_EQ(view->bth.psn, psn_after(RcRank::kPsn, results_++));
    EXPECT_FALSE(view->bth.acknowledge);
    return view;
  }
  void run() {
    ASSERT_NO_FATAL_FAILURE(start_epoch());
    const auto begins = sw->sent(0);
    ASSERT_FALSE(begins.empty());
    for (const Bytes& frame : begins) {
      const auto begin = next({frame});
      ASSERT_TRUE(begin);
      EXPECT_TRUE(begin->payload.empty());
      EXPECT_EQ(begin->immediate, kBegin);
    }
  }
  void expect_result(const std::vector<Bytes>& sent, std::uint32_t op, const Values& sum) {
    const auto view = next(sent);
    ASSERT_TRUE(view) << sent.size();
    EXPECT_EQ(view->immediate, op % (2 * rc->grant.ops)) << "the place in the ring";
    EXPECT_EQ(view->reth.address, RcRank::kRing + op % (2 * rc->grant.ops) * 64);
    EXPECT_EQ(view->reth.rkey, RcRank::kRingKey);
    EXPECT_EQ(Bytes(view->payload.begin(), view->payload.end()), bytes_of(sum));
  }
  void live() { sw->inject(1, ranks[1].frame(ranks[1].header(wire::PacketType::lease), {}, {})); }

 private:
  std::uint32_t results_ = 0;
};

TEST_F(UnreliableTest, T19_WritesAreSummedWithARankByUdp) {
  start(connected_config());
  run();
  for (std::uint32_t op = 0; op < 40; ++op) {
    EXPECT_TRUE(inject(write(op, op % 4 * 64, values(1))).empty()) << "no ACK";
    expect_result(contribute(op, values(100)), op, sums());
    sw->sent(1);
  }
  EXPECT_EQ(completions(), 40u);
  EXPECT_EQ(sw->packet_loop().port_counters(0).drops.total(), 0u);
  EXPECT_EQ(sw->buffers_in_use(), 0u);
  EXPECT_TRUE(connection()->is_unreliable());
}

TEST_F(UnreliableTest, A5_ALostPacketCostsItsMessageOnly) {
  auto config = connected_config();
  config.jobs[0].window = 32;
  start(config);
  rc->request.op_bytes = 1024;  // four packets of four chunks
  rc->request.ops = 2;
  run();
  const auto data = bytes_of(values(0, 64));
  const auto send = [&](wire::RoceOperation op, std::uint32_t nth, std::uint32_t offset) {
    return rc->part(op, rc->request_psn + nth, offset, 1024, data);
  };
  EXPECT_TRUE(inject(send(write_first, 0, 0)).empty());
  expect_dropped(send(write_middle, 2, 0), DropReason::rdma_psn);
  expect_dropped(send(write_last, 3, 0), DropReason::rdma_psn);
  EXPECT_EQ(sw->packet_loop().engine().counters(0).contributions.get(), 4u);
  EXPECT_TRUE(inject(send(write_first, 4, 1024)).empty()) << "the next op";
  EXPECT_TRUE(inject(send(write_middle, 5, 0)).empty());
  EXPECT_EQ(sw->packet_loop().engine().counters(0).contributions.get(), 12u);
}

TEST_F(UnreliableTest, A5_DuplicatesAreNoNextOp) {
  start(connected_config());
  run();
  inject(write(0, 0, values(1)));
  expect_dropped(write(0, 0, values(7)), DropReason::duplicate);
  expect_result(contribute(0, values(100)), 0, sums());
  expect_dropped(write(0, 0, values(7)), DropReason::duplicate);
  EXPECT_EQ(sw->packet_loop().engine().counters(0).contributions.get(), 2u);
}

TEST_F(UnreliableTest, A5_AnOpsPlaceIsFreeWhenItsResultWasSent) {
  start(connected_config());
  run();
  for (std::uint32_t op = 0; op < 4; ++op) inject(write(op, op * 64, values(1)));
  expect_dropped(write(4, 0, values(1)), DropReason::beyond_window);
  contribute(0, values(100));
  EXPECT_TRUE(inject(write(5, 0, values(1))).empty());
  EXPECT_EQ(sw->packet_loop().engine().counters(0).contributions.get(), 6u);
}

// The job's window has room for two ops more than the rank asked for.
TEST_F(UnreliableTest, A5_AnOpDoesNotFollowAnotherOneWhoseResultIsAwaited) {
  start(connected_config());
  rc->request.ops = 2;
  run();
  for (std::uint32_t op = 0; op < 2; ++op) inject(write(op, op * 64, values(1)));
  expect_dropped(write(2, 0, values(1)), DropReason::beyond_window);
  expect_result(contribute(0, values(100)), 0, sums());
  inject(write(3, 0, values(1)));
  expect_result(contribute(1, values(100)), 1, sums());
  expect_result(contribute(2, values(100)), 2, sums());
}

TEST_F(UnreliableTest, ARankIsToldToBeginUntilItDoes) {
  start(connected_config());
  connect();
  expect_dropped(write(0, 0, values(1)), DropReason::beyond_window);
  ASSERT_NE(connection(), nullptr);
  sw->inject(1, ranks[1].join(101));
  pass(Duration::ms(320));
  const auto sent = sw->sent(0);
  ASSERT_EQ(sent.size(), 3u) << "at once, after 100 ms, and twice that from then on";
  for (const Bytes& frame : sent) EXPECT_EQ(read_rc(frame)->immediate, kBegin);
  inject(write(1, 0, values(1)));
  pass(Duration::seconds(1));
  EXPECT_TRUE(sw->sent(0).empty());
}

TEST_F(UnreliableTest, A5_BadInputIsCountedAndEndsNothing) {
  start(connected_config());
  run();
  std::uint32_t nth = 0;
  auto bad = *rc;
  bad.grant.rkey ^= 1;
  const auto data = bytes_of(values(1));
  expect_dropped(bad.write(rc->request_psn + nth++, 0, data), DropReason::rdma_address);
  expect_dropped(write(nth++, 256 - 32, values(1)), DropReason::rdma_address);
  expect_dropped(write(nth++, 0, values(1, 8)), DropReason::rdma_address);
  expect_dropped(rc->part(send_only, rc->request_psn + nth++, 0, 0, data), DropReason::rdma_opcode);
  expect_dropped(rc->part(write_middle, rc->request_psn + nth++, 0, 0, data), DropReason::rdma_psn);
  expect_dropped(rc->part(write_only, rc->request_psn + nth++, 0, 32, data),
                 DropReason::rdma_opcode);
  bad = *rc;
  bad.transport = 0;
  expect_dropped(bad.write(rc->request_psn + nth, 0, data), DropReason::rdma_opcode);
  expect_dropped(bad.answer(kAck, RcRank::kPsn), DropReason::rdma_opcode);
  Bytes read = write(nth++, 0, values(1));
  read[wire::kUdpPayloadOffset] = std::byte{0x2C};
  wire::seal_icrc(std::span(read).subspan(wire::kEthernetBytes));
  expect_dropped(read, DropReason::rdma_opcode);
  EXPECT_TRUE(inject(write(nth, 0, values(1))).empty());
  expect_result(contribute(0, values(100)), 0, sums());
}

TEST_F(UnreliableTest, ARankThatWaitsForOthersIsExcused) {
  auto config = connected_config();
  config.jobs[0].lease = Duration::seconds(1);
  start(config);
  run();
  inject(write(0, 0, values(1)));
  for (int i = 0; i < 10; ++i) {
    live();
    pass(Duration::ms(500));
  }
  ASSERT_NE(connection(), nullptr);
  EXPECT_EQ(connection()->state, Connection::State::running);
  expect_result(contribute(0, values(100)), 0, sums());
  for (int i = 0; i < 3; ++i) {
    live();
    pass(Duration::ms(300));
  }
  EXPECT_FALSE(has_disconnected());
  for (int i = 0; i < 2; ++i) {
    live();
    pass(Duration::ms(300));
  }
  EXPECT_TRUE(has_disconnected()) << "it has all results, and is silent";
  EXPECT_EQ(sw->packet_loop().engine().running_epoch(kJob), std::nullopt);
}

// Its connection manager answers another REP by RTU, as long as there is the queue pair.
TEST_F(UnreliableTest, BeforeItsEpochARankIsAskedWhetherItIsThere) {
  auto config = connected_config();
  config.jobs[0].lease = Duration::seconds(1);
  start(config);
  connect();
  int asked = 0;
  for (int i = 0; i < 40; ++i) {
    pass(Duration::ms(100));
    for (const Bytes& frame : sw->sent(0)) {
      ASSERT_TRUE(rc->take_rep(frame));
      ++asked;
      sw->inject(0, rc->to_switch(wire::CmAttribute::rtu));
    }
  }
  EXPECT_GE(asked, 8);
  EXPECT_LE(asked, 16);
  EXPECT_EQ(connection()->state, Connection::State::joining);
  pass(Duration::ms(1300));
  EXPECT_TRUE(has_disconnected()) << "it is gone";
  rc->id += 1;
  rc->qpn += 1;
  const auto sent = inject(rc->req());
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_TRUE(rc->take_rep(sent[0])) << "and its place is another's";
}

TEST_F(UnreliableTest, A5_ARankThatLostAPacketIsNotExcused) {
  auto config = connected_config();
  config.jobs[0].lease = Duration::seconds(1);
  start(config);
  run();
  inject(write(1, 64, values(1)));  // op 0's is lost
  for (int i = 0; i < 4; ++i) {
    live();
    pass(Duration::ms(300));
  }
  EXPECT_TRUE(has_disconnected());
}

TEST_F(UnreliableTest, AnEmptyWriteIsASignOfLife) {
  auto config = connected_config();
  config.jobs[0].lease = Duration::seconds(1);
  start(config);
  run();
  for (std::uint32_t i = 0; i < 10; ++i) {
    live();
    inject(rc->part(write_only, rc->request_psn + i, 0, 0, {}));
    pass(Duration::ms(500));
  }
  ASSERT_NE(connection(), nullptr);
  EXPECT_EQ(connection()->state, Connection::State::running);
}

TEST_F(UnreliableTest, TheEndOfTheEpochEndsTheConnection) {
  start(connected_config());
  run();
  sw->inject(1, ranks[1].frame(ranks[1].header(wire::PacketType::leave), {}, {}));
  settle();
  inject(write(0, 0, values(1)));
  pass(Duration::ms(10));
  sw->now = sw->now + Duration::seconds(1);
  sw->turn();
  EXPECT_TRUE(has_disconnected());
  EXPECT_TRUE(inject(rc->to_switch(wire::CmAttribute::drep)).empty());
  EXPECT_EQ(connection(), nullptr);
}

// Its ring has room for 511 frames, and the switch holds a few. Where another lcore sends there,
// the job's waits for what is on its way to that one as well.
class SlowPortTest : public UnreliableTest, public testing::WithParamInterface<std::size_t> {};

TEST_P(SlowPortTest, ResultsWait) {
  constexpr std::uint32_t kOps = 1024;
  auto config = connected_config();
  config.jobs[0].window = kOps;
  config.jobs.resize(1);  // the second lcore's, if there is one, and port 0 the first's
  config.lcores.assign(GetParam(), -1);
  start(config);
  rc->request.ops = kOps;
  run();
  for (std::uint32_t op = 0; op < kOps; ++op) {
    sw->inject(0, write(op, op * 64, values(1)));
    sw->inject(1, ranks[1].contribution(op, values(100)));
    sw->turn();
    sw->sent(1);
  }
  std::uint32_t arrived = 0;
  for (int i = 0; i < 40; ++i) {
    for (const Bytes& frame : sw->sent(0)) expect_result({frame}, arrived++, sums());
    pass(Duration::ms(5));
  }
  EXPECT_EQ(arrived, kOps);
  for (const DropReason reason : {DropReason::tx_full, DropReason::handover_full})
    EXPECT_EQ(sw->drops(0, reason), 0u) << drop_label(reason);
}
INSTANTIATE_TEST_SUITE_P(Lcores, SlowPortTest, testing::Values(1, 2));

// The driver's ring of 511 frames is full, none waits behind it, and one turn makes 512 results.
TEST_F(UnreliableTest, ResultsOfOneTurnWaitForASlowPort) {
  constexpr std::uint32_t kOps = 64;
  constexpr std::uint32_t kChunks = 16;
  auto config = connected_config();
  config.jobs[0].window = kOps * kChunks;
  start(config);
  rc->request.op_bytes = kChunks * 64;
  rc->request.ops = kOps;
  rc->mtu_code = 3;  // 1024 bytes
  run();
  const auto contribute = [&](std::uint32_t first, std::uint32_t end) {
    for (std::uint32_t seq = first; seq < end; ++seq) {
      wire::Header h = ranks[1].header(wire::PacketType::contribution);
      h.op = seq / kChunks;
      h.chunk = seq % kChunks;
      h.flags = h.chunk + 1 == kChunks ? wire::kFlagLast : 0u;
      h.seq = h.slot = seq;
      h.covered = 1;
      h.dtype = wire::DType::int32;
      h.element_count = 16;
      const Values data = values(100);
      sw->inject(1, ranks[1].frame(h, {}, std::as_bytes(std::span(data))));
      sw->turn();
    }
  };
  const auto write_ops = [&](std::uint32_t first, std::uint32_t end) {
    for (std::uint32_t op = first; op < end; ++op)
      sw->inject(0, write(op, std::uint64_t{op} * kChunks * 64, values(1, kChunks * 16)));
    for (int i = 0; i < 2; ++i) sw->turn();
  };
  contribute(0, 496);
  contribute(512, kOps * kChunks);
  write_ops(0, 32);
  contribute(496, 511);
  EXPECT_EQ(completions(), 511u);
  write_ops(32, kOps);
  contribute(511, 512);
  EXPECT_EQ(completions(), kOps * kChunks);
  std::uint32_t arrived = 0;
  for (int i = 0; i < 60; ++i) {
    arrived += static_cast<std::uint32_t>(sw->sent(0).size());
    pass(Duration::ms(5));
  }
  EXPECT_EQ(arrived, kOps * kChunks);
  EXPECT_EQ(sw->drops(0, DropReason::tx_full), 0u);
}

// There is no buffer for a result, as the packet that completes it has the last one: the engine is
// asked for it again.
TEST_F(UnreliableTest, Rule4_AResultThatCouldNotBeSentIsSentLater) {
  start(connected_config());
  run();
  contribute(0, values(100));
  sw->inject(0, write(0, 0, values(1)));
  std::vector<rte_mbuf*> held;
  while (rte_mbuf* const buffer = rte_pktmbuf_alloc(sw->pool())) held.push_back(buffer);
  sw->turn();
  EXPECT_TRUE(sw->sent(0).empty());
  EXPECT_GT(sw->drops(0, DropReason::no_mbuf), 0u);
  for (rte_mbuf* const buffer : held) rte_pktmbuf_free(buffer);
  pass(Duration::ms(20));
  expect_result(sw->sent(0), 0, sums());
}

// What a rank wrote in the same burst has been summed in between.
TEST_F(UnreliableTest, C5_AWatchedFrameHasItsPortAndTimeBehindAWrite) {
  auto config = connected_config();
  config.telemetry.node_id = 7;
  config.telemetry.report_to = "127.0.0.1:32766";
  config.telemetry.probe = Duration();
  config::AclRule rule;
  rule.action = config::AclAction::allow;
  rule.watch = 1;
  config.acl.rules = {rule};
  start(config);
  run();
  auto& ring = sw->packet_loop().telemetry()->ring();
  ReportRecord record;
  while (ring.pop(record)) {
  }
  sw->inject(0, write(0, 0, values(1)));
  sw->inject(0, ipv4_frame({.destination_port = 9}, host(2)));
  sw->turn();
  std::size_t reported = 0;
  for (; ring.pop(record); ++reported) {
    EXPECT_EQ(record.own.ingress_port, 0);
    EXPECT_NE(record.own.latency_ns, telemetry::kUnknown32);
  }
  EXPECT_GT(reported, 0u);
}

}  // namespace
}  // namespace tributary::dataplane
