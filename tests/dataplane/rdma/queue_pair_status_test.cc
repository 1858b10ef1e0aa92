#include "dataplane/rdma/queue_pair_status.h"

#include "tests/dataplane/aggregation/connected_fixture.h"

namespace tributary::dataplane {
namespace {

class QueuePairStatusTest : public ConnectedTest {
 protected:
  std::vector<QueuePairStatus> pairs() {
    const PacketLoop& loop = sw->packet_loop();
    return queue_pair_status(loop.queue_pairs(), loop.connections(), loop.engine(), sw->now);
  }
  std::vector<RankTransport> transports() {
    const PacketLoop& loop = sw->packet_loop();
    return rank_transports(kJob, loop.connections(), loop.engine(), sw->now);
  }
};

TEST_F(QueuePairStatusTest, ShowsWhatWasSentAgainAndNaks) {
  start(connected_config());
  run();
  for (std::uint32_t op = 0; op < 2; ++op) {
    inject(write(op, op * 64, values(1)));
    contribute(op, values(100));
  }
  inject(write(3, 128, values(1)));        // a gap
  inject(rc->answer(0x60, RcRank::kPsn));  // both results again
  const auto all = pairs();
  ASSERT_EQ(all.size(), 3u) << "two jobs', and one connection";
  EXPECT_FALSE(all[0].repair) << "UD";
  const QueuePairStatus& pair = all[2];
  EXPECT_STREQ(pair.type, "RC");
  EXPECT_EQ(pair.qpn, rc->switch_qpn);
  EXPECT_EQ(pair.sent, 4u);
  ASSERT_TRUE(pair.repair);
  EXPECT_EQ(pair.repair->resent, 2u);
  EXPECT_EQ(pair.repair->naks_sent, 1u);
  EXPECT_EQ(pair.repair->naks_received, 1u);
  ASSERT_EQ(pair.ranks.size(), 1u);
  EXPECT_EQ(pair.ranks[0].qpn, RdmaRank::kQpn);
}

TEST_F(QueuePairStatusTest, SaysHowTheRanksOfAnOpCame) {
  start(connected_config());
  run();
  inject(write(0, 0, values(1)));
  contribute(0, values(100));
  const auto lines = sw->packet_loop().engine().op_lines(kJob, 0, sw->now);
  std::size_t arrivals = 0;
  for (const auto& line : lines) {
    const std::string by = transports_of(line.ranks, transports());
    if (line.what != "arrived") {
      EXPECT_EQ(by, "") << line.what;
      continue;
    }
    ++arrivals;
    EXPECT_EQ(by, line.ranks == std::vector{0u} ? "rdma RC" : "udp");
  }
  EXPECT_GE(arrivals, 2u);
  EXPECT_EQ(transports_of(std::vector{1u, 0u}, transports()), "rdma RC, udp");
}

TEST_F(QueuePairStatusTest, OfARankOnUd) {
  start(connected_config());
  const RdmaRank ud(ranks[0], kJob);
  sw->inject(0, ud.by_rdma(ranks[0].join(100)));
  settle();
  EXPECT_EQ(transports_of(std::vector{0u}, transports()), "rdma UD");
  EXPECT_EQ(transports_of(std::vector{1u}, transports()), "") << "not here yet";
  const auto all = pairs();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].ranks.size(), 1u);
}

}  // namespace
}  // namespace tributary::dataplane
