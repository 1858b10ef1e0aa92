// IGMP and MLD messages: who asks, who wants what; everything cut short or damaged is malformed.
#include "dataplane/multicast/group_message.h"

#include <gtest/gtest.h>

#include "tests/dataplane/group_frame.h"

namespace tributary::dataplane {
namespace {

const wire::MacAddress kGroup4 = {0x01, 0x00, 0x5e, 0x01, 0x02, 0x03};
const wire::MacAddress kGroup6 = {0x33, 0x33, 0x00, 0x00, 0x00, 0x77};

GroupMessage read(const Bytes& frame, bool linear = true) {
  const auto parsed = wire::parse_ethernet(frame);
  return read_group_message(std::get<wire::EthernetView>(parsed), linear);
}
std::vector<std::pair<wire::MacAddress, bool>> records(const Bytes& frame) {
  std::vector<std::pair<wire::MacAddress, bool>> out;
  GroupRecords all(read(frame));
  for (GroupRecord record; all.next(record);) out.emplace_back(record.group, record.wanted);
  return out;
}
using Records = std::vector<std::pair<wire::MacAddress, bool>>;

TEST(GroupMessage, Igmp) {
  EXPECT_EQ(read(igmp_frame(0x11, 0)).kind, GroupKind::query);
  EXPECT_TRUE(read(igmp_frame(0x11, 0)).from_router);
  EXPECT_FALSE(read(igmp_frame(0x11, 0, 0)).from_router);  // of a switch that has no address
  EXPECT_EQ(records(igmp_frame(0x12, kTestGroup4)), (Records{{kGroup4, true}}));
  EXPECT_EQ(records(igmp_frame(0x16, kTestGroup4)), (Records{{kGroup4, true}}));
  EXPECT_EQ(records(igmp_frame(0x17, kTestGroup4)), (Records{{kGroup4, false}}));
  EXPECT_EQ(read(igmp_frame(0x16, 0x0A000001)).kind, GroupKind::malformed);  // no group
  EXPECT_EQ(read(igmp_frame(0x13, 0)).kind, GroupKind::none);                // DVMRP
  EXPECT_EQ(read(ipv4_frame({})).kind, GroupKind::none);
  EXPECT_EQ(read(l2_frame(kEverybody, host(1))).kind, GroupKind::none);
}

TEST(GroupMessage, Igmpv3) {
  const Bytes report = igmp3_frame({{1, kTestGroup4, 1},    // wants some sources
                                    {2, kTestGroup4, 0},    // all
                                    {3, kTestGroup4, 0},    // none: leaves
                                    {4, kTestGroup4, 2},    // all but two
                                    {5, kTestGroup4, 1},    // one more
                                    {6, kTestGroup4, 1}});  // one less: says nothing of others
  EXPECT_EQ(
      records(report),
      (Records{
          {kGroup4, true}, {kGroup4, true}, {kGroup4, false}, {kGroup4, true}, {kGroup4, true}}));
  EXPECT_EQ(records(igmp3_frame({})), (Records{}));
}

TEST(GroupMessage, Mld) {
  EXPECT_EQ(read(mld_frame(130, 0)).kind, GroupKind::query);
  EXPECT_TRUE(read(mld_frame(130, 0)).ipv6);
  EXPECT_EQ(records(mld_frame(131, 0x77)), (Records{{kGroup6, true}}));
  EXPECT_EQ(records(mld_frame(132, 0x77)), (Records{{kGroup6, false}}));
  EXPECT_EQ(records(mld2_frame({{4, 0x77, 0}, {3, 0x77, 0}, {6, 0x77, 1}})),
            (Records{{kGroup6, true}, {kGroup6, false}}));
  EXPECT_EQ(read(mld_frame(135, 0)).kind, GroupKind::none);  // neighbour discovery
  EXPECT_EQ(read(ipv6_frame({.protocol = 58, .payload = 24})).kind, GroupKind::none);
}

// What there may be to look at is known before it is looked at.
TEST(GroupMessage, AReportHasRoomForSoManyRecords) {
  const auto room = [](const Bytes& frame) {
    const auto parsed = wire::parse_ethernet(frame);
    const auto message = find_group_message(std::get<wire::EthernetView>(parsed), true);
    EXPECT_EQ(message.kind, GroupKind::report);
    return message.most_records();
  };
  EXPECT_EQ(room(igmp_frame(0x16, kTestGroup4)), 1u);
  EXPECT_EQ(room(igmp3_frame({})), 1u);
  EXPECT_EQ(room(igmp3_frame(std::vector<ListedGroup>(100, {4, kTestGroup4, 0}))), 101u);
  EXPECT_EQ(room(mld_frame(131, 0x77)), 1u);
  EXPECT_EQ(room(mld2_frame(std::vector<ListedGroup>(100, {4, 0x77, 0}))), 100u);
  // Sources take room, too.
  EXPECT_EQ(room(igmp3_frame({{4, kTestGroup4, 20}})), 12u);
  Bytes bent = igmp3_frame(std::vector<ListedGroup>(100, {4, kTestGroup4, 0}));
  bent[kIgmpAt + 7] = std::byte{1};
  EXPECT_EQ(room(bent), 101u) << "whatever it says of itself";
}

// A message that is cut off or damaged anywhere is noticed.
TEST(GroupMessage, DamageIsNoticed) {
  for (const Bytes& whole : {igmp_frame(0x16, kTestGroup4), igmp3_frame({{2, kTestGroup4, 1}}),
                             mld_frame(131, 0x77), mld2_frame({{4, 0x77, 1}})}) {
    const bool ipv6 = read(whole).ipv6;
    const std::size_t headers = wire::kEthernetBytes + (ipv6 ? 48 : 24);
    for (std::size_t bytes = headers; bytes < whole.size(); ++bytes)
      EXPECT_EQ(read({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(bytes)}).kind,
                GroupKind::malformed)
          << bytes;
    for (std::size_t at = headers; at < whole.size(); ++at) {
      Bytes bent = whole;
      bent[at] ^= std::byte{1};
      // A type that is no longer one of ours is no group message.
      const GroupKind kind = read(bent).kind;
      EXPECT_TRUE(kind == GroupKind::malformed || kind == GroupKind::none) << at;
      if (at != headers) {
        EXPECT_EQ(kind, GroupKind::malformed) << at;
      }
    }
    EXPECT_EQ(read(whole, false).kind, GroupKind::malformed);  // in several buffers
  }
  for (std::size_t bytes = wire::kEthernetBytes; bytes < wire::kEthernetBytes + 20; ++bytes) {
    const Bytes whole = igmp_frame(0x16, kTestGroup4);
    EXPECT_EQ(read({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(bytes)}).kind,
              GroupKind::malformed);
  }
}

TEST(GroupMessage, RecordsThatPromiseMoreThanThereIs) {
  Bytes report = igmp3_frame({{2, kTestGroup4, 0}});
  const std::size_t igmp = wire::kEthernetBytes + 24;
  for (const auto& [at, value] : {std::pair<std::size_t, int>{7, 2}, {9, 1}, {11, 1}, {6, 255}}) {
    Bytes bent = report;
    bent[igmp + at] = static_cast<std::byte>(value);
    seal_igmp(bent);
    EXPECT_EQ(read(bent).kind, GroupKind::malformed) << at;
  }
}

}  // namespace
}  // namespace tributary::dataplane
