// LLDP through whole turns of the loop: messages to neighbours, and when a neighbour is forgotten.
#include "dataplane/bridge/lldp.h"

#include <gtest/gtest.h>
#include <rte_ethdev.h>

#include "tests/dataplane/l2_frame.h"

namespace tributary::dataplane {
namespace {

constexpr wire::MacAddress kPeer = {2, 9, 8, 7, 6, 5};

config::SwitchConfig lldp_config(bool enabled = true) {
  auto config = test_config(2);
  config.name = "leaf1";
  config.forwarding.lldp.enabled = enabled;
  return config;
}

wire::LldpMessage neighbour(const std::string& port, std::uint16_t ttl = 120) {
  wire::LldpMessage m;
  m.chassis = {wire::kLldpChassisMac, {kPeer.begin(), kPeer.end()}};
  m.port = {wire::kLldpPortInterface, port};
  m.ttl_seconds = ttl;
  m.system_name = "spine";
  return m;
}
Bytes frame_of(const wire::LldpMessage& message) {
  Bytes frame(wire::kMaxLldpFrameBytes);
  frame.resize(wire::write_lldp(kPeer, message, frame));
  return frame;
}

class Neighbours : public testing::Test {
 protected:
  RingSwitch sw{lldp_config()};

  void SetUp() override {
    look();  // the first words
    for (std::size_t port = 0; port < 2; ++port) (void)sw.sent(port);
  }
  // Every port has had its turn.
  void look() {
    for (std::size_t port = 0; port < 2; ++port) sw.turn();
  }
  void intercept(std::size_t port, const wire::LldpMessage& message) {
    sw.inject(port, frame_of(message));
    sw.turn();
  }
  void wait(Duration time) {
    sw.now = sw.now + time;
    look();
  }
  [[nodiscard]] std::size_t known() { return sw.packet_loop().lldp()->rows(sw.now).size(); }
};

std::vector<wire::LldpMessage> messages(RingSwitch& sw, std::size_t port) {
  std::vector<wire::LldpMessage> all;
  for (const Bytes& frame : sw.sent(port)) {
    const auto view = std::get<wire::EthernetView>(wire::parse_ethernet(frame));
    EXPECT_EQ(view.destination, wire::kLldpGroup);
    EXPECT_EQ(view.source, config::derived_mac(0x0A4D00FE));
    EXPECT_EQ(view.ether_type, wire::kEtherTypeLldp);
    all.push_back(wire::parse_lldp(view.payload).value());
  }
  return all;
}

TEST(Lldp, EachPortIsToldWhichOneItIs) {
  RingSwitch sw(lldp_config());
  sw.turn();
  sw.turn();
  for (std::size_t port = 0; port < 2; ++port) {
    const auto said = messages(sw, port);
    ASSERT_EQ(said.size(), 1u);
    EXPECT_EQ(said[0].system_name, "leaf1");
    EXPECT_EQ(wire::lldp_chassis_text(said[0].chassis), "02:74:0a:4d:00:fe");
    EXPECT_EQ(said[0].port.name, "p" + std::to_string(port));
    EXPECT_EQ(said[0].management_ipv4, 0x0A4D00FEu);
    EXPECT_EQ(said[0].ttl_seconds, 121) << "four intervals and a second";
  }
  EXPECT_EQ(sw.buffers_in_use(), 0u);
}

TEST_F(Neighbours, AreToldAgainAfterEachInterval) {
  wait(Duration::ms(29'999));
  EXPECT_TRUE(messages(sw, 0).empty());
  wait(Duration::ms(1));
  EXPECT_EQ(messages(sw, 0).size(), 1u);
  EXPECT_EQ(messages(sw, 1).size(), 1u);
}

TEST_F(Neighbours, WhoIsNewIsToldSoon) {
  intercept(1, neighbour("eth0"));
  wait(Duration::ms(999));
  EXPECT_TRUE(messages(sw, 1).empty());
  wait(Duration::ms(1));
  EXPECT_EQ(messages(sw, 1).size(), 1u);
  EXPECT_TRUE(messages(sw, 0).empty());
  intercept(1, neighbour("eth0"));  // known
  wait(Duration::seconds(1));
  EXPECT_TRUE(messages(sw, 1).empty());
}

TEST_F(Neighbours, AreKnownByWhatTheySay) {
  intercept(1, neighbour("eth0"));
  sw.now = sw.now + Duration::seconds(5);
  const auto rows = sw.packet_loop().lldp()->rows(sw.now);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].port, 1);
  EXPECT_EQ(rows[0].mac, kPeer);
  EXPECT_EQ(rows[0].said.system_name, "spine");
  EXPECT_EQ(rows[0].age, Duration::seconds(5));
  EXPECT_EQ(rows[0].left, Duration::seconds(115));
  EXPECT_EQ(sw.packet_loop().fdb().counters().entries.get(), 0u) << "it says nothing of addresses";
  EXPECT_EQ(sw.buffers_in_use(), 0u);
}

TEST_F(Neighbours, AreForgottenInTimeOrWhenTheyGo) {
  intercept(0, neighbour("eth0", 10));
  intercept(0, neighbour("eth1"));
  EXPECT_EQ(known(), 2u);
  wait(Duration::seconds(10));
  EXPECT_EQ(known(), 1u);
  EXPECT_EQ(sw.packet_loop().lldp()->counters().aged.get(), 1u);
  intercept(1, neighbour("eth1", 0));  // another port's
  EXPECT_EQ(known(), 1u);
  intercept(0, neighbour("eth1", 0));
  EXPECT_EQ(known(), 0u);
  EXPECT_EQ(sw.packet_loop().lldp()->counters().left.get(), 1u);
  EXPECT_EQ(sw.packet_loop().lldp()->counters().neighbours.get(), 0u);
}

TEST_F(Neighbours, BehindALinkThatGoesDownAreForgotten) {
  intercept(0, neighbour("eth0"));
  intercept(1, neighbour("eth1"));
  ASSERT_EQ(rte_eth_dev_set_link_down(sw.port(0).ethdev()), 0);
  EXPECT_FALSE(sw.port(0).poll_link());
  wait(Duration::ms(1));
  EXPECT_EQ(known(), 1u);
  EXPECT_TRUE(messages(sw, 0).empty());
  ASSERT_EQ(rte_eth_dev_set_link_up(sw.port(0).ethdev()), 0);
  EXPECT_TRUE(sw.port(0).poll_link());
  wait(Duration::ms(1));
  EXPECT_EQ(messages(sw, 0).size(), 1u) << "whoever it is now";
}

TEST_F(Neighbours, StrangersFillNoMoreThanTheirShare) {
  for (std::size_t i = 0; i <= Lldp::kMostNeighbours; ++i) {
    intercept(0, neighbour("eth" + std::to_string(i)));
    sw.now = sw.now + Duration::seconds(1);
  }
  EXPECT_EQ(known(), Lldp::kMostNeighbours);
  EXPECT_EQ(sw.drops(0, DropReason::lldp_refused), 1u);
  intercept(1, neighbour("eth0"));
  EXPECT_EQ(known(), Lldp::kMostNeighbours + 1);
}

TEST_F(Neighbours, AFloodOfThemIsBounded) {
  for (std::size_t i = 0; i < Lldp::kSavedUp + 5; ++i) intercept(0, neighbour("eth0"));
  EXPECT_EQ(sw.drops(0, DropReason::lldp_refused), 5u);
  intercept(1, neighbour("eth0"));
  EXPECT_EQ(sw.drops(1, DropReason::lldp_refused), 0u);
}

TEST_F(Neighbours, DamagedMessagesAreDropped) {
  Bytes frame = frame_of(neighbour("eth0"));
  frame.resize(20);
  sw.inject(0, frame);
  sw.turn();
  EXPECT_EQ(sw.drops(0, DropReason::lldp_malformed), 1u);
  EXPECT_EQ(known(), 0u);
}

TEST_F(Neighbours, AreToldThatTheSwitchEnds) {
  sw.packet_loop().shut_down(sw.now);
  for (std::size_t port = 0; port < 2; ++port) {
    const auto said = messages(sw, port);
    ASSERT_EQ(said.size(), 1u);
    EXPECT_EQ(said[0].ttl_seconds, 0);
  }
}

TEST(Lldp, IsHeardOnPortsThatTakeNoUntaggedFrames) {
  auto config = lldp_config();
  config.ports[0].vlan.mode = config::VlanMode::trunk;
  config.acl.rules = {{.action = config::AclAction::deny, .port = "p1", .ether_type = 0x88CC}};
  RingSwitch other(config);
  for (std::size_t port = 0; port < 2; ++port) other.inject(port, frame_of(neighbour("eth0")));
  other.turn();
  EXPECT_EQ(other.packet_loop().lldp()->rows(other.now).size(), 1u);
  EXPECT_EQ(other.drops(1, DropReason::acl_denied), 1u) << "access control is asked first";
}

TEST(Lldp, WhatNoBridgeForwardsEndsHere) {
  for (const bool enabled : {false, true}) {
    auto config = lldp_config(enabled);
    config.forwarding.bpdu = config::ReservedRule::drop;
    RingSwitch sw(config);
    sw.turn();
    sw.turn();
    for (std::size_t port = 0; port < 2; ++port) (void)sw.sent(port);
    wire::MacAddress to = wire::kLldpGroup;
    for (to[5] = 0; to[5] < 0x10; ++to[5]) {
      sw.inject(0, l2_frame(to, host(1)));
      sw.inject(0, l2_frame(to, host(1), 64, std::uint16_t{5}, wire::kEtherTypeLldp));
    }
    sw.turn();
    EXPECT_TRUE(sw.sent(1).empty());
    EXPECT_EQ(sw.drops(0, DropReason::bridge_reserved), 32u);
    sw.inject(0, l2_frame(to, host(1)));  // the first that is like any other
    sw.turn();
    EXPECT_EQ(sw.sent(1).size(), 1u);
    EXPECT_EQ(sw.buffers_in_use(), 0u);
  }
}

void change(RingSwitch& sw, const config::SwitchConfig& next) {
  config::ForwardingChange parts;
  parts.lldp = true;
  const auto prepared = sw.packet_loop().prepare(next, parts);
  sw.packet_loop().apply(*prepared, sw.now);
}

TEST_F(Neighbours, ItComesChangesAndGoesWhileTheSwitchRuns) {
  intercept(0, neighbour("eth0"));
  auto next = sw.config();
  next.forwarding.lldp.interval = Duration::seconds(5);
  change(sw, next);
  EXPECT_EQ(known(), 1u);
  wait(Duration::seconds(5));
  EXPECT_EQ(messages(sw, 0).size(), 1u);
  next.forwarding.lldp.enabled = false;
  change(sw, next);
  look();
  const auto last = messages(sw, 1);
  ASSERT_FALSE(last.empty());
  EXPECT_EQ(last.back().ttl_seconds, 0u) << "neighbours are told";
  EXPECT_EQ(sw.packet_loop().lldp(), nullptr);
  next.forwarding.lldp.enabled = true;
  change(sw, next);
  look();
  EXPECT_EQ(messages(sw, 1).size(), 1u);
  intercept(0, neighbour("eth0"));
  EXPECT_EQ(known(), 1u);
  (void)messages(sw, 0);
  EXPECT_EQ(sw.buffers_in_use(), 0u);
}

TEST(Lldp, OffTheSwitchIsSilentAndDeaf) {
  RingSwitch sw(lldp_config(false));
  sw.inject(0, frame_of(neighbour("eth0")));
  sw.turn();
  sw.turn();
  EXPECT_EQ(sw.packet_loop().lldp(), nullptr);
  EXPECT_TRUE(sw.sent(0).empty() && sw.sent(1).empty());
  EXPECT_EQ(sw.drops(0, DropReason::bridge_reserved), 1u);
}

}  // namespace
}  // namespace tributary::dataplane
