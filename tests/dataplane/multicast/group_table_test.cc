#include "dataplane/multicast/group_table.h"

#include <gtest/gtest.h>

namespace tributary::dataplane {
namespace {

Instant at(std::int64_t seconds) {
  return Instant() + Duration::seconds(seconds);
}
wire::MacAddress group(std::uint8_t n) {
  return {0x01, 0x00, 0x5e, 0x01, 0x02, n};
}
std::vector<GroupRow> all_rows(const GroupTable& table, Instant now) {
  std::vector<GroupRow> rows;
  std::uint32_t place = 0;
  table.rows(place, table.capacity(), now, rows);
  return rows;
}

TEST(GroupTable, PortsJoinAndAgeEachOnItsOwn) {
  GroupTable table(4, 1);
  EXPECT_EQ(table.lookup(group(1), 0, at(0)), std::nullopt);
  table.join(group(1), 0, 2, at(100));
  table.join(group(1), 0, 5, at(200));
  EXPECT_EQ(table.lookup(group(1), 0, at(0)), mask_of(2) | mask_of(5));
  EXPECT_EQ(table.lookup(group(1), 7, at(0)), std::nullopt);  // another VLAN
  EXPECT_EQ(table.lookup(group(1), 0, at(100)), mask_of(5));
  EXPECT_EQ(table.lookup(group(1), 0, at(200)), std::nullopt);
  EXPECT_EQ(table.expire(at(199), 4), 0u);
  EXPECT_EQ(table.expire(at(200), 4), 1u);
  EXPECT_EQ(table.counters().groups.get(), 0u);
  EXPECT_EQ(table.counters().joined.get(), 2u);
}

TEST(GroupTable, LeavingShortensButNeverProlongs) {
  GroupTable table(4, 1);
  table.join(group(1), 0, 2, at(100));
  table.leave(group(1), 0, 3, at(1));
  table.leave(group(1), 0, 2, at(102));
  EXPECT_TRUE(table.lookup(group(1), 0, at(99)));
  table.leave(group(1), 0, 2, at(52));
  EXPECT_TRUE(table.lookup(group(1), 0, at(51)));
  EXPECT_FALSE(table.lookup(group(1), 0, at(52)));
  EXPECT_EQ(table.counters().left.get(), 2u);
  table.join(group(1), 0, 2, at(300));  // another port is there
  EXPECT_TRUE(table.lookup(group(1), 0, at(299)));
}

TEST(GroupTable, APortThatGoesWantsNothing) {
  GroupTable table(4, 1);
  table.join(group(1), 0, 2, at(100));
  table.join(group(1), 0, 5, at(100));
  table.join(group(2), 0, 2, at(100));
  table.forget(2);
  EXPECT_EQ(table.lookup(group(1), 0, at(1)), mask_of(5));
  EXPECT_EQ(table.lookup(group(2), 0, at(1)), std::nullopt);
  EXPECT_EQ(all_rows(table, at(1)).size(), 1u);
  EXPECT_EQ(table.expire(at(1), 4), 1u);
  EXPECT_EQ(table.counters().groups.get(), 1u);
}

// However much a port has wanted: its going is no more than a turn's looks at a time.
TEST(GroupTable, O1_WhatAPortLeavesIsClearedAFewPlacesATime) {
  constexpr std::uint32_t kLooks = 8;
  GroupTable table(64, 1);
  for (std::uint8_t n = 0; n < 64; ++n) table.join(group(n), 0, 2, at(100));
  EXPECT_FALSE(table.forgetting());
  table.forget(2);
  EXPECT_EQ(table.counters().groups.get(), 64u) << "nothing is cleared before expire() comes by";
  for (std::uint32_t left = 64; left != 0; left -= kLooks) {
    EXPECT_TRUE(table.forgetting());
    EXPECT_TRUE(all_rows(table, at(1)).empty()) << "but nobody wants it";
    EXPECT_EQ(table.expire(at(1), kLooks), kLooks);
  }
  EXPECT_FALSE(table.forgetting());
  EXPECT_EQ(table.counters().groups.get(), 0u);
}

TEST(GroupTable, O1_WhoComesToThePlaceOfAPortThatIsGoneInheritsNothing) {
  GroupTable table(4, 1);
  table.join(group(1), 0, 2, at(100));
  table.join(group(2), 0, 2, at(100));
  table.forget(2);
  table.join(group(2), 0, 2, at(50));  // before anything was cleared
  EXPECT_EQ(table.lookup(group(1), 0, at(1)), std::nullopt);
  EXPECT_EQ(table.lookup(group(2), 0, at(1)), mask_of(2));
  table.leave(group(1), 0, 2, at(9));
  EXPECT_EQ(table.counters().left.get(), 0u) << "it never was there";
  EXPECT_EQ(table.counters().joined.get(), 3u);
  for (int n = 0; n < 2; ++n) table.expire(at(1), 2);
  EXPECT_EQ(table.lookup(group(2), 0, at(49)), mask_of(2));
  EXPECT_EQ(table.counters().groups.get(), 1u);
}

// Epochs come again after 256; nothing of the one before may.
TEST(GroupTable, O1_APortThatGoesAgainAndAgainFindsNothingOfOldAgain) {
  GroupTable table(4, 1);
  table.join(group(1), 0, 2, at(100));
  for (int times = 0; times < 600; ++times) {
    table.forget(2);
    ASSERT_EQ(table.lookup(group(1), 0, at(1)), std::nullopt) << times;
  }
}

TEST(GroupTable, O1_RoomThatAGonePortStillHasIsForWhoAsks) {
  GroupTable table(4, 1);
  for (std::uint8_t n = 0; n < 4; ++n) table.join(group(n), 0, 2, at(100));
  table.forget(2);
  for (std::uint8_t n = 10; n < 14; ++n) table.join(group(n), 0, 3, at(100));
  EXPECT_EQ(table.counters().refused.get(), 0u) << "all of it, not half as of a port that is there";
  EXPECT_EQ(table.counters().evicted.get(), 0u);
  EXPECT_EQ(all_rows(table, at(1)).size(), 4u);
}

TEST(GroupTable, IsBoundedAndSaysSo) {
  GroupTable table(4, 1);
  for (std::uint8_t n = 0; n < 10; ++n) table.join(group(n), 0, 0, at(10));
  EXPECT_EQ(table.counters().groups.get(), 4u);
  EXPECT_EQ(table.counters().refused.get(), 6u);
  EXPECT_EQ(all_rows(table, at(0)).size(), 4u);
  table.join(group(3), 0, 1, at(20));  // one that is known gets its port
  EXPECT_EQ(table.lookup(group(3), 0, at(15)), mask_of(1));
  EXPECT_EQ(table.expire(at(10), 100), 3u);
  table.join(group(9), 0, 0, at(30));
  EXPECT_TRUE(table.lookup(group(9), 0, at(15)));
  EXPECT_EQ(all_rows(table, at(15)).size(), 2u);
}

// A look at a large table takes no longer than its piece, whatever is there.
TEST(GroupTable, O1_ALookIsOfSoManyPlacesAndNoMore) {
  constexpr std::uint32_t kLooks = 8;
  GroupTable table(64, 1);
  for (std::uint8_t n = 0; n < 50; ++n) table.join(group(n), n % 3, n % 2, at(n % 5 == 0 ? 1 : 9));
  table.forget(1);  // places in between are free
  std::vector<GroupRow> pieces;
  std::uint32_t place = 0;
  for (std::uint32_t looks = kLooks; place != table.capacity(); looks += kLooks) {
    const std::size_t before = pieces.size();
    table.rows(place, kLooks, at(1), pieces);
    EXPECT_EQ(place, looks) << "and not as far as the next group that somebody wants";
    EXPECT_LE(pieces.size() - before, kLooks);
  }
  const auto whole = all_rows(table, at(1));
  ASSERT_EQ(pieces.size(), whole.size());
  for (std::size_t i = 0; i < pieces.size(); ++i) EXPECT_EQ(pieces[i].group, whole[i].group);
  EXPECT_EQ(whole.size(), 20u) << "of 25 the time of five has come";
  EXPECT_EQ(whole[0].ports, mask_of(0));
  EXPECT_EQ(whole[0].left, Duration::seconds(8));
}

// A host that asks for whatever there is takes no room from those that ask for little.
TEST(GroupTable, C1_AFloodOfReportsCrowdsOutItsOwn) {
  constexpr std::uint16_t kFlood = 3;
  GroupTable table(8, 1);
  for (std::uint8_t n = 0; n < 100; ++n) table.join(group(n), 0, kFlood, at(100));
  EXPECT_EQ(table.counters().refused.get(), 92u) << "it keeps what it has";
  for (std::uint8_t n = 0; n < 4; ++n) {
    table.join(group(200 + n), 0, n % 2, at(50));
    for (std::uint8_t more = 0; more < 50; ++more)
      table.join(group(100 + more), 0, kFlood, at(100));
  }
  EXPECT_EQ(table.counters().evicted.get(), 4u);
  for (std::uint8_t n = 0; n < 4; ++n) {
    EXPECT_EQ(table.lookup(group(200 + n), 0, at(1)), mask_of(n % 2));
    EXPECT_FALSE(table.lookup(group(n), 0, at(1))) << "the flood's oldest gave way";
    EXPECT_TRUE(table.lookup(group(4 + n), 0, at(1)));
  }
  EXPECT_EQ(table.counters().groups.get(), 8u);
}

// Being asked for by the flood, too, costs a group nothing.
TEST(GroupTable, C1_AGroupThatOthersWantStays) {
  GroupTable table(4, 1);
  for (std::uint8_t n = 0; n < 4; ++n) table.join(group(n), 0, 3, at(100));
  table.join(group(0), 0, 1, at(50));  // the flood's oldest
  table.join(group(9), 0, 2, at(50));
  EXPECT_EQ(table.lookup(group(0), 0, at(1)), mask_of(3) | mask_of(1));
  EXPECT_FALSE(table.lookup(group(1), 0, at(1)));
  EXPECT_EQ(table.lookup(group(9), 0, at(1)), mask_of(2));
  EXPECT_EQ(table.counters().evicted.get(), 1u);
  // Port 1 has one, the flood two: what it asks for anew is the oldest no more.
  table.join(group(2), 0, 3, at(100));
  table.join(group(8), 0, 0, at(50));
  EXPECT_TRUE(table.lookup(group(2), 0, at(1)));
  EXPECT_FALSE(table.lookup(group(3), 0, at(1)));
}

// A port that is left is charged with it.
TEST(GroupTable, C1_WhoLeavesIsChargedNoMore) {
  GroupTable table(2, 1);
  for (std::uint8_t n = 0; n < 2; ++n) {
    table.join(group(n), 0, 3, at(10));
    table.join(group(n), 0, 1, at(100));
  }
  table.expire(at(10), 2);
  table.join(group(5), 0, 3, at(100));
  EXPECT_EQ(table.counters().evicted.get(), 1u) << "of port 1's two";
  EXPECT_EQ(table.lookup(group(5), 0, at(11)), mask_of(3));
}

TEST(GroupTable, ExpiryLooksAtAFewEntriesATime) {
  GroupTable table(64, 1);
  for (std::uint8_t n = 0; n < 64; ++n) table.join(group(n), 0, 0, at(1));
  std::size_t gone = 0;
  for (int turn = 0; turn < 16; ++turn) {
    const std::size_t now_gone = table.expire(at(1), 4);
    EXPECT_EQ(now_gone, 4u);
    gone += now_gone;
  }
  EXPECT_EQ(gone, 64u);
}

TEST(GroupTable, CapacityMustBeAPowerOfTwo) {
  EXPECT_THROW(GroupTable(12, 1), std::invalid_argument);
}

}  // namespace
}  // namespace tributary::dataplane
