// Several packet loops of one switch, turned by hand: what one receives and another owns.
#include "dataplane/loop/packet_loops.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "config/plan/aggregation_memory.h"
#include "tests/dataplane/job_ranks.h"

namespace tributary::dataplane {
namespace {

Bytes plain_frame(std::uint8_t from, std::uint8_t to) {
  Bytes frame(100);
  frame[0] = frame[6] = std::byte{2};
  frame[5] = std::byte{to};
  frame[11] = std::byte{from};
  frame[12] = std::byte{0x88};
  frame[13] = std::byte{0xB5};
  return frame;
}

wire::MacAddress mac(std::uint8_t last) {
  return {2, 0, 0, 0, 0, last};
}

std::uint64_t handed(RingSwitch& sw, std::size_t from, std::size_t to, TrafficClass traffic) {
  return sw.packet_loops()
      .handover()
      ->path(from, to)
      .counters.frames[static_cast<std::size_t>(traffic)]
      .get();
}
std::uint64_t handed(RingSwitch& sw, std::size_t from, std::size_t to) {
  return handed(sw, from, to, TrafficClass::jobs) + handed(sw, from, to, TrafficClass::others);
}
std::uint64_t found_full(RingSwitch& sw, std::size_t from, std::size_t to, TrafficClass traffic) {
  return sw.packet_loops()
      .handover()
      ->path(from, to)
      .counters.full[static_cast<std::size_t>(traffic)]
      .get();
}

TEST(PacketLoops, OneLcoreHasNoRings) {
  RingSwitch sw(test_config(2));
  EXPECT_EQ(sw.packet_loops().size(), 1u);
  EXPECT_EQ(sw.packet_loops().handover(), nullptr);
  sw.inject(0, plain_frame(1, 9));
  sw.turn();
  EXPECT_EQ(sw.packet_loop().stages()[static_cast<std::size_t>(Stage::handed)].idle_cycles.get(),
            0u);
}

TEST(PacketLoops, AJobGivesTheSameBitsWhicheverLcoreOwnsIt) {
  std::vector<std::pair<wire::Header, Bytes>> results;
  for (const std::size_t lcores : {1u, 2u})
    for (const std::uint32_t job : {4u, 5u}) {
      auto config = two_lcores(2);
      config.lcores.resize(lcores == 1 ? 0 : 2);
      config.jobs = {job_of(job)};
      RingSwitch sw(config);
      JobRanks ranks(sw, job);
      ASSERT_TRUE(ranks.join());
      for (std::uint32_t seq = 0; seq < 20; ++seq) {
        ranks.contribute(seq);
        const auto first = ranks.last_of(0);
        const auto second = ranks.last_of(1);
        ASSERT_TRUE(first && second);
        EXPECT_EQ(first->first.type, wire::PacketType::result);
        EXPECT_EQ(first->second, second->second);
        EXPECT_EQ(first->first.covered, 2u);
        if (seq == 19) results.push_back(*first);
      }
      if (lcores == 2) {
        const std::size_t owner = job % 2;
        EXPECT_GE(handed(sw, 1 - owner, owner), 21u) << "JOIN and contributions";
        EXPECT_GE(handed(sw, owner, 1 - owner), 21u) << "START and results";
        EXPECT_EQ(sw.packet_loop(owner).engine().counters(0).completions.get(), 20u);
        EXPECT_EQ(sw.packet_loop(1 - owner).engine().job_count(), 0u);
      }
      for (std::size_t port = 0; port < 2; ++port)
        EXPECT_EQ(sw.packet_loops().port_counters(port).drops.total(), 0u);
      EXPECT_EQ(sw.buffers_in_use(), 0u);
    }
  for (const auto& [header, payload] : results) EXPECT_EQ(payload, results[0].second);
}

// A packet of an unknown job is answered where it came in.
TEST(PacketLoops, AnUnknownJobIsRefusedByWhoHasIt) {
  auto config = two_lcores(2);
  config.jobs = {job_of(4)};
  RingSwitch sw(config);
  const TestWorker stranger(config, 9, 0, 2);
  sw.inject(1, stranger.join(1));
  sw.turn(1);
  const auto frames = sw.sent(1);
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(read_packet(frames[0])->packet.header.reason, wire::Reason::unknown_job);
  EXPECT_EQ(sw.drops(1, DropReason::unknown_job), 1u);
  EXPECT_EQ(handed(sw, 1, 0), 0u);
}

TEST(PacketLoops, AFrameLeavesThroughTheLcoreThatOwnsTheQueue) {
  RingSwitch sw(two_lcores());
  sw.inject(1, plain_frame(7, 9));  // lcore 1 learns where 7 is
  sw.turn();
  for (std::size_t port = 0; port < 4; ++port) sw.sent(port);
  sw.turn();
  for (std::size_t port = 0; port < 4; ++port) sw.sent(port);
  sw.inject(0, plain_frame(1, 7));
  sw.turn(0);
  EXPECT_TRUE(sw.sent(1).empty());
  sw.turn(1);
  EXPECT_EQ(sw.sent(1), std::vector<Bytes>{plain_frame(1, 7)});
  EXPECT_TRUE(sw.sent(2).empty()) << "lcore 0 knows what lcore 1 has learned";
  EXPECT_EQ(sw.packet_loops().port_counters(1).tx_packets.get(),
            sw.packet_loop(1).port_counters(1).tx_packets.get());
  EXPECT_EQ(sw.buffers_in_use(), 0u);
}

// One buffer to ports of both lcores.
TEST(PacketLoops, AFloodReachesEveryPortOnce) {
  RingSwitch sw(two_lcores());
  sw.inject(2, plain_frame(1, 9), 2);
  sw.turn();
  for (const std::size_t port : {0u, 1u, 3u})
    EXPECT_EQ(sw.sent(port), std::vector<Bytes>{plain_frame(1, 9)}) << port;
  EXPECT_TRUE(sw.sent(2).empty());
  EXPECT_EQ(sw.buffers_in_use(), 0u);
}

TEST(PacketLoops, AFullRingDropsAndLosesNoBuffer) {
  RingSwitch sw(two_lcores(2));
  constexpr std::size_t kSent = config::kHandoverFrames + 50;
  for (std::size_t i = 0; i < kSent; ++i) {
    sw.inject(0, plain_frame(1, 9));
    sw.turn(0);  // lcore 1 does not turn
  }
  EXPECT_EQ(handed(sw, 0, 1, TrafficClass::others), config::kHandoverFrames);
  EXPECT_EQ(found_full(sw, 0, 1, TrafficClass::others), 50u);
  EXPECT_EQ(sw.drops(1, DropReason::handover_full), 50u);
  EXPECT_EQ(sw.buffers_in_use(), config::kHandoverFrames);
  std::size_t arrived = 0;
  while (sw.turn(1) != 0) arrived += sw.sent(1).size();
  EXPECT_EQ(arrived, config::kHandoverFrames);
  EXPECT_EQ(sw.buffers_in_use(), 0u);
}

TEST(PacketLoops, APacketThatFindsTheRingFullIsCountedWhereItCameIn) {
  auto config = two_lcores(2);
  config.jobs = {job_of(5)};
  RingSwitch sw(config);
  const TestWorker rank(config, 5, 0, 2);
  for (std::size_t i = 0; i < config::kHandoverFrames + 3; ++i) {
    sw.inject(0, rank.join(1));
    sw.turn(0);
  }
  EXPECT_EQ(sw.drops(0, DropReason::handover_full), 3u);
  EXPECT_EQ(sw.drops(1, DropReason::handover_full), 0u);
  EXPECT_EQ(found_full(sw, 0, 1, TrafficClass::jobs), 3u);
}

// Others that lcore 1 does not keep up with: job packets that come meanwhile find their own ring,
// and half of what lcore 1 takes at a time.
TEST(PacketLoops, O1_AFloodBetweenLcoresLeavesJobsTheirShare) {
  auto config = two_lcores(2);
  config.jobs = {job_of(5)};
  RingSwitch sw(config);
  JobRanks ranks(sw, 5);
  ASSERT_TRUE(ranks.join());
  const std::uint64_t before = handed(sw, 0, 1, TrafficClass::jobs);
  for (std::size_t i = 0; i < 2 * config::kHandoverFrames; ++i) {
    sw.inject(0, plain_frame(1, 9));
    sw.turn(0);
  }
  ASSERT_EQ(found_full(sw, 0, 1, TrafficClass::others), config::kHandoverFrames);
  constexpr std::uint32_t kChunks = 8;  // the job's window
  for (std::uint32_t seq = 0; seq < kChunks; ++seq) {
    sw.inject(0, ranks[0].contribution(seq, std::array{1}));
    sw.inject(1, ranks[1].contribution(seq, std::array{2}));
  }
  sw.turn(0);
  EXPECT_EQ(handed(sw, 0, 1, TrafficClass::jobs), before + kChunks);
  EXPECT_EQ(sw.drops(0, DropReason::handover_full), 0u);
  sw.turn(1);  // one burst, of which they are a part
  EXPECT_EQ(sw.packet_loop(1).engine().counters(0).completions.get(), kChunks);
  EXPECT_EQ(sw.sent(1).size(), kBurst) << "what jobs leave of it is others', and the results";
  while (sw.turn() != 0) (void)sw.sent(0), (void)sw.sent(1);
  EXPECT_EQ(sw.buffers_in_use(), 0u);
}

// The other way round, and each burst is half of each.
TEST(PacketLoops, O1_AFloodOfJobsBetweenLcoresLeavesOthersTheirShare) {
  auto config = two_lcores(2);
  config.jobs = {job_of(5)};
  RingSwitch sw(config);
  const TestWorker rank(config, 5, 0, 2);
  for (std::size_t i = 0; i < 2 * config::kHandoverFrames; ++i) {
    sw.inject(0, rank.join(1));
    sw.turn(0);
  }
  ASSERT_EQ(found_full(sw, 0, 1, TrafficClass::jobs), config::kHandoverFrames);
  constexpr std::size_t kOthers = kBurst;
  for (std::size_t i = 0; i < kOthers; ++i) {
    sw.inject(0, plain_frame(1, 9));
    sw.turn(0);
  }
  EXPECT_EQ(handed(sw, 0, 1, TrafficClass::others), kOthers);
  EXPECT_EQ(sw.drops(1, DropReason::handover_full), 0u);
  const auto forwarded = [&] {
    const auto frames = sw.sent(1);
    return std::count(frames.begin(), frames.end(), plain_frame(1, 9));
  };
  for (int turn = 0; turn < 2; ++turn) {
    sw.turn(1);
    EXPECT_EQ(forwarded(), kBurst / 2);
  }
  EXPECT_EQ(sw.turn(1), kBurst) << "with nobody else, jobs have all of a burst";
  EXPECT_EQ(forwarded(), 0);
}

TEST(PacketLoops, WhatWaitsInARingIsFreedAtTheEnd) {
  RingSwitch sw(two_lcores(2));
  Lanes lanes;
  {
    Handover handover(2);
    HandoverEnd end(handover, 0);
    for (int i = 0; i < 3; ++i) {
      end.give(1, {rte_pktmbuf_alloc(sw.pool()), 0, Handed::What::transmit}, lanes);
      if (i == 0) end.flush(lanes);
    }
    ASSERT_EQ(sw.buffers_in_use(), 3u);
  }
  EXPECT_EQ(sw.buffers_in_use(), 0u);
}

TEST(PacketLoops, WhatOneLearnsAllKnow) {
  RingSwitch sw(two_lcores());
  sw.inject(3, plain_frame(7, 9));
  sw.turn(1);
  EXPECT_EQ(sw.packet_loop(0).fdb().lookup(mac(7), 0, sw.now), std::nullopt);
  sw.turn(0);
  EXPECT_EQ(sw.packet_loop(0).fdb().lookup(mac(7), 0, sw.now), 3);
  // A steady source is told of again, so that no copy ages: here after an eighth of 300 s, at most
  // a second.
  const auto& counters = sw.packet_loops().handover()->path(1, 0).counters;
  EXPECT_EQ(counters.addresses.get(), 1u);
  sw.inject(3, plain_frame(7, 9));
  sw.turn();
  EXPECT_EQ(counters.addresses.get(), 1u);
  sw.now = sw.now + Duration::seconds(1);
  sw.inject(3, plain_frame(7, 9));
  sw.turn(1);
  sw.turn(0);
  EXPECT_EQ(counters.addresses.get(), 2u);
  EXPECT_EQ(sw.packet_loop(0).fdb().seen(mac(7), 0)->at, sw.now);
}

// Two sources that take turns on one port are not told of with each frame.
TEST(PacketLoops, AlternatingSourcesAreToldOfOnce) {
  RingSwitch sw(two_lcores());
  for (int i = 0; i < 10; ++i) {
    sw.inject(1, plain_frame(7, 9));
    sw.inject(1, plain_frame(8, 9));
    sw.turn();
  }
  EXPECT_EQ(sw.packet_loops().handover()->path(1, 0).counters.addresses.get(), 2u);
}

TEST(PacketLoops, AnAddressThatMovesBetweenLcoresMovesForAll) {
  RingSwitch sw(two_lcores());
  const auto where = [&](std::size_t lcore) {
    return sw.packet_loop(lcore).fdb().lookup(mac(7), 0, sw.now);
  };
  for (const std::uint16_t port : std::array<std::uint16_t, 5>{0, 1, 0, 3, 2}) {
    sw.now = sw.now + Duration::us(10);
    sw.inject(port, plain_frame(7, 9));
    sw.turn();
    sw.turn();
    EXPECT_EQ(where(0), port);
    EXPECT_EQ(where(1), port);
  }
}

// Both see the address before they hear of each other: the later one counts, and where there is
// none, all choose the same.
TEST(PacketLoops, AnAddressSeenByTwoAtOnceEndsInOnePlace) {
  for (const Duration apart : {Duration::us(1), Duration()}) {
    RingSwitch sw(two_lcores());
    // So many other addresses that lcore 0 is not yet through when it sees this one itself.
    for (int other = 0; other < kBurst; ++other)
      sw.inject(1, plain_frame(static_cast<std::uint8_t>(100 + other), 9));
    sw.turn(1);
    sw.inject(1, plain_frame(7, 9));
    sw.turn(1);
    sw.now = sw.now + apart;
    sw.inject(0, plain_frame(7, 9));
    sw.turn(0);
    EXPECT_EQ(sw.packet_loop(0).fdb().lookup(mac(7), 0, sw.now), 0);
    EXPECT_EQ(sw.packet_loop(1).fdb().lookup(mac(7), 0, sw.now), 1);
    for (int i = 0; i < 3; ++i) sw.turn();
    const std::uint16_t agreed = apart == Duration() ? 1 : 0;
    EXPECT_EQ(sw.packet_loop(0).fdb().lookup(mac(7), 0, sw.now), agreed);
    EXPECT_EQ(sw.packet_loop(1).fdb().lookup(mac(7), 0, sw.now), agreed);
  }
}

// Into port 0, each from an address of its own; lcore 1 does not get round to hearing of them.
void flood_addresses(RingSwitch& sw, int addresses) {
  for (int i = 0; i < addresses; ++i) {
    Bytes frame = plain_frame(1, 9);
    frame[9] = static_cast<std::byte>(i >> 8);
    frame[10] = static_cast<std::byte>(i);
    sw.inject(0, frame);
    sw.turn(0);
  }
}

// Or it would take the place of those that other ports learn.
TEST(PacketLoops, APortTellsOfNoMoreAddressesThanItMayTeach) {
  auto config = two_lcores(2);
  config.ports[0].max_addresses = 3;
  RingSwitch sw(config);
  flood_addresses(sw, 300);
  const auto& counters = sw.packet_loops().handover()->path(0, 1).counters;
  EXPECT_EQ(counters.addresses.get(), 3u);
  EXPECT_EQ(counters.addresses_lost.get(), 0u);
  EXPECT_EQ(sw.packet_loop(0).fdb().counters().limited.get(), 297u);
}

TEST(PacketLoops, AFloodOfAddressesIsBoundedAndCounted) {
  RingSwitch sw(two_lcores(2));
  flood_addresses(sw, 300);
  const auto& counters = sw.packet_loops().handover()->path(0, 1).counters;
  EXPECT_EQ(counters.addresses.get(), HandoverPath::kAddresses);
  EXPECT_EQ(counters.addresses_lost.get(), 300 - HandoverPath::kAddresses);
}

TEST(PacketLoops, QueuesOfAPortBelongToDifferentLcores) {
  auto config = two_lcores(2);
  config.ports[0].queues = 2;
  config.ports[0].lcores = {1, 0};
  config.ports[1].lcores = {1};
  RingSwitch sw(config);
  ASSERT_EQ(sw.packet_loop(0).queues().size(), 1u);
  EXPECT_EQ(sw.packet_loop(0).queues()[0].queue, 1u);
  ASSERT_EQ(sw.packet_loop(1).queues().size(), 2u);
  sw.inject_at(0, 0, plain_frame(1, 9));
  EXPECT_EQ(sw.turn(0), 0u);
  EXPECT_EQ(sw.turn(1), 1u);
  sw.sent(1);
  sw.inject(1, plain_frame(2, 1));
  sw.inject_at(0, 1, plain_frame(3, 2));
  sw.turn(1);
  sw.turn(0);
  // Each sends through its own queue of port 0, without the other.
  EXPECT_EQ(sw.sent(0), std::vector<Bytes>{plain_frame(2, 1)});
  EXPECT_EQ(handed(sw, 1, 0), 0u);
  sw.turn(1);
  EXPECT_EQ(sw.sent(1), std::vector<Bytes>{plain_frame(3, 2)});
}

config::SwitchConfig with_reserve() {
  auto config = two_lcores(2);
  config.memory.reserve_megabytes = 4;
  config.jobs = {job_of(4), job_of(5)};
  return config;
}

// Protocol rule 16: a job that stays goes on; one that moves gets a new epoch, and is never
// refused.
TEST(PacketLoops, AReloadMovesAJobUnderTraffic) {
  auto config = with_reserve();
  RingSwitch sw(config);
  JobRanks moves(sw, 4);
  ASSERT_TRUE(moves.join());
  JobRanks stays(sw, 5);
  ASSERT_TRUE(stays.join());
  moves.contribute(0);
  ASSERT_TRUE(moves.last_of(0) && moves.last_of(1));

  config.jobs[0].lcore = 1;
  std::vector<std::shared_ptr<PacketLoop::Change>> changes;
  for (const auto& packet_loop : sw.packet_loops()) changes.push_back(packet_loop->prepare(config));
  // Half a chunk is there, and half is on its way, when lcore 0 changes before lcore 1.
  sw.inject(0, moves[0].contribution(1, std::array{1}));
  sw.turn(0);
  sw.packet_loop(0).apply(*changes[0], sw.now);
  sw.inject(1, moves[1].contribution(1, std::array{1}));
  sw.turn(1);
  sw.turn(0);
  EXPECT_EQ(sw.drops(1, DropReason::job_moved), 1u) << "lcore 1 said 0, which says 1";
  sw.inject(0, moves[0].join(500));
  sw.turn(0);
  sw.turn(1);
  EXPECT_EQ(sw.drops(0, DropReason::job_moved), 1u) << "and the other way round";
  sw.packet_loop(1).apply(*changes[1], sw.now);
  sw.turn();
  sw.turn();
  for (std::size_t rank = 0; rank < 2; ++rank)
    for (const auto& frame : sw.sent(rank))
      if (const auto packet = read_packet(frame); packet && packet->packet.header.job == 4) {
        EXPECT_NE(packet->packet.header.type, wire::PacketType::nack);
        EXPECT_EQ(packet->packet.header.reason, wire::Reason::configuration_changed);
      }
  EXPECT_EQ(sw.packet_loop(0).engine().job_count(), 0u);
  ASSERT_EQ(sw.packet_loop(1).engine().job_count(), 2u);
  ASSERT_TRUE(moves.join());
  moves.contribute(0);
  EXPECT_EQ(moves.last_of(0)->first.type, wire::PacketType::result);
  stays.contribute(0);
  EXPECT_EQ(stays.last_of(1)->first.type, wire::PacketType::result);
  for (std::size_t port = 0; port < 2; ++port) sw.sent(port);
  EXPECT_EQ(sw.buffers_in_use(), 0u);
}

TEST(PacketLoops, ShutDownTellsTheGroupThroughOtherLcores) {
  auto config = two_lcores(2);
  config.jobs = {job_of(5)};
  RingSwitch sw(config);
  JobRanks ranks(sw, 5);
  ASSERT_TRUE(ranks.join());
  for (const auto& packet_loop : sw.packet_loops()) packet_loop->shut_down(sw.now);
  sw.turn();
  for (std::size_t rank = 0; rank < 2; ++rank)
    EXPECT_EQ(ranks.last_of(rank)->first.reason, wire::Reason::shutdown) << rank;
}

TEST(PacketLoops, EnginesTakeTogetherWhatWasPlanned) {
  auto config = with_reserve();
  config.jobs.push_back(job_of(6));
  config.jobs[2].slots = config::SlotMode::dynamic;
  config.jobs.push_back(planes_of(9, {0, 1}));
  config.cache.megabytes = 3;
  RingSwitch sw(config);
  std::uint64_t taken = 0;
  for (const auto& packet_loop : sw.packet_loops()) taken += packet_loop->engine().memory_bytes();
  EXPECT_EQ(taken, config::aggregation_memory(config).total());
}

}  // namespace
}  // namespace tributary::dataplane
