#include "dataplane/multicast/group_view.h"

#include <gtest/gtest.h>

#include <random>

#include "dataplane/multicast/group_table.h"

namespace tributary::dataplane {
namespace {

wire::MacAddress group(std::uint32_t n) {
  return {0x01, 0x00, 0x5e, 0x01, 0x02, static_cast<std::uint8_t>(n)};
}
GroupUpdate at_place(std::uint32_t place, std::uint32_t n, PortMask ports) {
  return {.key = mac_key(group(n), 0), .place = place, .ports = ports};
}

TEST(GroupNews, APlaceWaitsOnceAndInTurn) {
  GroupNews news(4);
  EXPECT_TRUE(news.empty());
  for (const std::uint32_t place : {2u, 0u, 2u, 3u, 0u}) news.note(place);
  EXPECT_EQ(news.take(), 2u);
  news.note(2);  // it has changed since it was told of
  for (const std::uint32_t place : {0u, 3u, 2u}) EXPECT_EQ(news.take(), place);
  EXPECT_TRUE(news.empty());
  news.note(1);
  EXPECT_EQ(news.take(), 1u);
}

TEST(GroupView, KnowsWhatItWasToldLast) {
  GroupView view(4, 1);
  EXPECT_EQ(view.members(group(1), 0, {}), std::nullopt);
  view.apply(at_place(0, 1, 6));
  EXPECT_EQ(view.members(group(1), 0, {}), 6u);
  EXPECT_EQ(view.members(group(1), 7, {}), std::nullopt) << "another VLAN";
  view.apply(at_place(0, 1, 2));
  EXPECT_EQ(view.members(group(1), 0, {}), 2u);
  view.apply(at_place(0, 1, 0));
  view.apply(at_place(0, 1, 0));
  EXPECT_EQ(view.members(group(1), 0, {}), std::nullopt);
}

TEST(GroupView, KnowsVlans) {
  GroupView view(16, 1);
  EXPECT_FALSE(view.has_querier(4095, false, {}));
  view.apply({.place = 16 + 4095, .ports = 5, .queriers = querier_bit(true)});
  EXPECT_EQ(view.routers(4095, {}), 5u);
  EXPECT_TRUE(view.has_querier(4095, true, {}));
  EXPECT_FALSE(view.has_querier(4095, false, {}));
  EXPECT_EQ(view.routers(4094, {}), 0u);
  view.apply({.place = 16 + 4095});
  EXPECT_EQ(view.routers(4095, {}), 0u);
  EXPECT_FALSE(view.has_querier(4095, true, {}));
}

// A group goes and comes again at another place; what is told of the old one comes later.
TEST(GroupView, AGroupThatHasMovedStays) {
  GroupView view(2, 1);
  view.apply(at_place(0, 1, 1));
  view.apply(at_place(1, 1, 2));
  EXPECT_EQ(view.members(group(1), 0, {}), 2u);
  view.apply(at_place(0, 2, 4));
  EXPECT_EQ(view.members(group(1), 0, {}), 2u);
  EXPECT_EQ(view.members(group(2), 0, {}), 4u);
  view.apply(at_place(1, 3, 8));
  EXPECT_EQ(view.members(group(1), 0, {}), std::nullopt);
  EXPECT_EQ(view.members(group(3), 0, {}), 8u);
}

// For any events in a table, and however late it is told of them: when all is told, both are the
// same.
TEST(GroupView, EndsAsTheTableThatItIsToldOf) {
  constexpr std::uint32_t kGroups = 8;
  constexpr std::uint32_t kSeed = 20261124;
  SCOPED_TRACE(kSeed);
  std::mt19937 random(kSeed);
  GroupTable table(kGroups, 1);
  GroupView view(kGroups, 2);
  GroupNews news(kGroups);
  table.tell(&news);
  Instant now;
  const auto tell = [&] {
    const std::uint32_t place = news.take();
    view.apply({.key = table.at(place).key, .place = place, .ports = table.at(place).ports});
  };
  for (int step = 0; step < 20'000; ++step) {
    now = now + Duration::seconds(1);
    const auto port = static_cast<std::uint16_t>(random() % 4);
    const wire::MacAddress some = group(static_cast<std::uint32_t>(random() % 20));
    switch (random() % 8) {
      case 0: table.leave(some, 0, port, now + Duration::seconds(2)); break;
      case 1: table.expire(now, 2); break;
      case 2:
        if (random() % 50 == 0) table.forget(port);
        break;
      default: table.join(some, 0, port, now + Duration::seconds(random() % 60)); break;
    }
    if (random() % 2 == 0 && !news.empty()) tell();
    if (random() % 100 != 0) continue;
    table.expire(now, kGroups);
    while (!news.empty()) tell();
    for (std::uint32_t n = 0; n < 20; ++n)
      ASSERT_EQ(view.members(group(n), 0, now), table.lookup(group(n), 0, now)) << step;
  }
  EXPECT_GT(table.counters().evicted.get(), 0u);
  EXPECT_GT(table.counters().refused.get(), 0u);
}

}  // namespace
}  // namespace tributary::dataplane
