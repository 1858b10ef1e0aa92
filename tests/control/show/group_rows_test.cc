// `show groups` of a table that changes between two looks.
#include "control/show/group_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/control/running_switch.h"

namespace tributary::control {
namespace {

using dataplane::GroupRow;
using dataplane::GroupTable;
using dataplane::mask_of;

constexpr std::uint16_t kComes = 1;
constexpr std::uint16_t kGoes = 2;
constexpr std::uint16_t kStays = 3;

Instant at(std::int64_t seconds) {
  return Instant() + Duration::seconds(seconds);
}
wire::MacAddress group(std::uint8_t n) {
  return {0x01, 0x00, 0x5e, 0x01, 0x02, n};
}

class GroupRowsTest : public testing::Test {
 protected:
  void look(std::uint32_t places) {
    std::vector<GroupRow> piece;
    table.rows(place, places, at(0), piece);
    looked_at += piece.size();
    for (const GroupRow& row : piece) rows.add(row);
  }
  [[nodiscard]] dataplane::PortMask ports_of(std::uint8_t n) const {
    dataplane::PortMask ports = 0;
    for (const GroupRow& row : rows.all())
      if (row.group == group(n)) ports |= row.ports;
    return ports;
  }

  GroupTable table{8, 1};
  GroupRows rows;
  std::uint32_t place = 0;
  std::size_t looked_at = 0;
};

TEST_F(GroupRowsTest, O1_AGroupThatComesAgainElsewhereIsOneRow) {
  table.join(group(0), 0, kGoes, at(100));
  table.join(group(1), 0, kStays, at(100));
  table.join(group(2), 0, kGoes, at(100));
  table.join(group(3), 0, kStays, at(100));
  look(2);
  table.forget(kGoes);
  table.expire(at(0), table.capacity());
  table.join(group(4), 0, kComes, at(100));  // these take the two places that are free
  table.join(group(5), 0, kComes, at(100));
  table.join(group(0), 0, kComes, at(200));  // behind all others
  look(table.capacity());
  EXPECT_EQ(looked_at, 5u) << "one of them twice";
  EXPECT_EQ(rows.all().size(), 4u);
  EXPECT_EQ(ports_of(0), mask_of(kComes)) << "as it was seen last";
  EXPECT_EQ(rows.all()[0].left, Duration::seconds(200));
  EXPECT_EQ(ports_of(1), mask_of(kStays));
  EXPECT_EQ(ports_of(3), mask_of(kStays));
  EXPECT_EQ(ports_of(2), 0u) << "gone before it was seen";
}

TEST_F(GroupRowsTest, O1_TheSameAddressInAnotherVlanIsAnotherGroup) {
  table.join(group(0), 1, kStays, at(100));
  table.join(group(0), 2, kStays, at(100));
  look(table.capacity());
  rows.add({{}, 1, mask_of(kStays), {}});  // of routers
  rows.add({{}, 2, mask_of(kStays), {}});
  EXPECT_EQ(rows.all().size(), 4u);
}

// For any events between two looks: no group of a VLAN has two rows.
TEST_F(GroupRowsTest, O1_OfAnyOrderOfEventsAGroupHasOneRow) {
  std::uint32_t state = 1;
  const auto next = [&state](std::uint32_t below) {
    state = state * 1664525 + 1013904223;
    return (state >> 16) % below;
  };
  for (int round = 0; round < 500; ++round) {
    rows = {};
    for (place = 0; place != table.capacity();) {
      for (std::uint32_t n = next(6); n > 0; --n)
        table.join(group(static_cast<std::uint8_t>(next(12))), 0,
                   static_cast<std::uint16_t>(next(3)), at(100));
      if (next(3) == 0) table.forget(static_cast<std::uint16_t>(next(3)));
      look(1 + next(3));
    }
    std::vector<wire::MacAddress> groups;
    for (const GroupRow& row : rows.all()) groups.push_back(row.group);
    std::sort(groups.begin(), groups.end());
    ASSERT_EQ(std::adjacent_find(groups.begin(), groups.end()), groups.end()) << round;
  }
}

}  // namespace
}  // namespace tributary::control
