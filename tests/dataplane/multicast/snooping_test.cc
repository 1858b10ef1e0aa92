// IGMP and MLD snooping through whole turns of the loops: who gets frames to a group, with one
// lcore or several.
#include "dataplane/multicast/snooping.h"

#include <gtest/gtest.h>

#include "config/schema/schema.h"
#include "tests/dataplane/group_frame.h"

namespace tributary::dataplane {
namespace {

const wire::MacAddress kGroup4 = wire::multicast_mac(kTestGroup4);
const wire::MacAddress kGroup6 = {0x33, 0x33, 0x00, 0x00, 0x00, 0x77};

config::SwitchConfig snooping_config() {
  auto config = test_config(4);
  config.forwarding.snooping.enabled = true;
  config.forwarding.snooping.groups = 16;
  return config;
}

// Until all lcores know all: a message goes to the first, which tells, and has looked at all that
// may have ended.
void settle(RingSwitch& sw) {
  constexpr std::size_t kLooks = 16;  // of GroupKeeper in a turn
  for (std::size_t turn = 0; turn < kVlanIds / kLooks + 4; ++turn) sw.turn();
}

config::SwitchConfig with_lcores(config::SwitchConfig config, std::size_t lcores) {
  if (lcores > 1) config.lcores.assign(lcores, -1);
  return config;
}

// Ports that a frame leaves through, of four. Port p is polled by lcore p modulo their number.
std::vector<std::size_t> pass_through(RingSwitch& sw, std::size_t port, const Bytes& frame) {
  if (sw.packet_loops().size() > 1) settle(sw);
  sw.inject(port, frame);
  // To the keeper, to the lcore of its way out, and out.
  for (std::size_t turn = 0; turn < sw.packet_loops().size(); ++turn) sw.turn();
  std::vector<std::size_t> out;
  for (std::size_t p = 0; p < 4; ++p)
    if (!sw.sent(p).empty()) out.push_back(p);
  return out;
}

// p0 has a router, p1 and p2 hosts, p3 a sender.
class Snoop : public testing::TestWithParam<std::size_t> {
 protected:
  RingSwitch sw{with_lcores(snooping_config(), GetParam())};

