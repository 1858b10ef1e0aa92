// VLANs per port, through whole turns of the loop: who gets a frame, and with which tag.
#include "dataplane/frame/vlan.h"

#include <gtest/gtest.h>

#include <memory>

#include "tests/dataplane/l2_frame.h"
#include "tests/dataplane/test_packet_loop.h"

namespace tributary::dataplane {
namespace {

using config::VlanMode;

enum : std::size_t { kAccess10, kOther10, kAccess20, kTrunk, kTransparent, kPorts };

config::SwitchConfig vlan_config() {
  auto config = test_config(kPorts);
  config.ports[kAccess10].vlan = {VlanMode::access, 10, {}, {}};
  config.ports[kOther10].vlan = {VlanMode::access, 10, {}, {}};
  config.ports[kAccess20].vlan = {VlanMode::access, 20, {}, {}};
  config.ports[kTrunk].vlan = {VlanMode::trunk, {}, {{10, 10}}, 20};
  return config;
}

TEST(VlanTable, AVacantPlaceIsInNoVlan) {
  auto config = test_config(3);
  config.ports[1] = {};
  config.ports[1].queues = 0;
  const VlanTable table(config.ports);
  EXPECT_EQ(table.members(0), mask_of(0) | mask_of(2));
  EXPECT_EQ(table.members(7), mask_of(0) | mask_of(2));
  const VlanTable before(test_config(2).ports);
  EXPECT_EQ(before.differences(table), mask_of(1) | mask_of(2)) << "who goes, and who comes";
}

TEST(VlanTable, APortWithoutVlanTakesNothingAndGetsNothing) {
  auto config = test_config(3);
  config.ports[1].vlan.mode = VlanMode::none;
  const VlanTable table(config.ports);
  wire::EthernetView frame;
  EXPECT_EQ(table.vlan_of(1, frame), kNoVlan);
  frame.vlan_tci = std::uint16_t{7};
  EXPECT_EQ(table.vlan_of(1, frame), kNoVlan);
  EXPECT_EQ(table.vlan_of(0, frame), 7);
  EXPECT_EQ(table.members(0), mask_of(0) | mask_of(2));
  EXPECT_EQ(table.members(7), mask_of(0) | mask_of(2));
  EXPECT_EQ(VlanTable(test_config(3).ports).differences(table), mask_of(1));
}

using Tag = std::optional<std::uint16_t>;
// A frame that is the same behind its tag, whatever that is.
Bytes tagged(const wire::MacAddress& to, const wire::MacAddress& from, Tag tci,
             std::uint16_t type = 0x88B5) {
  return l2_frame(to, from, tci ? 64 : 60, tci, type);
}
constexpr std::uint16_t kPriority5 = 5 << 13;

class Vlans : public testing::Test {
 protected:
  RingSwitch sw{vlan_config()};

