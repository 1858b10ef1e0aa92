#include "dataplane/multicast/group_rings.h"

#include <gtest/gtest.h>

#include "tests/dataplane/ring_switch.h"

namespace tributary::dataplane {
namespace {

constexpr std::size_t kAll = GroupRing::kMessages;

// Ports count here, frames do not: there are none.
GroupFrame of_port(std::uint16_t port) {
  return {nullptr, port, 0};
}
std::size_t flood(GroupRing& way, std::uint16_t port) {
  std::size_t given = 0;
  while (way.give(of_port(port))) ++given;
  return given;
}
std::size_t take(GroupRing& way, std::size_t most) {
  std::array<GroupFrame, kAll> room;
  return way.take(std::span(room).first(most)).size();
}

TEST(GroupRing, O1_AFloodOfMessagesThroughOnePortLeavesOthersRoom) {
  GroupRing way;
  EXPECT_EQ(flood(way, 3), kAll / 2);
  EXPECT_EQ(flood(way, 7), kAll / 4) << "two that flood leave room, too";
  EXPECT_TRUE(way.give(of_port(0)));
  EXPECT_EQ(way.counters().messages_full.get(), 2u);
  EXPECT_EQ(way.counters().messages.get(), kAll / 2 + kAll / 4 + 1);
  // Messages that were taken make room again, for the port with the least in flight.
  EXPECT_EQ(take(way, 8), 8u);
  EXPECT_FALSE(way.give(of_port(3))) << "56 on the way, room for 39";
  EXPECT_TRUE(way.give(of_port(7)));
  EXPECT_EQ(take(way, kAll), kAll / 2 + kAll / 4 - 8 + 2);
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(flood(way, 3), kAll / 2);
    EXPECT_EQ(take(way, kAll), kAll / 2);
  }
}

TEST(GroupRing, WhatIsToldIsBoundedByWhatIsTaken) {
  GroupRing way;
  std::uint32_t told = 0;
  for (; way.has_room(); ++told) way.tell({.place = told});
  EXPECT_EQ(told, GroupRing::kUpdates);
  std::array<GroupUpdate, 5> room;
  const auto taken = way.take(std::span(room));
  ASSERT_EQ(taken.size(), 5u);
  EXPECT_EQ(taken[4].place, 4u) << "in its order";
  for (; way.has_room(); ++told) way.tell({.place = told});
  EXPECT_EQ(told, GroupRing::kUpdates + 5);
  EXPECT_EQ(way.counters().updates.get(), told);
}

TEST(GroupRing, MessagesThatNobodyHasTakenAreFreed) {
  RingSwitch sw(test_config(1));
  {
    const GroupRings ways(2);
    ASSERT_TRUE(ways.of(1).give({rte_pktmbuf_alloc(sw.pool()), 0, 0}));
    ASSERT_EQ(sw.buffers_in_use(), 1u);
  }
  EXPECT_EQ(sw.buffers_in_use(), 0u);
}

}  // namespace
}  // namespace tributary::dataplane