  std::vector<std::size_t> pass(std::size_t port, const Bytes& frame) {
    auto out = pass_through(sw, port, frame);
    EXPECT_EQ(sw.buffers_in_use(), 0u);
    return out;
  }
  std::vector<std::size_t> data4(std::size_t port) {
    return pass(port, ipv4_frame({.destination = kTestGroup4}, kGroup4, host(9)));
  }
  std::vector<std::size_t> data6(std::size_t port) {
    return pass(port, ipv6_frame({}, kGroup6, host(9)));
  }
};
using Ports = std::vector<std::size_t>;
INSTANTIATE_TEST_SUITE_P(Lcores, Snoop, testing::Values(1u, 2u, 3u));

TEST_P(Snoop, WithoutAQuerierEverythingGoesEverywhere) {
  EXPECT_EQ(pass(1, igmp_frame(0x16, kTestGroup4)), (Ports{0, 2, 3}));
  EXPECT_EQ(data4(3), (Ports{0, 1, 2}));
}

TEST_P(Snoop, AGroupGoesToItsMembersAndToRouters) {
  EXPECT_EQ(pass(0, igmp_frame(0x11, 0)), (Ports{1, 2, 3}));
  EXPECT_EQ(pass(1, igmp_frame(0x16, kTestGroup4)), (Ports{0}));  // reports: to routers only
  EXPECT_EQ(data4(3), (Ports{0, 1}));
  EXPECT_EQ(data4(1), (Ports{0}));
  EXPECT_EQ(data4(0), (Ports{1}));
  EXPECT_EQ(pass(2, igmp3_frame({{4, kTestGroup4, 0}})), (Ports{0}));
  EXPECT_EQ(data4(3), (Ports{0, 1, 2}));
  // A group that no port has asked for is not held back, by default.
  EXPECT_EQ(pass(3, ipv4_frame({}, wire::multicast_mac(0xE0010299))), (Ports{0, 1, 2}));
}

TEST_P(Snoop, APortThatGoesLeavesItsGroupsAndItsRouterBehind) {
  pass(0, igmp_frame(0x11, 0));
  pass(3, igmp_frame(0x11, 0));
  pass(1, igmp_frame(0x16, kTestGroup4));
  pass(2, igmp_frame(0x16, kTestGroup4));
  EXPECT_EQ(data4(3), (Ports{0, 1, 2}));
  auto file = sw.config();
  file.ports.erase(file.ports.begin(), file.ports.begin() + 2);
  sw.reload(file);
  EXPECT_EQ(data4(3), (Ports{2}));
  for (const char* name : {"n0", "n1"})
    file.ports.push_back({name, std::string("net_ring_") + name, 1500});
  sw.reload(file);
  EXPECT_EQ(data4(3), (Ports{2})) << "others are there now";
  EXPECT_EQ(pass(0, igmp_frame(0x16, kTestGroup4)), (Ports{3}));
  EXPECT_EQ(data4(3), (Ports{0, 2}));
}

TEST_P(Snoop, Ipv6Likewise) {
  EXPECT_EQ(pass(0, mld_frame(130, 0)), (Ports{1, 2, 3}));
  EXPECT_EQ(pass(1, mld_frame(131, 0x77)), (Ports{0}));
  EXPECT_EQ(data6(3), (Ports{0, 1}));
  EXPECT_EQ(pass(1, mld2_frame({{3, 0x77, 0}})), (Ports{0}));
  sw.now = sw.now + Duration::seconds(2);
  EXPECT_EQ(data6(3), (Ports{0, 1, 2}));  // no port's again
  // A querier of the other kind is none.
  EXPECT_EQ(pass(1, igmp_frame(0x16, kTestGroup4)), (Ports{0}));
  EXPECT_EQ(data4(3), (Ports{0, 1, 2}));
}

TEST_P(Snoop, MembersLeaveAndAge) {
  pass(0, igmp_frame(0x11, 0));
  pass(1, igmp_frame(0x16, kTestGroup4));
  pass(2, igmp_frame(0x16, kTestGroup4));
  pass(1, igmp_frame(0x17, kTestGroup4));
  EXPECT_EQ(data4(3), (Ports{0, 1, 2}));  // another host there may still want it
  sw.now = sw.now + Duration::seconds(2);
  EXPECT_EQ(data4(3), (Ports{0, 2}));
  sw.now = sw.now + Duration::seconds(250);
  pass(0, igmp_frame(0x11, 0));
  EXPECT_EQ(data4(3), (Ports{0, 2}));
  sw.now = sw.now + Duration::seconds(8);
  EXPECT_EQ(data4(3), (Ports{0, 1, 2}));  // 260 s of silence: no host asks for it
  for (int turn = 0; turn < 8; ++turn) sw.turn();
  EXPECT_EQ(sw.packet_loop().snooping()->groups().counters().groups.get(), 0u);
  // Without its querier, the network is a plain one again.
  pass(1, igmp_frame(0x16, kTestGroup4));
  EXPECT_EQ(data4(3), (Ports{0, 1}));
  sw.now = sw.now + Duration::seconds(255);
  EXPECT_EQ(data4(3), (Ports{0, 1, 2}));
}

// They are other switches, which hear the reports; other hosts do not, or they would keep theirs.
TEST_P(Snoop, QueriersWithoutAnAddressAreNoRouters) {
  pass(0, igmp_frame(0x11, 0, 0));
  EXPECT_EQ(pass(1, igmp_frame(0x16, kTestGroup4)), (Ports{0}));
  EXPECT_EQ(data4(3), (Ports{1}));
  // No host asks for the other kind.
  EXPECT_EQ(pass(1, mld_frame(131, 0x77)), (Ports{0, 2, 3}));
}

// A host may pose as one: it hears reports then, but does not keep them from the other, which would
// hold data back for want of them. Nor does the other's silence end what the host has begun.
TEST_P(Snoop, C1_QueriersWithoutAnAddressHearReportsUntilTheyAreSilent) {
  const Bytes query = igmp_frame(0x11, 0, 0);
  const Bytes report = igmp_frame(0x16, kTestGroup4);
  const Duration half = snooping_config().forwarding.snooping.router_ageing / 2;
  pass(0, query);
  pass(2, query);
  EXPECT_EQ(pass(1, report), (Ports{0, 2}));
  EXPECT_EQ(pass(0, report), Ports{2});
  EXPECT_EQ(data4(3), (Ports{0, 1})) << "no routers";
  EXPECT_EQ(pass(1, mld_frame(131, 0x77)), (Ports{0, 2, 3})) << "of the other kind nobody asks";
  sw.now = sw.now + half;
  pass(2, query);
  EXPECT_EQ(pass(1, report), (Ports{0, 2}));
  sw.now = sw.now + half + Duration::ns(1);
  EXPECT_EQ(pass(1, report), Ports{2}) << "the network has changed";
  sw.now = sw.now + half;
  EXPECT_EQ(pass(1, report), (Ports{0, 2, 3})) << "nobody asks";
}

TEST_P(Snoop, C1_BehindAPortThatGoesNobodyAsks) {
  pass(0, igmp_frame(0x11, 0, 0));
  pass(3, igmp_frame(0x11, 0, 0));
  auto file = sw.config();
  file.ports.erase(file.ports.begin());
  sw.reload(file);
  file.ports.push_back({"n0", "net_ring_n0", 1500});
  sw.reload(file);
  EXPECT_EQ(pass(1, igmp_frame(0x16, kTestGroup4)), Ports{3});
}

// Reports beyond a port's limit are dropped, and no other port's.
TEST_P(Snoop, O1_AFloodOfReportsIsLimitedByPort) {
  constexpr std::size_t kGroups = 182;  // in 1,500 bytes; and room for one more
  constexpr std::size_t kHeard = Snooping::kGroupsPerSecond / (kGroups + 1);
  pass(0, igmp_frame(0x11, 0));
  const auto flood = [&](const Bytes& report) {
    for (std::size_t i = 0; i < 2 * kHeard; ++i)
      EXPECT_EQ(pass(1, report), i < kHeard ? Ports{0} : Ports{}) << i;
  };
  flood(long_report(kGroups));
  EXPECT_EQ(sw.drops(1, DropReason::snooping_limit), kHeard);
  EXPECT_EQ(sw.packet_loop().snooping()->counters().reports.get(), kHeard);
  EXPECT_EQ(pass(1, mld2_frame({{4, 0x77, 0}})), Ports{0}) << "a short one has room still";
  EXPECT_EQ(pass(1, igmp_frame(0x11, 0)), (Ports{0, 2, 3})) << "queries are none";
  EXPECT_EQ(pass(2, igmp_frame(0x16, kTestGroup4)), (Ports{0, 1}));
  EXPECT_EQ(data4(3), (Ports{0, 1, 2}));
  // It is heard again when it repeats what it wants.
  sw.now = sw.now + Duration::seconds(1);
  EXPECT_EQ(pass(1, igmp_frame(0x16, kTestGroup4)), Ports{0});
  flood(long_report(kGroups));
}

// A look at every byte of what is damaged takes as long.
TEST_P(Snoop, O1_AFloodOfDamagedReportsIsLimitedLikewise) {
  Bytes report = long_report(182);
  report.back() ^= std::byte{1};
  constexpr std::size_t kHeard = Snooping::kGroupsPerSecond / 183;
  for (std::size_t i = 0; i < 2 * kHeard; ++i) EXPECT_EQ(pass(1, report), Ports{});
  EXPECT_EQ(sw.drops(1, DropReason::group_malformed), kHeard);
  EXPECT_EQ(sw.drops(1, DropReason::snooping_limit), kHeard);
}

// No port there becomes a router's, and the querier of the VLAN does not hear of it.
class SnoopKeys : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Lcores, SnoopKeys, testing::Values(1u, 2u));

TEST_P(SnoopKeys, C1_AQueryFromAHostsPortIsDropped) {
  auto config = with_lcores(snooping_config(), GetParam());
  config.forwarding.snooping.host_ports = {"p1"};
  RingSwitch sw(config);
  EXPECT_EQ(pass_through(sw, 1, igmp_frame(0x11, 0)), Ports{});
  EXPECT_EQ(sw.drops(1, DropReason::no_member), 1u);
  const Snooping& snooping = *sw.packet_loop().snooping();
  EXPECT_EQ(snooping.counters().queries_refused.get(), 1u);
  EXPECT_EQ(snooping.counters().queries.get(), 0u);
  EXPECT_EQ(snooping.routers(0, sw.now), 0u);
  EXPECT_FALSE(snooping.has_querier(0, false, sw.now));
  EXPECT_EQ(pass_through(sw, 0, igmp_frame(0x11, 0)), (Ports{1, 2, 3}));
  EXPECT_EQ(pass_through(sw, 1, igmp_frame(0x16, kTestGroup4)), (Ports{0}))
      << "what it wants it may say";
}

// Those of VLANs with routers first, a piece at a time.
TEST_P(Snoop, O1_RowsAreOfRoutersAndOfGroups) {
  pass(0, igmp_frame(0x11, 0));
  pass(1, igmp_frame(0x16, kTestGroup4));
  pass(2, igmp_frame(0x16, kTestGroup4 + 1));
  const Snooping& snooping = *sw.packet_loop().snooping();
  constexpr std::uint32_t kLooks = 5;
  std::vector<GroupRow> rows;
  for (std::uint32_t place = 0, looks = 0; place != snooping.row_places();) {
    snooping.rows(place, kLooks, sw.now, rows);
    looks = std::min(looks + kLooks, snooping.row_places());
    ASSERT_EQ(place, looks);
  }
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_TRUE(wire::is_zero(rows[0].group));
  EXPECT_EQ(rows[0].ports, mask_of(0));
  EXPECT_EQ(rows[0].left, snooping_config().forwarding.snooping.router_ageing);
  EXPECT_EQ(rows[1].group, kGroup4);
  EXPECT_EQ(rows[1].ports, mask_of(1));
  EXPECT_EQ(rows[2].ports, mask_of(2));
}

TEST_P(Snoop, GroupsOfTheLinkAndOfJobsGoEverywhere) {
  pass(0, igmp_frame(0x11, 0));
  pass(0, mld_frame(130, 0));
  const auto to = [&](const wire::MacAddress& group) { return pass(3, ipv4_frame({}, group)); };
  for (const std::uint32_t group : {0xE0000005u, 0xE00000FBu, config::job_group_ipv4(5)}) {
    pass(1, igmp_frame(0x16, group));
    EXPECT_EQ(to(wire::multicast_mac(group)), (Ports{0, 1, 2})) << group;
  }
  EXPECT_EQ(to({0x33, 0x33, 0, 0, 0, 1}), (Ports{0, 1, 2}));
  EXPECT_EQ(to({0x01, 0x00, 0x0C, 0xCC, 0xCC, 0xCD}), (Ports{0, 1, 2}));  // no IP group
  EXPECT_EQ(to(kEverybody), (Ports{0, 1, 2}));
  EXPECT_EQ(sw.packet_loop().snooping()->groups().counters().groups.get(), 0u);
}

TEST_P(Snoop, DamagedMessagesAreDropped) {
  Bytes bent = igmp_frame(0x16, kTestGroup4);
  bent.back() ^= std::byte{1};
  EXPECT_EQ(pass(1, bent), Ports{});
  EXPECT_EQ(sw.drops(1, DropReason::group_malformed), 1u);
}

TEST_P(Snoop, RulesChangeAndWhatIsKnownStays) {
  pass(0, igmp_frame(0x11, 0));
  pass(1, igmp_frame(0x16, kTestGroup4));
  auto next = sw.config();
  next.forwarding.snooping.flood_unknown = false;
  next.forwarding.snooping.router_ports = {"p2"};
  next.forwarding.snooping.leave_delay = Duration::seconds(50);
  config::ForwardingChange parts;
  parts.snooping = true;
  for (const auto& packet_loop : sw.packet_loops()) {
    const auto prepared = packet_loop->prepare(next, parts);
    packet_loop->apply(*prepared, sw.now);
  }
  EXPECT_EQ(data4(3), (Ports{0, 1, 2}));
  EXPECT_EQ(pass(3, ipv4_frame({}, wire::multicast_mac(0xE0010299))), (Ports{0, 2}));
  pass(1, igmp_frame(0x17, kTestGroup4));
  sw.now = sw.now + Duration::seconds(49);
  EXPECT_EQ(data4(3), (Ports{0, 1, 2}));
}

TEST_P(SnoopKeys, UnknownGroupsMayGoToRoutersOnly) {
  auto config = with_lcores(snooping_config(), GetParam());
  config.forwarding.snooping.flood_unknown = false;
  config.forwarding.snooping.router_ports = {"p2"};
  RingSwitch sw(config);
  EXPECT_EQ(pass_through(sw, 0, igmp_frame(0x11, 0, 0)), (Ports{1, 2, 3}));
  EXPECT_EQ(pass_through(sw, 1, ipv4_frame({}, kGroup4)), Ports{2});
  EXPECT_EQ(pass_through(sw, 2, ipv4_frame({}, kGroup4)), Ports{});
  EXPECT_EQ(sw.drops(2, DropReason::no_member), 1u);
}

TEST_P(SnoopKeys, C1_TheLargestReportIsWithinTheLimit) {
  auto config = with_lcores(snooping_config(), GetParam());
  config.forwarding.snooping.groups = 2048;
  for (auto& port : config.ports) port.mtu = config::kMaxMtu;
  config.memory.megabytes = 64;
  RingSwitch sw(config);
  constexpr std::size_t kGroups = (config::kMaxMtu - 24 - 8) / 8;
  EXPECT_EQ(pass_through(sw, 1, long_report(kGroups)), (Ports{0, 2, 3}));
  EXPECT_EQ(sw.packet_loop().snooping()->groups().counters().groups.get(), kGroups);
}

TEST_P(SnoopKeys, GroupsAreOfTheirVlan) {
  auto config = with_lcores(snooping_config(), GetParam());
  config.ports[0].vlan = {config::VlanMode::trunk, {}, {}, {}};
  for (const std::size_t port : {1u, 2u, 3u})
    config.ports[port].vlan = {
        config::VlanMode::access, static_cast<std::uint16_t>(port == 3 ? 20 : 10), {}, {}};
  RingSwitch sw(config);
  Bytes query = igmp_frame(0x11, 0);
  const auto tagged = [](const Bytes& frame, std::uint16_t vlan) {
    Bytes out(frame.begin(), frame.begin() + 12);
    append_be16(out, wire::kEtherTypeVlan);
    append_be16(out, vlan);
    out.insert(out.end(), frame.begin() + 12, frame.end());
    return out;
  };
  EXPECT_EQ(pass_through(sw, 0, tagged(query, 10)), (Ports{1, 2}));
  EXPECT_EQ(pass_through(sw, 0, tagged(query, 20)), Ports{3});
  EXPECT_EQ(pass_through(sw, 1, igmp_frame(0x16, kTestGroup4)), Ports{0});
  EXPECT_EQ(pass_through(sw, 3, igmp_frame(0x16, kTestGroup4)), Ports{0});
  EXPECT_EQ(pass_through(sw, 0, tagged(ipv4_frame({}, kGroup4), 10)), Ports{1});
  EXPECT_EQ(pass_through(sw, 2, ipv4_frame({}, kGroup4)), (Ports{0, 1}));
}

}  // namespace
}  // namespace tributary::dataplane
