// Rules for frames that are not jobs', changed between two of them.
#include "dataplane/bridge/forwarder.h"

#include <gtest/gtest.h>
#include <rte_eth_ring.h>
#include <rte_ring.h>

#include "config/change/change.h"
#include "tests/dataplane/l2_frame.h"
#include "tests/dataplane/ring_switch.h"

namespace tributary::dataplane {
namespace {

using Counts = std::vector<std::size_t>;

void put_in(config::PortConfig& port, std::uint16_t vlan) {
  port.vlan.mode = config::VlanMode::access;
  port.vlan.id = vlan;
}

class OtherRules : public testing::Test {
 protected:
  // Frames that left through each port for one that arrived.
  Counts pass(std::size_t port, const Bytes& frame) {
    sw.inject(port, frame);
    sw.turn();
    Counts out;
    for (std::size_t p = 0; p < 3; ++p) out.push_back(sw.sent(p).size());
    return out;
  }
  // From now on, with what was said before.
  template <typename Edit>
  void change(Edit edit) {
    config::SwitchConfig next = running;
    edit(next);
    const auto difference = config::difference(running, next);
    ASSERT_FALSE(difference.forwarding.keys.empty());
    const auto prepared = sw.packet_loop().prepare(next, difference.forwarding);
    sw.packet_loop().apply(*prepared, sw.now);
    running = next;
  }
  [[nodiscard]] std::size_t learned() { return sw.packet_loop().fdb().counters().entries.get(); }