  // What leaves through each port: "-" nothing, "u" without a tag, else the tag.
  std::vector<std::string> pass(std::size_t port, Tag tci, const wire::MacAddress& to = kEverybody,
                                const wire::MacAddress& from = host(1),
                                std::uint16_t type = 0x88B5) {
    sw.inject(port, tagged(to, from, tci, type));
    sw.turn();
    std::vector<std::string> out;
    for (std::size_t p = 0; p < kPorts; ++p) {
      const auto frames = sw.sent(p);
      EXPECT_LE(frames.size(), 1u);
      out.emplace_back("-");
      if (frames.empty()) continue;
      const auto view = std::get<wire::EthernetView>(wire::parse_ethernet(frames[0]));
      EXPECT_EQ(frames[0], tagged(to, from, view.vlan_tci, type)) << "port " << p;
      out.back() = view.vlan_tci ? std::to_string(*view.vlan_tci) : "u";
    }
    EXPECT_EQ(sw.buffers_in_use(), 0u);
    return out;
  }
};
using Out = std::vector<std::string>;

TEST_F(Vlans, FloodsStayInTheirVlanEachPortWithItsTag) {
  EXPECT_EQ(pass(kAccess10, {}), (Out{"-", "u", "-", "10", "10"}));
  EXPECT_EQ(pass(kAccess20, {}), (Out{"-", "-", "-", "u", "20"}));
  EXPECT_EQ(pass(kTrunk, 10), (Out{"u", "u", "-", "-", "10"}));
  EXPECT_EQ(pass(kTrunk, {}), (Out{"-", "-", "u", "-", "20"}));  // the native one
  EXPECT_EQ(pass(kTrunk, 20), (Out{"-", "-", "u", "-", "20"}));
  EXPECT_EQ(pass(kTransparent, 10), (Out{"u", "u", "-", "10", "-"}));
  EXPECT_EQ(pass(kTransparent, 20), (Out{"-", "-", "u", "u", "-"}));
}

TEST_F(Vlans, PriorityStaysWhereThereIsATag) {
  EXPECT_EQ(pass(kTrunk, kPriority5 | 10),
            (Out{"u", "u", "-", "-", std::to_string(kPriority5 | 10)}));
  // A tag with a priority only is of the port's VLAN.
  const std::string tag = std::to_string(kPriority5 | 10);
  EXPECT_EQ(pass(kAccess10, kPriority5), (Out{"-", "u", "-", tag, tag}));
  EXPECT_EQ(pass(kTrunk, kPriority5), (Out{"-", "-", "u", "-", std::to_string(kPriority5 | 20)}));
}

TEST_F(Vlans, WhatAPortDoesNotCarryIsDroppedAndNotLearned) {
  const Out nothing(kPorts, "-");
  EXPECT_EQ(pass(kAccess10, 10), nothing);
  EXPECT_EQ(pass(kAccess10, 20), nothing);
  EXPECT_EQ(pass(kAccess10, {}, kEverybody, host(1), 0x88A8), nothing);  // a provider's tag
  EXPECT_EQ(pass(kAccess10, std::uint16_t{0}, kEverybody, host(1), 0x8100), nothing);
  EXPECT_EQ(sw.drops(kAccess10, DropReason::vlan_denied), 4u);
  EXPECT_EQ(pass(kTrunk, 30), nothing);
  EXPECT_EQ(pass(kTrunk, 4095), nothing);
  EXPECT_EQ(sw.drops(kTrunk, DropReason::vlan_denied), 2u);
  EXPECT_EQ(sw.packet_loop().fdb().counters().entries.get(), 0u);
  EXPECT_EQ(pass(kTransparent, {}), nothing);  // no other port has the network of untagged frames
  EXPECT_EQ(sw.drops(kTransparent, DropReason::no_egress), 1u);
}

// C1: it is reserved, and a port that looks at no other tag drops it, too.
TEST(TransparentPorts, DropTheReservedVlanAndLearnNothingOfIt) {
  RingSwitch other(test_config(2));
  other.inject(0, tagged(kEverybody, host(1), 4095));
  other.turn();
  EXPECT_TRUE(other.sent(1).empty());
  EXPECT_EQ(other.drops(0, DropReason::vlan_denied), 1u);
  EXPECT_EQ(other.packet_loop().fdb().counters().entries.get(), 0u);
}

TEST(Trunk, WithoutANativeVlanTakesNoUntaggedFrame) {
  auto config = vlan_config();
  config.ports[kTrunk].vlan = {VlanMode::trunk, {}, {}, {}};
  RingSwitch other(config);
  other.inject(kTrunk, tagged(kEverybody, host(1), {}));
  other.inject(kTrunk, tagged(kEverybody, host(1), 4094));
  other.turn();
  EXPECT_EQ(other.drops(kTrunk, DropReason::vlan_denied), 1u);
  EXPECT_EQ(other.sent(kTransparent).size(), 1u);
}

TEST_F(Vlans, AddressesAreKnownInTheirVlanOnly) {
  pass(kOther10, {}, kEverybody, host(2));
  EXPECT_EQ(pass(kAccess10, {}, host(2)), (Out{"-", "u", "-", "-", "-"}));
  EXPECT_EQ(pass(kTrunk, 10, host(2)), (Out{"-", "u", "-", "-", "-"}));
  EXPECT_EQ(pass(kTrunk, 20, host(2)), (Out{"-", "-", "u", "-", "20"}));
}

TEST(StaticInVlans, AnAddressIsNotReachedFromVlansThatItsPortLacks) {
  auto config = vlan_config();
  config.forwarding.static_macs = {{host(9), "p0"}};
  RingSwitch sw(config);
  sw.inject(kTrunk, tagged(host(9), host(1), 10));
  sw.inject(kAccess20, tagged(host(9), host(1), {}));
  sw.turn();
  EXPECT_EQ(sw.sent(kAccess10).size(), 1u);
  EXPECT_EQ(sw.drops(kAccess20, DropReason::no_egress), 1u);
}

// A sender that puts a second tag below the first must not reach a VLAN by having the first taken
// off.
TEST_F(Vlans, NoTagComesToLightAtEgress) {
  EXPECT_EQ(pass(kTrunk, 10, kEverybody, host(1), 0x8100), (Out{"-", "-", "-", "-", "10"}));
  EXPECT_EQ(sw.drops(kAccess10, DropReason::vlan_stacked), 1u);
  EXPECT_EQ(sw.drops(kOther10, DropReason::vlan_stacked), 1u);
}

// One buffer per form; what was sent is not written again.
TEST_F(Vlans, PortsOfOneFormShareABuffer) {
  sw.inject(kTransparent, tagged(kEverybody, host(1), 10));
  sw.turn();
  const auto first = sw.sent_buffers(kAccess10);
  const auto second = sw.sent_buffers(kOther10);
  const auto third = sw.sent_buffers(kTrunk);
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first, second);
  ASSERT_EQ(third.size(), 1u);
  EXPECT_NE(first[0], third[0]);
  EXPECT_EQ(rte_mbuf_refcnt_read(first[0]), 2);
  rte_pktmbuf_free(first[0]);
  rte_pktmbuf_free(first[0]);
  rte_pktmbuf_free(third[0]);
}

TEST(JumboInVlans, FramesKeepTheirRoomForATag) {
  auto config = test_config(3);
  for (auto& port : config.ports) port.mtu = 9216;
  config.ports[0].vlan = {VlanMode::access, 10, {}, {}};
  config.ports[1].vlan = {VlanMode::access, 10, {}, {}};
  config.ports[2].vlan = {VlanMode::trunk, {}, {}, {}};
  RingSwitch sw(config);
  const Bytes largest = l2_frame(kEverybody, host(1), 9216 + 14);
  sw.inject(0, largest, 3);
  sw.turn();
  EXPECT_EQ(sw.sent(1), std::vector<Bytes>{largest});
  EXPECT_EQ(sw.sent(2),
            std::vector<Bytes>{l2_frame(kEverybody, host(1), 9216 + 18, std::uint16_t{10})});
  sw.inject(0, l2_frame(kEverybody, host(1), 9216 + 15));
  sw.turn();
  EXPECT_EQ(sw.drops(0, DropReason::mtu), 1u);
  EXPECT_EQ(sw.buffers_in_use(), 0u);
}

// Workers of one job behind an access port and in a trunk's VLAN.
TEST(AggregationInVlans, EachMemberGetsItsOwnForm) {
  auto config = vlan_config();
  config::JobConfig job;
  job.id = 5;
  job.name = "job";
  job.workers = 2;
  config.jobs = {job};
  RingSwitch sw(config);
  std::vector<TestWorker> ranks;
  for (std::uint32_t rank = 0; rank < 2; ++rank)
    ranks.emplace_back(config, 5, rank, std::uint16_t{2});
  ranks[1].vlan_tci = 10;
  const std::array<std::size_t, 2> ports = {kAccess10, kTrunk};
  const std::array<Tag, 2> tags = {std::nullopt, 10};
  for (std::size_t i = 0; i < 2; ++i) sw.inject(ports[i], ranks[i].join(100 + i));
  sw.turn();
  for (std::size_t i = 0; i < 2; ++i) {
    const auto start = sw.sent(ports[i]);
    ASSERT_FALSE(start.empty());
    ranks[i].epoch = read_packet(start.back())->packet.header.epoch;
  }
  for (std::size_t i = 0; i < 2; ++i)
    sw.inject(ports[i], ranks[i].contribution(0, std::array{1, 2}));
  sw.turn();
  for (std::size_t i = 0; i < 2; ++i) {
    const auto result = sw.sent(ports[i]);
    ASSERT_EQ(result.size(), 1u);
    EXPECT_EQ(read_packet(result[0])->ethernet.vlan_tci, tags[i]);
  }
  EXPECT_EQ(sw.packet_loop().engine().counters(0).completions.get(), 1u);
  // A rank in a VLAN that its port does not carry is not heard.
  ranks[0].vlan_tci = 10;
  sw.inject(kAccess10, ranks[0].contribution(1, std::array{1, 2}));
  sw.turn();
  EXPECT_EQ(sw.drops(kAccess10, DropReason::vlan_denied), 1u);
  EXPECT_EQ(sw.packet_loop().engine().counters(0).contributions.get(), 2u);
}

}  // namespace
}  // namespace tributary::dataplane
