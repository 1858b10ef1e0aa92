// One job on several packet loops, turned by hand: each of its planes where it belongs.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/dataplane/job_ranks.h"

namespace tributary::dataplane {
namespace {

// A2: one job, each plane with members, epoch and sums of its own, where it belongs.
TEST(Planes, A2_AJobUsesTheLcoresOfItsPlanes) {
  auto config = two_lcores(2);
  config.jobs = {planes_of(4, {1, 0})};
  RingSwitch sw(config);
  JobRanks first(sw, 4, 0);
  JobRanks second(sw, 4, 1);
  ASSERT_TRUE(first.join());
  EXPECT_EQ(sw.packet_loop(1).engine().running_epoch(4), first[0].epoch);
  EXPECT_EQ(sw.packet_loop(0).engine().running_epoch(4), std::nullopt)
      << "nobody has joined it there";
  ASSERT_TRUE(second.join());
  EXPECT_NE(first[0].epoch, second[0].epoch);
  for (std::uint32_t seq = 0; seq < 5; ++seq)
    for (auto* const ranks : {&first, &second}) {
      ranks->contribute(seq);
      for (const std::size_t rank : {0u, 1u}) {
        const auto result = ranks->last_of(rank);
        ASSERT_TRUE(result);
        EXPECT_EQ(result->first.type, wire::PacketType::result);
        EXPECT_EQ(result->first.plane, ranks == &first ? 0 : 1);
        EXPECT_EQ(result->first.covered, 2u);
      }
    }
  const auto placed = sw.packet_loops().jobs(config);
  ASSERT_EQ(placed.size(), 2u);
  for (std::uint8_t plane = 0; plane < 2; ++plane) {
    EXPECT_EQ(placed[plane].config().plane, plane);
    EXPECT_EQ(placed[plane].lcore, 1u - plane);
    EXPECT_EQ(placed[plane].engine().counters(placed[plane].index).completions.get(), 5u);
  }
  const auto owners = sw.packet_loops().owners_of(config, 4);
  EXPECT_EQ(owners, (std::vector<PacketLoop*>{&sw.packet_loop(1), &sw.packet_loop(0)}));
  for (std::size_t port = 0; port < 2; ++port)
    EXPECT_EQ(sw.packet_loops().port_counters(port).drops.total(), 0u);
  EXPECT_EQ(sw.buffers_in_use(), 0u);
}

// A packet of a plane that no loop has is dropped by the first plane's lcore, without an answer.
TEST(Planes, A2_APlaneThatTheJobLacksIsDropped) {
  auto config = two_lcores(2);
  config.jobs = {planes_of(4, {1, 0})};
  RingSwitch sw(config);
  JobRanks ranks(sw, 4);
  ASSERT_TRUE(ranks.join());
  TestWorker stranger = ranks[0];
  stranger.plane = 7;
  for (const std::size_t port : {0u, 1u}) {
    sw.inject(port, stranger.contribution(0, std::array{1}));
    ranks.settle();
    EXPECT_EQ(sw.drops(port, DropReason::bad_shard), 1u) << port;
    EXPECT_TRUE(sw.sent(0).empty() && sw.sent(1).empty());
  }
}

// Protocol rule 16, for all planes of a job at once: those that change places, and one that stays.
TEST(Planes, AReloadMovesPlanesToOtherLcores) {
  auto config = two_lcores(2);
  config.lcores = {-1, -1, -1};
  config.memory.reserve_megabytes = 6;
  config.jobs = {planes_of(4, {0, 1}), job_of(5)};
  RingSwitch sw(config);
  std::vector<JobRanks> planes;
  for (std::uint8_t plane = 0; plane < 2; ++plane) {
    planes.emplace_back(sw, 4, plane);
    ASSERT_TRUE(planes[plane].join());
  }
  JobRanks stays(sw, 5);
  ASSERT_TRUE(stays.join());
  std::uint32_t seq_of_stays = 0;
  for (const std::vector<std::uint16_t>& lcores :
       {std::vector<std::uint16_t>{1, 0}, {1, 2}, {0, 2}}) {
    config.jobs[0].lcores = lcores;
    std::vector<std::shared_ptr<PacketLoop::Change>> changes;
    for (const auto& packet_loop : sw.packet_loops())
      changes.push_back(packet_loop->prepare(config));
    for (std::size_t lcore = 0; lcore < 3; ++lcore)
      sw.packet_loop(lcore).apply(*changes[lcore], sw.now);
    stays.settle();
    std::array<int, 2> told{};  // that their epoch is over
    for (const auto& frame : sw.sent(0))
      if (const auto packet = read_packet(frame)) {
        EXPECT_EQ(packet->packet.header.type, wire::PacketType::abort);
        EXPECT_EQ(packet->packet.header.reason, wire::Reason::configuration_changed);
        ++told.at(packet->packet.header.plane);
      }
    EXPECT_EQ(told, (std::array{1, 1}));
    sw.sent(1);
    for (JobRanks& ranks : planes) {
      ASSERT_TRUE(ranks.join());
      ranks.contribute(0);
      const auto result = ranks.last_of(1);
      ASSERT_TRUE(result);
      EXPECT_EQ(result->first.type, wire::PacketType::result);
    }
    for (std::size_t plane = 0; plane < 2; ++plane)
      EXPECT_EQ(sw.packet_loop(lcores[plane]).engine().running_epoch(4), planes[plane][0].epoch);
    sw.sent(0);
    stays.contribute(seq_of_stays++);
    const auto result = stays.last_of(0);
    ASSERT_TRUE(result);
    EXPECT_EQ(result->first.type, wire::PacketType::result) << "its epoch goes on";
  }
  for (std::size_t port = 0; port < 2; ++port) {
    sw.sent(port);
    EXPECT_EQ(sw.drops(port, DropReason::job_moved), 0u);
  }
  EXPECT_EQ(sw.buffers_in_use(), 0u);
}

}  // namespace
}  // namespace tributary::dataplane
