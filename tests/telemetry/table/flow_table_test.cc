#include "telemetry/table/flow_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <list>

#include "core/prng.h"

namespace tributary::telemetry {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

FlowKey key_of(std::uint16_t port) {
  FlowKey key;
  key.source_port = port;
  return key;
}

FlowPath& see(FlowTable& table, std::uint16_t port) {
  const FlowKey key = key_of(port);
  const std::uint64_t hash = table.hash_of(key);
  table.prefetch(hash);
  return table.see(key, hash);
}

std::vector<std::uint16_t> ports(const FlowTable& table) {
  std::vector<std::uint16_t> all;
  for (const FlowPath& flow : table) all.push_back(flow.key.source_port);
  return all;
}

TEST(FlowTable, C7_EvictsTheFlowThatWasSeenLongestAgo) {
  FlowTable table(3);
  EXPECT_THAT(ports(table), IsEmpty());
  for (std::uint16_t port = 1; port <= 3; ++port) see(table, port).reports = port;
  EXPECT_EQ(see(table, 1).reports, 1u);
  EXPECT_THAT(ports(table), ElementsAre(1, 3, 2));
  EXPECT_EQ(see(table, 4).reports, 0u);
  EXPECT_THAT(ports(table), ElementsAre(4, 1, 3));
  EXPECT_EQ(table.evicted(), 1u);
  EXPECT_EQ(table.size(), 3u);
  EXPECT_EQ(table.find(key_of(2)), nullptr);
  ASSERT_NE(table.find(key_of(3)), nullptr);
  EXPECT_EQ(table.find(key_of(3))->reports, 3u);
}

TEST(FlowTable, OneFlowAtMost) {
  FlowTable table(1);
  for (std::uint16_t port = 0; port < 100; ++port) see(table, port);
  EXPECT_THAT(ports(table), ElementsAre(99));
  EXPECT_EQ(table.evicted(), 99u);
}

TEST(FlowTable, EveryPartOfAKeyCounts) {
  FlowTable table(8);
  FlowKey key;
  std::vector<FlowKey> keys(6, key);
  keys[1].source[15] = 1;
  keys[2].destination[0] = 1;
  keys[3].source_port = 1;
  keys[4].destination_port = 1;
  keys[5].protocol = 6;
  for (const FlowKey& one : keys) ++table.see(one, table.hash_of(one)).reports;
  ASSERT_EQ(table.size(), keys.size());
  for (const FlowKey& one : keys) EXPECT_EQ(table.find(one)->reports, 1u);
}

// Against a list in order of age, with more keys than places.
TEST(FlowTable, IsAListInOrderOfAge) {
  constexpr std::size_t kLimit = 100;
  FlowTable table(kLimit);
  std::list<std::uint16_t> expected;
  Prng random(7);
  for (int i = 0; i < 20'000; ++i) {
    const auto port = static_cast<std::uint16_t>(random.next() % 150);
    const auto known = std::find(expected.begin(), expected.end(), port);
    const bool is_known = known != expected.end();
    FlowPath& flow = see(table, port);
    ASSERT_EQ(flow.key, key_of(port));
    ASSERT_EQ(flow.reports != 0, is_known) << port;
    ++flow.reports;
    if (is_known) expected.erase(known);
    expected.push_front(port);
    if (expected.size() > kLimit) expected.pop_back();
  }
  EXPECT_EQ(ports(table), (std::vector<std::uint16_t>(expected.begin(), expected.end())));
}

}  // namespace
}  // namespace tributary::telemetry
