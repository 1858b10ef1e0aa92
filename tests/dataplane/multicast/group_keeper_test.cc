// Snooping on several lcores: who hears a message, who keeps what it says, and when all know.
#include "dataplane/multicast/group_keeper.h"

#include <gtest/gtest.h>

#include "tests/dataplane/group_frame.h"
#include "tests/dataplane/job_ranks.h"

namespace tributary::dataplane {
namespace {

const wire::MacAddress kGroup4 = wire::multicast_mac(kTestGroup4);

config::SwitchConfig snooping_lcores(std::size_t lcores, std::size_t ports) {
  auto config = test_config(ports);
  config.lcores.assign(lcores, -1);
  config.forwarding.snooping.enabled = true;
  config.forwarding.snooping.groups = 16;
  config.forwarding.snooping.flood_unknown = false;
  return config;
}

std::uint32_t group(std::size_t n) {
  return 0xE0020000 + static_cast<std::uint32_t>(n);
}

// What all know of it; nullopt, too, where they do not agree.
std::optional<PortMask> members(RingSwitch& sw, std::uint32_t ipv4) {
  const wire::MacAddress mac = wire::multicast_mac(ipv4);
  const auto known = sw.packet_loop(0).snooping()->members(mac, 0, sw.now);
  for (const auto& packet_loop : sw.packet_loops())
    if (packet_loop->snooping()->members(mac, 0, sw.now) != known) return std::nullopt;
  return known;
}
void turn(RingSwitch& sw, int times) {
  for (int i = 0; i < times; ++i) sw.turn();
}
void discard_sent(RingSwitch& sw) {
  for (std::size_t port = 0; port < sw.config().ports.size(); ++port) sw.sent(port);
}

TEST(GroupKeeper, O1_AMessageGoesToTheFirstLcoreAndTakesEffectOnAll) {
  RingSwitch sw(snooping_lcores(3, 4));
  sw.inject(1, igmp_frame(0x11, 0));  // of lcore 1
  sw.turn(1);
  EXPECT_EQ(sw.packet_loops().group_rings()->of(1).counters().messages.get(), 1u);
  EXPECT_FALSE(sw.packet_loop(1).snooping()->has_querier(0, false, sw.now)) << "it does not decide";
  sw.turn(0);
  EXPECT_TRUE(sw.packet_loop(0).snooping()->has_querier(0, false, sw.now));
  for (const std::size_t lcore : {1u, 2u}) {
    sw.turn(lcore);
    EXPECT_TRUE(sw.packet_loop(lcore).snooping()->has_querier(0, false, sw.now)) << lcore;
    EXPECT_EQ(sw.packet_loop(lcore).snooping()->routers(0, sw.now), mask_of(1)) << lcore;
  }
  for (const std::size_t port : {0u, 2u, 3u}) EXPECT_EQ(sw.sent(port).size(), 1u) << port;
  // A member on lcore 2; each lcore forwards the frames of the group that it receives.
  sw.inject(2, igmp_frame(0x16, kTestGroup4));
  turn(sw, 3);
  EXPECT_EQ(sw.sent(1).size(), 1u) << "the report, to the router";
  EXPECT_EQ(members(sw, kTestGroup4), mask_of(2));
  for (const std::size_t port : {0u, 1u, 3u}) {
    sw.inject(port, ipv4_frame({.destination = kTestGroup4}, kGroup4, host(9)));
    turn(sw, 2);
    EXPECT_EQ(sw.sent(1).size(), port == 1 ? 0u : 1u);
    EXPECT_EQ(sw.sent(2).size(), 1u);
    EXPECT_TRUE(sw.sent(0).empty() && sw.sent(3).empty());
  }
  EXPECT_EQ(sw.buffers_in_use(), 0u);
}

// What is said again changes nothing that others would have to be told.
TEST(GroupKeeper, WhatIsKnownIsToldOnce) {
  RingSwitch sw(snooping_lcores(2, 2));
  const auto told = [&] { return sw.packet_loops().group_rings()->of(1).counters().updates.get(); };
  for (int round = 0; round < 10; ++round) {
    sw.inject(0, igmp_frame(0x11, 0));
    sw.inject(1, igmp_frame(0x16, kTestGroup4));
    turn(sw, 3);
    sw.now = sw.now + Duration::seconds(1);
  }
  EXPECT_EQ(told(), 2u) << "a querier, and a member";
}

// Its ports are polled by different lcores: the last word counts, whichever lcore heard it.
TEST(GroupKeeper, OneAskedAndAnotherLeftBehindTheSamePort) {
  auto config = snooping_lcores(3, 2);
  config.ports[1].queues = 2;
  config.ports[1].lcores = {1, 2};
  config.forwarding.snooping.leave_delay = Duration();
  RingSwitch sw(config);
  sw.inject_at(1, 0, igmp_frame(0x16, kTestGroup4));
  turn(sw, 3);
  EXPECT_EQ(members(sw, kTestGroup4), mask_of(1));
  sw.inject_at(1, 1, igmp_frame(0x17, kTestGroup4));
  turn(sw, 3);
  EXPECT_EQ(sw.packet_loop(0).snooping()->members(kGroup4, 0, sw.now), std::nullopt);
  EXPECT_EQ(sw.packet_loop(1).snooping()->members(kGroup4, 0, sw.now), std::nullopt);
  EXPECT_EQ(sw.packet_loop(2).snooping()->members(kGroup4, 0, sw.now), std::nullopt);
}

TEST(GroupKeeper, O1_AFloodOfReportsIsBoundedAndCountedAndLeavesOthersHeard) {
  RingSwitch sw(snooping_lcores(2, 4));
  std::size_t sent = 0;
  const auto flood = [&](std::size_t reports) {  // through p1; its lcore turns, the keeper does not
    for (std::size_t i = 0; i < reports; ++i, ++sent) {
      sw.inject(1, igmp_frame(0x16, group(sent)));
      if (i % kBurst == kBurst - 1) sw.turn(1);
    }
  };
  flood(8 * kBurst);
  constexpr std::size_t kShare = GroupRing::kMessages / 2;
  EXPECT_EQ(sw.drops(1, DropReason::group_flood), 8 * kBurst - kShare);
  EXPECT_EQ(sw.buffers_in_use(), kShare);
  // Another port of the same lcore, one of the keeper's, and learning of addresses.
  sw.inject(3, igmp_frame(0x16, kTestGroup4));
  sw.inject(2, igmp_frame(0x16, group(60'000)));
  const Bytes plain = l2_frame(kEverybody, host(77));
  sw.inject(3, plain);
  for (int round = 0; round < 30; ++round) {
    flood(kBurst);
    sw.turn();
    discard_sent(sw);
  }
  turn(sw, 20);
  discard_sent(sw);
  EXPECT_EQ(sw.drops(3, DropReason::group_flood), 0u);
  EXPECT_EQ(members(sw, kTestGroup4), mask_of(3)) << "fewer groups than the one that floods";
  EXPECT_EQ(members(sw, group(60'000)), mask_of(2));
  EXPECT_EQ(sw.packet_loop(0).fdb().lookup(host(77), 0, sw.now), 3);
  EXPECT_EQ(sw.packet_loop(0).snooping()->groups().counters().groups.get(), 16u);
  EXPECT_EQ(sw.buffers_in_use(), 0u);
}

// Each lcore that polls the port lets as much through as the port may say, which is all that the
// keeper looks into, and the way to it stays free.
TEST(GroupKeeper, O1_ThroughSeveralLcoresAPortSaysNoMoreThanThroughOne) {
  auto config = snooping_lcores(3, 2);
  config.ports[1].queues = 2;
  config.ports[1].lcores = {1, 2};
  RingSwitch sw(config);
  constexpr std::size_t kReports = 4 * kBurst;
  constexpr std::size_t kGroups = 127;  // and room for one more
  constexpr std::size_t kHeard = Snooping::kGroupsPerSecond / (kGroups + 1);
  for (std::size_t i = 0; i < kReports; ++i) {
    sw.inject_at(1, i % 2, long_report(kGroups));
    sw.turn();
  }
  turn(sw, 3);
  EXPECT_EQ(sw.packet_loop(0).snooping()->counters().reports.get(), kHeard);
  EXPECT_EQ(sw.drops(1, DropReason::snooping_limit), kReports - kHeard);
  EXPECT_EQ(sw.drops(1, DropReason::group_flood), 0u);
  for (const std::size_t lcore : {1u, 2u})
    EXPECT_EQ(sw.packet_loops().group_rings()->of(lcore).counters().messages.get(), kHeard)
        << lcore;
  discard_sent(sw);
  EXPECT_EQ(sw.buffers_in_use(), 0u);
}

// A report of more groups than others have room for in one go: they get all of them, later.
TEST(GroupKeeper, AFloodOfNewsIsToldAsOthersHaveRoom) {
  auto config = snooping_lcores(2, 2);
  config.forwarding.snooping.groups = 2048;
  RingSwitch sw(config);
  constexpr std::size_t kGroups = 1000;
  for (std::size_t n = 0; n < kGroups; n += 100) {
    std::vector<ListedGroup> listed;
    for (std::size_t i = n; i < n + 100; ++i) listed.push_back({4, group(i), 0});
    sw.inject(0, igmp3_frame(listed));
  }
  for (int i = 0; i < 20; ++i) sw.turn(0);
  const auto& counters = sw.packet_loops().group_rings()->of(1).counters();
  EXPECT_EQ(counters.updates.get(), GroupRing::kUpdates) << "while the other does nothing";
  sw.inject(0, igmp3_frame({{3, group(kGroups - 1), 0}}));  // changes while it waits to be told
  sw.turn(0);
  sw.now = sw.now + config.forwarding.snooping.leave_delay;
  turn(sw, 200);
  for (std::size_t n = 0; n < kGroups - 1; ++n) ASSERT_EQ(members(sw, group(n)), mask_of(0)) << n;
  EXPECT_EQ(
      sw.packet_loop(1).snooping()->members(wire::multicast_mac(group(kGroups - 1)), 0, sw.now),
      std::nullopt);
}

// A turn has so much to clear and no more, and a switch that is idle is soon through, too.
TEST(GroupKeeper, O1_APortThatGoesIsForgottenInPieces) {
  constexpr std::uint32_t kGroups = 2048;
  constexpr std::size_t kMostInATurn = 512;
  GroupKeeper keeper(kGroups, 1, nullptr);
  const Instant until = Instant() + Duration::seconds(100);
  for (std::size_t n = 0; n < kGroups; ++n)
    keeper.table().join(wire::multicast_mac(group(n)), 0, 2, until);
  keeper.forget(2);
  EXPECT_EQ(keeper.members(wire::multicast_mac(group(0)), 0, Instant()), std::nullopt);
  EXPECT_EQ(keeper.table().counters().groups.get(), kGroups);
  for (std::size_t turns = 0; turns < kGroups / kMostInATurn; ++turns)
    EXPECT_LE(keeper.expire(Instant()), kMostInATurn);
  EXPECT_EQ(keeper.table().counters().groups.get(), 0u);
}

}  // namespace
}  // namespace tributary::dataplane