  RingSwitch sw{test_config(3)};
  config::SwitchConfig running = sw.config();
};

TEST_F(OtherRules, AnAccessListComesChangesAndGoes) {
  const Bytes frame = l2_frame(kEverybody, host(1));
  EXPECT_EQ(pass(0, frame), (Counts{0, 1, 1}));
  change([](auto& next) {
    next.acl.rules.push_back({.action = config::AclAction::deny, .port = "p0"});
  });
  EXPECT_EQ(pass(0, frame), (Counts{0, 0, 0}));
  EXPECT_EQ(pass(1, frame), (Counts{1, 0, 1}));
  EXPECT_EQ(sw.drops(0, DropReason::acl_denied), 1u);
  EXPECT_EQ(sw.packet_loop().acl().hits()[0].get(), 1u);
  change([](auto& next) { next.ports[1].storm.unknown_unicast_pps = 1000; });
  EXPECT_EQ(sw.packet_loop().acl().hits()[0].get(), 1u) << "the list is as it was";
  change([](auto& next) { next.acl.rules[0].port = "p1"; });
  EXPECT_EQ(pass(0, frame), (Counts{0, 1, 1}));
  EXPECT_EQ(pass(1, frame), (Counts{0, 0, 0}));
  change([](auto& next) { next.acl.rules.clear(); });
  EXPECT_TRUE(sw.packet_loop().acl().idle());
  EXPECT_EQ(pass(1, frame), (Counts{1, 0, 1}));
  EXPECT_EQ(sw.buffers_in_use(), 0u);
}

TEST_F(OtherRules, AShorterAgeingHoldsForWhatIsKnownAlready) {
  pass(1, l2_frame(kEverybody, host(2)));
  sw.now = sw.now + Duration::seconds(10);
  const Bytes frame = l2_frame(host(2), host(1));
  EXPECT_EQ(pass(0, frame), (Counts{0, 1, 0}));
  change([](auto& next) { next.forwarding.fdb_ageing = Duration::seconds(10); });
  EXPECT_EQ(pass(0, frame), (Counts{0, 1, 1}));
  EXPECT_EQ(sw.packet_loop().fdb().counters().aged.get(), 1u);
  change([](auto& next) { next.forwarding.fdb_ageing = Duration::seconds(300); });
  pass(1, l2_frame(kEverybody, host(2)));
  sw.now = sw.now + Duration::seconds(299);
  EXPECT_EQ(pass(0, frame), (Counts{0, 1, 0}));
}

TEST_F(OtherRules, PortsMoveToOtherVlansAndOnlyTheyForgetWhoWasThere) {
  change([](auto& next) {
    for (auto& port : next.ports) put_in(port, 5);
  });
  pass(0, l2_frame(kEverybody, host(1)));
  pass(1, l2_frame(kEverybody, host(2)));
  pass(2, l2_frame(kEverybody, host(3)));
  ASSERT_EQ(learned(), 3u);
  sw.now = sw.now + Duration::ms(1);
  change([](auto& next) { put_in(next.ports[2], 7); });
  for (int port = 0; port < 3; ++port) sw.turn();
  EXPECT_EQ(learned(), 2u);
  EXPECT_EQ(pass(0, l2_frame(kEverybody, host(1))), (Counts{0, 1, 0}));
  EXPECT_EQ(pass(0, l2_frame(host(2), host(1))), (Counts{0, 1, 0}));
  EXPECT_EQ(pass(2, l2_frame(host(1), host(3))), (Counts{0, 0, 0})) << "alone in its VLAN";
  change([](auto& next) { put_in(next.ports[0], 7); });
  EXPECT_EQ(pass(2, l2_frame(kEverybody, host(3))), (Counts{1, 0, 0}));
  EXPECT_EQ(pass(0, l2_frame(host(3), host(1))), (Counts{0, 0, 1}));
  EXPECT_EQ(sw.buffers_in_use(), 0u);
}

TEST_F(OtherRules, StormLimitsBeginAndEnd) {
  const auto flood = [&] {
    std::size_t passed = 0;
    for (int i = 0; i < 100; ++i) passed += pass(0, l2_frame(kEverybody, host(1)))[1];
    return passed;
  };
  EXPECT_EQ(flood(), 100u);
  change([](auto& next) { next.ports[0].storm.broadcast_pps = 40; });
  EXPECT_EQ(flood(), 32u);
  change([](auto& next) { next.ports[0].storm.broadcast_pps = 0; });
  EXPECT_EQ(flood(), 100u);
}

TEST_F(OtherRules, StaticAddressesReplaceWhatWasLearned) {
  pass(1, l2_frame(kEverybody, host(2)));
  EXPECT_EQ(pass(0, l2_frame(host(2), host(1))), (Counts{0, 1, 0}));
  change([](auto& next) { next.forwarding.static_macs.push_back({host(2), "p2"}); });
  for (int turn = 0; turn < 4096 / 64; ++turn) sw.turn();
  EXPECT_EQ(pass(0, l2_frame(host(2), host(1))), (Counts{0, 0, 1}));
  pass(1, l2_frame(kEverybody, host(2)));
  EXPECT_EQ(pass(0, l2_frame(host(2), host(1))), (Counts{0, 0, 1})) << "nothing moves it";
  change([](auto& next) { next.forwarding.static_macs.clear(); });
  EXPECT_EQ(pass(0, l2_frame(host(2), host(1))), (Counts{0, 1, 1}));
  pass(1, l2_frame(kEverybody, host(2)));
  EXPECT_EQ(pass(0, l2_frame(host(2), host(1))), (Counts{0, 1, 0}));
}

TEST_F(OtherRules, APortMayTeachFewerAddresses) {
  change([](auto& next) { next.ports[0].max_addresses = 2; });
  for (std::uint8_t i = 1; i <= 5; ++i) pass(0, l2_frame(kEverybody, host(i)));
  EXPECT_EQ(learned(), 2u);
  change([](auto& next) { next.ports[0].max_addresses = 0; });
  for (std::uint8_t i = 1; i <= 5; ++i) pass(0, l2_frame(kEverybody, host(i)));
  EXPECT_EQ(learned(), 5u);
}

// A port's place in all that knows it stays; what is behind it does not.
TEST_F(OtherRules, AnotherDeviceIsBehindAPort) {
  pass(1, l2_frame(kEverybody, host(2)));
  pass(2, l2_frame(kEverybody, host(3)));
  sw.now = sw.now + Duration::ms(1);
  rte_ring* const in = make_ring();
  rte_ring* const out = make_ring();
  config::PortConfig config = running.ports[1];
  config.mtu = 200;
  const int device = rte_eth_from_rings(next_name().c_str(), &in, 1, &out, 1, 0);
  ASSERT_GE(device, 0);
  auto port = std::make_unique<Port>(config, static_cast<std::uint16_t>(device));
  port->set_up(std::array{sw.pool()});
  const auto prepared = sw.packet_loop().prepare(running);
  prepared->ports.emplace_back(1, port.get());
  sw.packet_loop().apply(*prepared, sw.now);
  for (int i = 0; i < 3; ++i) sw.turn();
  EXPECT_EQ(learned(), 1u) << "who was there is not there any more";

  EXPECT_EQ(pass(0, l2_frame(kEverybody, host(1), 100)), (Counts{0, 0, 1}));
  void* frame = nullptr;
  ASSERT_EQ(rte_ring_dequeue(out, &frame), 0);
  EXPECT_EQ(take_bytes(static_cast<rte_mbuf*>(frame)), l2_frame(kEverybody, host(1), 100));
  EXPECT_EQ(pass(0, l2_frame(kEverybody, host(1), 300)), (Counts{0, 0, 1}));
  EXPECT_EQ(sw.drops(1, DropReason::mtu), 1u) << "the new one's";
  ASSERT_EQ(rte_ring_enqueue(in, make_frame(sw.pool(), l2_frame(host(3), host(4)))), 0);
  sw.turn();
  EXPECT_EQ(sw.sent(2).size(), 1u);
  EXPECT_TRUE(sw.sent(1).empty()) << "nobody polls or feeds the one before";
  EXPECT_EQ(sw.buffers_in_use(), 0u);

  const auto back = sw.packet_loop().prepare(running);
  back->ports.emplace_back(1, &sw.port(1));
  sw.packet_loop().apply(*back, sw.now);
}

config::PathDestination path_to(const wire::MacAddress& mac) {
  return {.is_mac = true, .mac = mac};
}
config::PathDestination path_to(std::uint8_t last) {
  return {.prefix = {.address = {10, 77, 0, last}, .bits = 32}};
}

// Ports 0 and 1 are of the tree; port 2 is the other way.
class OtherWay : public OtherRules {
 protected:
  OtherWay() {
    change([](auto& next) {
      next.ports[2].vlan.mode = config::VlanMode::paths;
      next.ports[2].paths = {path_to(host(7))};
    });
  }
};

TEST_F(OtherWay, C7_APinnedDestinationLeavesByItsPathWhateverIsLearned) {
  pass(1, l2_frame(kEverybody, host(7)));
  EXPECT_EQ(pass(0, l2_frame(host(7), host(1))), (Counts{0, 0, 1}));
  EXPECT_EQ(pass(1, l2_frame(host(7), host(2))), (Counts{0, 0, 1}));
  change([](auto& next) { next.ports[2].paths.clear(); });
  EXPECT_EQ(pass(0, l2_frame(host(7), host(1))), (Counts{0, 1, 0})) << "back to the tree";
  EXPECT_EQ(sw.buffers_in_use(), 0u);
}

TEST_F(OtherWay, C7_FloodsAndGroupsStayOnTheTree) {
  EXPECT_EQ(pass(0, l2_frame(kEverybody, host(1))), (Counts{0, 1, 0}));
  EXPECT_EQ(pass(0, l2_frame(host(8), host(1))), (Counts{0, 1, 0}));
  EXPECT_EQ(pass(0, l2_frame({1, 0, 0x5E, 1, 1, 1}, host(1))), (Counts{0, 1, 0}));
}

TEST_F(OtherWay, C7_WhatComesInByThePathIsForOneKnownAddressAndTeachesNothing) {
  pass(1, l2_frame(kEverybody, host(2)));
  const std::size_t before = learned();
  EXPECT_EQ(pass(2, l2_frame(host(2), host(5))), (Counts{0, 1, 0}));
  EXPECT_EQ(pass(2, l2_frame(host(8), host(5))), (Counts{0, 0, 0})) << "unknown: not flooded";
  EXPECT_EQ(sw.drops(2, DropReason::no_egress), 1u);
  EXPECT_EQ(pass(2, l2_frame(host(7), host(5))), (Counts{0, 0, 0})) << "not back where it came";
  EXPECT_EQ(sw.drops(2, DropReason::no_egress), 2u);
  EXPECT_EQ(pass(2, l2_frame(kEverybody, host(5))), (Counts{0, 0, 0}));
  EXPECT_EQ(
      pass(2, l2_frame(sw.config().mac.value_or(config::derived_mac(sw.config().ipv4)), host(5))),
      (Counts{0, 0, 0}));
  EXPECT_EQ(sw.drops(2, DropReason::vlan_denied), 2u) << "groups, and the switch itself";
  EXPECT_EQ(learned(), before);
  EXPECT_EQ(pass(0, l2_frame(host(5), host(1))), (Counts{0, 1, 0})) << "host 5 is not known";
  EXPECT_EQ(sw.buffers_in_use(), 0u);
}

TEST_F(OtherWay, C7_AnIpPrefixPinsIpAlone) {
  change([](auto& next) { next.ports[2].paths = {path_to(4)}; });
  const auto frame_to = [](std::uint8_t last, std::uint16_t type) {
    Bytes frame = l2_frame(host(2), host(1), 64, std::nullopt, type);
    const std::array<std::uint8_t, 4> address = {10, 77, 0, last};
    for (std::size_t i = 0; i < 4; ++i) frame[30 + i] = static_cast<std::byte>(address[i]);
    return frame;
  };
  pass(1, l2_frame(kEverybody, host(2)));
  EXPECT_EQ(pass(0, frame_to(4, wire::kEtherTypeIpv4)), (Counts{0, 0, 1}));
  EXPECT_EQ(pass(0, frame_to(5, wire::kEtherTypeIpv4)), (Counts{0, 1, 0}));
  EXPECT_EQ(pass(0, frame_to(4, wire::kEtherTypeArp)), (Counts{0, 1, 0}));
}

TEST_F(OtherWay, C7_FramesKeepTheirTagOnThePath) {
  change([](auto& next) {
    put_in(next.ports[0], 5);
    next.ports[1].vlan.mode = config::VlanMode::trunk;
  });
  sw.inject(0, l2_frame(host(7), host(1)));
  sw.turn();
  const auto sent = sw.sent(2);
  ASSERT_EQ(sent.size(), 1u);
  wire::EthernetView view;
  ASSERT_EQ(wire::parse_ethernet(sent[0], view), DropReason::none);
  EXPECT_EQ(view.vlan_tci, 5);
  pass(0, l2_frame(kEverybody, host(1)));
  EXPECT_EQ(pass(2, l2_frame(host(1), host(7), 64, 5)), (Counts{1, 0, 0}));
  EXPECT_EQ(pass(2, l2_frame(host(1), host(7), 64, 6)), (Counts{0, 0, 0})) << "another VLAN";
}

TEST_F(OtherRules, C7_APathIsNoWayIntoAVlanThatThePortIsNotIn) {
  change([](auto& next) {
    put_in(next.ports[0], 5);
    put_in(next.ports[1], 7);
    next.ports[1].paths = {path_to(host(7))};
  });
  EXPECT_EQ(pass(0, l2_frame(host(7), host(1))), (Counts{0, 0, 0}));
  EXPECT_EQ(sw.drops(0, DropReason::no_egress), 1u);
}

}  // namespace
}  // namespace tributary::dataplane
