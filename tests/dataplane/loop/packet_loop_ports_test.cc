// Ports that come and go, and queues that move, while loops run: turned by hand, with traffic in
// between all steps of a reload.
#include <gmock/gmock.h>

#include <thread>

#include "tests/dataplane/port_steps.h"

namespace tributary::dataplane {
namespace {

class WorkerPortsTimed : public testing::TestWithParam<std::size_t> {};

TEST_P(WorkerPortsTimed, APortComesAndGoesWhileOthersLoseNothing) {
  auto file = with_lcores(GetParam(), 3);
  RingSwitch sw(file);
  // Hosts 1 and 2, behind ports 0 and 1, who know each other.
  sw.inject(0, l2_frame(kEverybody, host(1)));
  sw.inject(1, l2_frame(kEverybody, host(2)));
  settle(sw);
  for (std::size_t port = 0; port < 3; ++port) sw.sent(port);
  Collector got(sw);
  std::size_t sent = 0;
  const auto traffic = [&](Step, std::size_t) {
    sw.inject(0, l2_frame(host(2), host(1)));
    sw.inject(1, l2_frame(host(1), host(2)));
    ++sent;
    sw.turn();
    expect_one_loop_a_queue(sw);
    got.collect({0, 1});
  };
  for (int round = 0; round < 20; ++round) {
    auto with = file;
    with.ports.insert(with.ports.begin(), port_named("new"));
    sw.reload(with, traffic);
    const std::size_t place = 3;
    settle(sw);
    got.collect({0, 1});
    EXPECT_EQ(sw.packet_loops().port_counters(place).rx_packets.get(), 0u) << "of the one before";
    // The host behind it learns, and is learned.
    sw.inject(place, l2_frame(host(1), host(9)));
    settle(sw);
    EXPECT_EQ(sw.sent(0).size(), 1u);
    EXPECT_EQ(sw.packet_loops().port_counters(place).rx_packets.get(), 1u);
    sw.inject(0, l2_frame(host(9), host(1)));
    settle(sw);
    EXPECT_EQ(sw.sent(place).size(), 1u);
    EXPECT_TRUE(sw.sent(2).empty());
    sw.inject(2, l2_frame(kEverybody, host(3)));
    settle(sw);
    EXPECT_EQ(sw.sent(place).size(), 1u) << "it is among those that are flooded";
    sw.sent(0);
    sw.sent(1);
    sw.reload(file, traffic);
    settle(sw);
    got.collect({0, 1});
    // It is not the way to host 9 any more.
    settle(sw);
    sw.inject(0, l2_frame(host(9), host(1)));
    settle(sw);
    EXPECT_EQ(sw.sent(2).size(), 1u);
    EXPECT_EQ(sw.sent(1).size(), 1u);
  }
  EXPECT_EQ(got[0], sent);
  EXPECT_EQ(got[1], sent);
  for (std::size_t port = 0; port < 3; ++port)
    EXPECT_EQ(sw.packet_loops().port_counters(port).drops.total(), 0u);
  EXPECT_EQ(sw.buffers_in_use(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Lcores, WorkerPortsTimed, testing::Values(1u, 2u, 3u));

// Counters are read beside a loop that comes late to a change: what was there stays as it is as
// long as the change. For ThreadSanitizer, too.
TEST(PortStepsTimed, O1_WhoReadsCountersReadsThoseOfOnePort) {
  auto file = with_lcores(2, 3);
  RingSwitch sw(file);
  auto other = file;
  other.ports.pop_back();
  other.ports[1].queues = 2;
  other.ports.push_back(port_named("new"));
  sw.inject(0, l2_frame(kEverybody, host(1)));
  settle(sw);
  for (int round = 0; round < 6; ++round) {
    std::atomic<bool> over{false};
    std::atomic<bool> begun{false};
    std::uint64_t seen = 0;
    std::thread reader([&] {
      while (!over.load()) {
        for (std::size_t place = 0; place < 4; ++place)
          seen += sw.packet_loops().port_counters(place).rx_packets.get();
        begun.store(true);
      }
    });
    while (!begun.load()) std::this_thread::yield();
    const auto stop = [&] {
      over.store(true);
      if (reader.joinable()) reader.join();
    };
    // The change is gone when reload() returns, and no thread holds the configuration here.
    sw.reload(round % 2 == 0 ? other : file, [&](Step step, std::size_t lcore) {
      sw.inject(0, l2_frame(kEverybody, host(1)));
      sw.turn();
      if (step == Step::attach && lcore == 1) stop();
    });
    stop();
    EXPECT_GT(seen, 0u);
    settle(sw);
  }
  EXPECT_EQ(sw.packet_loops().port_counters(0).rx_packets.get(), 1u + 6u * 12u);
}

// A change that comes late, while a thread reads: the old list stays as it is as long as the
// change.
TEST(PortStepsTimed, O1_WhoReadsQueuesKeepsThemThroughAChange) {
  auto file = with_lcores(2, 3);
  for (auto& port : file.ports) port.lcores = {0};
  RingSwitch sw(file);
  const auto read = sw.packet_loop(0).queues();
  const auto ports = [](std::span<const PolledQueue> queues) {
    std::vector<std::uint16_t> out;
    for (const auto& queue : queues) out.push_back(queue.port);
    return out;
  };
  ASSERT_EQ(ports(read), (std::vector<std::uint16_t>{0, 1, 2}));
  file.ports[0].lcores = {1};
  sw.reload(file, [&](Step step, std::size_t lcore) {
    if (lcore == 0 && step == Step::apply) {
      EXPECT_EQ(ports(sw.packet_loop(0).queues()), (std::vector<std::uint16_t>{1, 2}));
    }
    EXPECT_EQ(ports(read), (std::vector<std::uint16_t>{0, 1, 2}));
  });
  EXPECT_EQ(ports(sw.packet_loop(0).queues()), (std::vector<std::uint16_t>{1, 2}));
}

TEST(PortStepsTimed, QueuesMoveAndLoseNothing) {
  auto file = with_lcores(3, 3);
  file.ports[0].queues = 2;
  file.ports[0].lcores = {0, 1};
  file.ports[1].lcores = {2};
  file.ports[2].lcores = {1};
  RingSwitch sw(file);
  sw.inject(1, l2_frame(kEverybody, host(2)));
  sw.inject(2, l2_frame(kEverybody, host(3)));
  sw.inject_at(0, 0, l2_frame(kEverybody, host(1)));
  settle(sw);
  for (std::size_t port = 0; port < 3; ++port) sw.sent(port);
  Collector got(sw);
  std::size_t rounds = 0;
  const auto traffic = [&](Step, std::size_t) {
    ++rounds;
    for (const std::size_t queue : {0u, 1u}) {
      sw.inject_at(0, queue, l2_frame(host(2), host(1)));
      sw.inject_at(0, queue, l2_frame(host(3), host(1)));
    }
    sw.inject(1, l2_frame(host(1), host(2)));
    sw.inject(2, l2_frame(host(1), host(3)));
    sw.turn();
    expect_one_loop_a_queue(sw);
    got.collect({0, 1, 2});
  };
  const std::vector<std::array<std::uint16_t, 4>> plans = {
      {1, 0, 0, 2}, {2, 2, 2, 2}, {0, 1, 2, 0}, {1, 1, 0, 0}, {0, 2, 1, 1}};
  for (const auto& plan : plans) {
    file.ports[0].lcores = {plan[0], plan[1]};
    file.ports[1].lcores = {plan[2]};
    file.ports[2].lcores = {plan[3]};
    sw.reload(file, traffic);
    traffic(Step::attach, 0);
    std::size_t queues = 0;
    for (const auto& packet_loop : sw.packet_loops()) queues += packet_loop->queues().size();
    EXPECT_EQ(queues, 4u);
    settle(sw);
    got.collect({0, 1, 2});
  }
  EXPECT_EQ(got[0], 2 * rounds);
  EXPECT_EQ(got[1], 2 * rounds);
  EXPECT_EQ(got[2], 2 * rounds);
  for (std::size_t port = 0; port < 3; ++port)
    EXPECT_EQ(sw.packet_loops().port_counters(port).drops.total(), 0u);
  EXPECT_EQ(sw.buffers_in_use(), 0u);
}

// What has waited for the old lcore's queue goes over to the new one.
TEST(PortStepsTimed, WhatWaitsForASlowPortIsHandedOn) {
  auto file = with_lcores(2, 2);
  file.ports[1].lcores = {1};
  file.ports[0].lcores = {1};
  RingSwitch sw(file);
  sw.inject(1, l2_frame(kEverybody, host(2)));
  settle(sw);
  sw.sent(0);
  constexpr std::size_t kFill = RingSwitch::kRingSize - 1;  // what the device holds
  for (std::size_t i = 0; i < kFill + 100; ++i) {
    sw.inject(0, l2_frame(host(2), host(1)));
    sw.turn(1);
  }
  file.ports[1].lcores = {0};
  sw.reload(file);
  std::size_t got = sw.sent(1).size();
  settle(sw);
  got += sw.sent(1).size();
  EXPECT_EQ(got, kFill + 100);
  EXPECT_EQ(sw.packet_loops().port_counters(1).drops.total(), 0u);
  EXPECT_EQ(sw.packet_loop(0).port_counters(1).tx_packets.get(), 100u);
}

// A loop that is silent in the middle of it keeps the others from polling what it may still poll;
// when it wakes up, all of them go on by themselves.
TEST(PortStepsTimed, NobodyTakesWhatASilentLoopMayStillHave) {
  auto file = with_lcores(2, 2);
  file.ports[0].lcores = {0};
  file.ports[1].lcores = {1};
  RingSwitch sw(file);
  auto next = file;
  next.ports[0].lcores = {1};
  next.ports[1].lcores = {0};
  const auto change = config::difference(file, next, {2048, 4096});
  std::atomic<std::size_t> left = 2;
  std::vector<std::shared_ptr<PacketLoop::Change>> prepared;
  for (std::size_t lcore = 0; lcore < 2; ++lcore) {
    prepared.push_back(sw.packet_loop(lcore).prepare(next, change.forwarding));
    prepared[lcore]->plan = sw.packet_loop(lcore).plan_ports(next, change.ports);
    prepared[lcore]->plan->loops_left = &left;
  }
  sw.packet_loop(0).make_room(*prepared[0]->plan);
  sw.packet_loop(0).apply(*prepared[0], sw.now);
  for (int i = 0; i < 5; ++i) sw.turn(0);
  EXPECT_TRUE(sw.packet_loop(0).queues().empty());
  EXPECT_FALSE(sw.packet_loop(0).has_attached());
  sw.packet_loop(1).make_room(*prepared[1]->plan);
  sw.packet_loop(1).apply(*prepared[1], sw.now);
  sw.turn();
  for (std::size_t lcore = 0; lcore < 2; ++lcore) {
    EXPECT_TRUE(sw.packet_loop(lcore).has_attached());
    ASSERT_EQ(sw.packet_loop(lcore).queues().size(), 1u);
    EXPECT_EQ(sw.packet_loop(lcore).queues()[0].port, 1 - lcore);
  }
  sw.inject(0, l2_frame(kEverybody, host(1)));
  settle(sw);
  EXPECT_EQ(sw.sent(1).size(), 1u);
}

// T1, rule 16: the ranks that are left need not wait for a lease, and the one that went may come
// back through another port at once.
TEST_P(WorkerPortsTimed, MembersBehindAPortThatGoesEndTheEpoch) {
  auto file = with_job(GetParam());
  RingSwitch sw(file);
  const std::vector<TestWorker> ranks = begin_two_ranks(sw);

  auto fewer = file;
  fewer.ports.erase(fewer.ports.begin() + 1);
  std::vector<Bytes> told;
  sw.reload(fewer, [&](Step step, std::size_t lcore) {
    sw.turn();
    if (step == Step::attach && lcore + 1 == sw.packet_loops().size()) told = sw.sent(1);
  });
  settle(sw);
  const auto farewell = last_packet(told);
  ASSERT_TRUE(farewell) << "before it is closed";
  EXPECT_EQ(farewell->type, wire::PacketType::abort);
  const auto abort = last_packet(sw.sent(0));
  ASSERT_TRUE(abort);
  EXPECT_EQ(abort->type, wire::PacketType::abort);
  EXPECT_EQ(abort->reason, wire::Reason::configuration_changed);

  sw.inject(0, ranks[0].join(3));
  sw.inject(2, ranks[1].join(4));
  settle(sw);
  const auto again = last_packet(sw.sent(2));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->type, wire::PacketType::start);
  EXPECT_NE(again->epoch, ranks[0].epoch);
  sw.sent(0);
  EXPECT_EQ(sw.buffers_in_use(), 0u);
}

// A rank may be tied to a port that comes with its job.
TEST_P(WorkerPortsTimed, AJobThatComesMayNameAPortThatComes) {
  auto file = with_job(GetParam());
  file.memory.reserve_megabytes = 4;
  const auto job = file.jobs[0];
  file.jobs.clear();
  RingSwitch sw(file);
  file.ports.push_back(port_named("new"));
  file.jobs = {job};
  file.jobs[0].members = {{1, "new"}};
  sw.reload(file);
  std::vector<TestWorker> ranks;
  for (std::uint32_t rank = 0; rank < 2; ++rank)
    ranks.emplace_back(file, 4, rank, std::uint16_t{2});
  sw.inject(0, ranks[0].join(1));
  sw.inject(2, ranks[1].join(2));
  settle(sw);
  EXPECT_EQ(last_packet(sw.sent(2))->type, wire::PacketType::nack) << "the wrong port";
  sw.inject(3, ranks[1].join(2));
  settle(sw);
  EXPECT_EQ(last_packet(sw.sent(3))->type, wire::PacketType::start);
}

TEST(PortStepsTimed, ACaptureOfAPortDoesNotShowTheNextOneThere) {
  auto file = with_lcores(1, 3);
  RingSwitch sw(file);
  auto wish = std::make_shared<CaptureWish>();
  wish->ports.assign(3, true);
  CaptureTap tap(wish);
  sw.packet_loop().capture(&tap);
  auto fewer = file;
  fewer.ports.erase(fewer.ports.begin() + 1);
  sw.reload(fewer);
  fewer.ports.push_back(port_named("new"));
  sw.reload(fewer);  // takes place 1
  sw.inject(1, l2_frame(kEverybody, host(1)));
  settle(sw);
  CapturedFrame frame;
  std::vector<std::byte> bytes(CaptureWish::kMostSnap);
  std::vector<std::uint16_t> seen;
  while (tap.take(frame, bytes)) seen.push_back(frame.port);
  EXPECT_THAT(seen, testing::UnorderedElementsAre(0, 2)) << "where it was flooded to";
  sw.packet_loop().capture(nullptr);
}

}  // namespace
}  // namespace tributary::dataplane
