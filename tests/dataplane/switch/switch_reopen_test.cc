// A port that is closed and opened again while loops run, and one that gets another MTU: turned by
// hand, with traffic in between all steps of a reload.
#include <gmock/gmock.h>

#include <array>
#include <initializer_list>
#include <map>
#include <vector>

#include "tests/dataplane/port_steps.h"

namespace tributary::dataplane {
namespace {

class WorkerReopen : public testing::TestWithParam<std::size_t> {};

// A port gets more queues, or fewer, or another MTU: it goes and comes, and nothing else notices.
TEST_P(WorkerReopen, C1_APortIsOpenedAgainWhileOthersLoseNothing) {
  auto file = with_lcores(GetParam(), 3);
  RingSwitch sw(file);
  for (std::uint8_t port = 0; port < 3; ++port) {
    const auto from = static_cast<std::uint8_t>(port + 1);
    sw.inject(port, l2_frame(kEverybody, host(from)));
  }
  settle(sw);
  for (std::size_t port = 0; port < 3; ++port) sw.sent(port);
  Collector got(sw);
  std::size_t sent = 0;
  const auto traffic = [&](Step, std::size_t) {
    sw.inject(0, l2_frame(host(2), host(1)));
    sw.inject(1, l2_frame(host(1), host(2)));
    sw.inject(1, l2_frame(host(3), host(2)));  // is lost, or arrives, and goes nowhere else
    ++sent;
    sw.turn();
    expect_one_loop_a_queue(sw);
    got.collect({0, 1});
  };
  for (const auto queues : std::initializer_list<std::uint16_t>{2, 3, 1, 2}) {
    file.ports[2].queues = queues;
    file.ports[2].mtu = 1400u + queues;
    const std::uint64_t received = sw.packet_loops().port_counters(2).rx_packets.get();
    sw.reload(file, traffic);
    settle(sw);
    got.collect({0, 1});
    sw.sent(2);
    std::size_t polled = 0;
    for (const auto& packet_loop : sw.packet_loops()) polled += packet_loop->queues().size();
    EXPECT_EQ(polled, 2u + queues);
    EXPECT_EQ(sw.packet_loops().port_counters(2).rx_packets.get(), received) << "its counters stay";
    // The host behind it is known still, and may send on each of its queues.
    sw.inject(0, l2_frame(host(3), host(1)));
    settle(sw);
    EXPECT_EQ(sw.sent(2).size(), 1u);
    EXPECT_TRUE(sw.sent(1).empty());
    for (std::size_t queue = 0; queue < queues; ++queue)
      sw.inject_at(2, queue, l2_frame(host(1), host(3)));
    settle(sw);
    EXPECT_EQ(sw.sent(0).size(), queues);
    sw.inject(0, l2_frame(host(3), host(1), 1414u + queues));
    sw.inject(0, l2_frame(host(3), host(1), 1415u + queues));
    settle(sw);
    EXPECT_EQ(sw.sent(2).size(), 1u);
  }
  EXPECT_EQ(got[0], sent);
  EXPECT_EQ(got[1], sent);
  for (std::size_t port = 0; port < 2; ++port)
    EXPECT_EQ(sw.packet_loops().port_counters(port).drops.total(), 0u);
  EXPECT_GT(sw.drops(2, DropReason::tx_link_down), 0u);
  EXPECT_EQ(sw.buffers_in_use(), 0u);
}

TEST_P(WorkerReopen, C1_APortThatCannotBeOpenedAgainStaysClosed) {
  auto file = with_lcores(GetParam(), 3);
  RingSwitch sw(file);
  sw.inject(2, l2_frame(kEverybody, host(3)));
  settle(sw);
  for (std::size_t port = 0; port < 3; ++port) sw.sent(port);
  file.ports[2].queues = 2;
  sw.reload(file, {}, {2});
  settle(sw);
  EXPECT_FALSE(sw.port(2).link().up());
  EXPECT_FALSE(sw.port(2).poll_link());
  EXPECT_EQ(sw.port(2).why(), "refused");
  for (const auto& packet_loop : sw.packet_loops())
    for (const auto& queue : packet_loop->queues()) EXPECT_NE(queue.port, 2);
  // As behind a link that is lost: its host may be elsewhere now.
  sw.inject(0, l2_frame(host(3), host(1)));
  settle(sw);
  EXPECT_EQ(sw.sent(1).size(), 1u);
  EXPECT_EQ(sw.drops(2, DropReason::tx_link_down), 1u);

  sw.reload(file);
  settle(sw);
  sw.inject_at(2, 1, l2_frame(host(1), host(3)));
  settle(sw);
  EXPECT_EQ(sw.sent(0).size(), 1u);
  EXPECT_TRUE(sw.sent(1).empty());
  EXPECT_EQ(sw.buffers_in_use(), 0u);
}

// O1: what is exported as a counter never goes down, by port, queue and lcore: neither where a port
// is opened again, nor where a queue moves to another lcore and comes back.
TEST_P(WorkerReopen, O1_CountersOfAQueueGoOnWhenItComesBack) {
  auto file = with_lcores(GetParam(), 3);
  RingSwitch sw(file);
  std::map<std::array<std::size_t, 3>, std::uint64_t> seen;
  std::size_t received = 0;
  const auto look = [&] {
    for (std::size_t lcore = 0; lcore < sw.packet_loops().size(); ++lcore)
      for (const auto& queue : sw.packet_loop(lcore).queues()) {
        std::uint64_t& before = seen[{queue.port, queue.queue, lcore}];
        EXPECT_GE(queue.packets.get(), before) << queue.port << ' ' << queue.queue << ' ' << lcore;
        EXPECT_LE(queue.bursts.get(), queue.packets.get());
        before = queue.packets.get();
      }
  };
  const auto receive = [&] {
    for (std::size_t queue = 0; queue < file.ports[2].queues; ++queue)
      sw.inject_at(2, queue, l2_frame(kEverybody, host(3)));
    received += file.ports[2].queues;
    settle(sw);
    for (const std::size_t port : {0u, 1u}) sw.sent(port);
    look();
  };
  const auto lcores = static_cast<std::uint16_t>(GetParam());
  for (std::uint16_t round = 0; round < 12; ++round) {
    receive();
    file.ports[2].queues = std::array<std::uint16_t, 4>{1, 3, 2, 2}[round % 4];
    file.ports[2].lcores.clear();
    for (std::uint16_t queue = 0; round % 3 != 0 && queue < file.ports[2].queues; ++queue)
      file.ports[2].lcores.push_back(static_cast<std::uint16_t>((queue + round) % lcores));
    sw.reload(file, [&](Step, std::size_t) { look(); });
  }
  receive();
  std::size_t counted = 0;
  for (const auto& [queue, packets] : seen) counted += packets;
  EXPECT_EQ(counted, received);
  // Another port at its place is another port.
  file.ports.pop_back();
  sw.reload(file);
  file.ports.push_back(port_named("new"));
  sw.reload(file);
  for (const auto& packet_loop : sw.packet_loops())
    for (const auto& queue : packet_loop->queues())
      if (queue.port == 2) {
        EXPECT_EQ(queue.packets.get(), 0u);
      }
}

// C1, O5: the epoch goes on; what is lost meanwhile is sent again, as ever.
TEST_P(WorkerReopen, MembersBehindAPortThatIsOpenedAgainGoOn) {
  auto file = with_job(GetParam());
  file.jobs[0].members = {{1, "p1"}};
  RingSwitch sw(file);
  const std::vector<TestWorker> ranks = begin_two_ranks(sw);
  const std::array<std::int32_t, 2> values = {3, 4};
  sw.inject(1, ranks[1].contribution(0, values));
  settle(sw);
  file.ports[1].queues = 2;
  sw.reload(file, [&](Step, std::size_t) { sw.turn(); });
  settle(sw);
  EXPECT_TRUE(sw.sent(0).empty()) << "nobody is told of any end";
  sw.inject(0, ranks[0].contribution(0, values));
  settle(sw);
  for (const std::size_t port : {0u, 1u}) {
    const auto result = last_packet(sw.sent(port));
    ASSERT_TRUE(result) << port;
    EXPECT_EQ(result->type, wire::PacketType::result);
    EXPECT_EQ(result->epoch, ranks[port].epoch);
  }
}

INSTANTIATE_TEST_SUITE_P(Lcores, WorkerReopen, testing::Values(1u, 2u, 3u));

TEST(PortSize, C1_AnotherMtuHoldsFromOneFrameToTheNext) {
  auto file = with_lcores(1, 2);
  RingSwitch sw(file);
  const auto goes = [&](std::size_t bytes) {
    sw.inject(0, l2_frame(kEverybody, host(1), bytes));
    settle(sw);
    return sw.sent(1).size() == 1;
  };
  EXPECT_TRUE(goes(1514) && !goes(1515));
  file.ports[0].mtu = file.ports[1].mtu = 1800;
  sw.reload(file);
  EXPECT_TRUE(goes(1814) && !goes(1815));
  file.ports[1].mtu = 1000;
  sw.reload(file);
  EXPECT_TRUE(goes(1014) && !goes(1015));
  EXPECT_EQ(sw.drops(1, DropReason::mtu), 1u);
  EXPECT_EQ(sw.drops(1, DropReason::tx_link_down), 0u);
}

}  // namespace
}  // namespace tributary::dataplane
