// L2 switching, the switch's own address, and transmit limits, through whole turns of the loop.
#include "dataplane/loop/packet_loop.h"

#include <gtest/gtest.h>

#include "core/net/arp.h"
#include "tests/dataplane/ip_frame.h"
#include "tests/dataplane/test_packet_loop.h"

namespace tributary::dataplane {
namespace {

const wire::MacAddress kSwitchMac = config::derived_mac(0x0A4D00FE);

class Switching : public testing::Test {
 protected:
  RingSwitch sw{test_config(3)};

  // Number of frames that left through each port for one that arrived.
  std::vector<std::size_t> pass(std::size_t port, const Bytes& frame) {
    sw.inject(port, frame);
    sw.turn();
    std::vector<std::size_t> out;
    for (std::size_t p = 0; p < 3; ++p) {
      const auto frames = sw.sent(p);
      for (const auto& sent : frames) EXPECT_EQ(sent, frame);
      out.push_back(frames.size());
    }
    return out;
  }
};
using Counts = std::vector<std::size_t>;

TEST_F(Switching, FloodsUnknownForwardsLearned) {
  EXPECT_EQ(pass(0, l2_frame(host(2), host(1))), (Counts{0, 1, 1}));
  EXPECT_EQ(pass(1, l2_frame(host(1), host(2))), (Counts{1, 0, 0}));
  EXPECT_EQ(pass(0, l2_frame(host(2), host(1))), (Counts{0, 1, 0}));
  EXPECT_EQ(pass(0, l2_frame(kEverybody, host(1))), (Counts{0, 1, 1}));
  EXPECT_EQ(pass(0, l2_frame({0x33, 0x33, 0, 0, 0, 1}, host(1))), (Counts{0, 1, 1}));
  EXPECT_EQ(sw.buffers_in_use(), 0u);
}

TEST_F(Switching, MacMovesAtOnceAndBack) {
  pass(0, l2_frame(kEverybody, host(1)));
  EXPECT_EQ(pass(2, l2_frame(host(1), host(3))), (Counts{1, 0, 0}));
  pass(1, l2_frame(kEverybody, host(1)));
  EXPECT_EQ(pass(2, l2_frame(host(1), host(3))), (Counts{0, 1, 0}));
  pass(0, l2_frame(kEverybody, host(1)));  // within the learning cache's time
  EXPECT_EQ(pass(2, l2_frame(host(1), host(3))), (Counts{1, 0, 0}));
}

TEST_F(Switching, KnownSourcesAreRefreshedNowAndThen) {
  const auto age_of = [&](const wire::MacAddress& mac) {
    for (const FdbRow& row : sw.packet_loop().fdb().rows(sw.now))
      if (row.mac == mac) return row.age;
    return Duration::max();
  };
  const auto both_speak = [&] {
    pass(0, l2_frame(kEverybody, host(1)));
    pass(0, l2_frame(kEverybody, host(2)));  // so that neither is the one heard last
  };
  both_speak();
  sw.now = sw.now + Duration::ms(999);
  both_speak();
  EXPECT_EQ(age_of(host(1)), Duration::ms(999));
  EXPECT_EQ(age_of(host(2)), Duration::ms(999));
  sw.now = sw.now + Duration::ms(1);
  both_speak();
  EXPECT_EQ(age_of(host(1)), Duration());
  EXPECT_EQ(age_of(host(2)), Duration());
  EXPECT_EQ(sw.packet_loop().fdb().counters().learned.get(), 2u);
}

TEST_F(Switching, AgedAddressesAreFloodedAgain) {
  pass(1, l2_frame(kEverybody, host(2)));
  EXPECT_EQ(pass(0, l2_frame(host(2), host(1))), (Counts{0, 1, 0}));
  sw.now = sw.now + Duration::seconds(300);
  EXPECT_EQ(pass(0, l2_frame(host(2), host(1))), (Counts{0, 1, 1}));
}

TEST_F(Switching, VlansLearnApart) {
  pass(1, l2_frame(kEverybody, host(2), 64, std::uint16_t{5}));
  EXPECT_EQ(pass(0, l2_frame(host(2), host(1), 64, std::uint16_t{5})), (Counts{0, 1, 0}));
  EXPECT_EQ(pass(0, l2_frame(host(2), host(1))), (Counts{0, 1, 1}));
}

TEST_F(Switching, NothingGoesBackWhereItCameFrom) {
  pass(0, l2_frame(kEverybody, host(1)));
  EXPECT_EQ(pass(0, l2_frame(host(1), host(2))), (Counts{0, 0, 0}));
  EXPECT_EQ(sw.drops(0, DropReason::no_egress), 1u);
}

TEST_F(Switching, BadSourcesAreDropped) {
  EXPECT_EQ(pass(0, l2_frame(host(1), kEverybody)), (Counts{0, 0, 0}));
  EXPECT_EQ(pass(0, l2_frame(host(1), {})), (Counts{0, 0, 0}));
  EXPECT_EQ(pass(0, l2_frame(host(1), kSwitchMac)), (Counts{0, 0, 0}));
  EXPECT_EQ(sw.drops(0, DropReason::bad_source_mac), 3u);
  EXPECT_EQ(sw.packet_loop().fdb().counters().entries.get(), 0u);
}

TEST_F(Switching, FramesToTheSwitchAreNeverFlooded) {
  EXPECT_EQ(pass(0, l2_frame(kSwitchMac, host(1))), (Counts{0, 0, 0}));
  EXPECT_EQ(sw.drops(0, DropReason::unhandled), 1u);
}

Bytes arp_for_the_switch() {
  Bytes request(wire::kArpFrameBytes);
  wire::write_arp_request(host(1), 0x0A4D0001, 0x0A4D00FE, request);
  return request;
}

// Rule 18 (dataplane/frame/job_senders.h), and what a reload declares holds from then on.
TEST(SwitchingOfAJob, ItsGroupIsClosedToUndeclaredSenders) {
  auto config = test_config(2);
  config.jobs.emplace_back().id = 7;
  config.jobs.back().workers = 2;
  RingSwitch sw(config);
  const auto passes = [&](std::uint32_t group) {
    sw.inject(1, ipv4_frame({.destination = group}, wire::multicast_mac(group)));
    sw.turn();
    return sw.sent(0).size() == 1;
  };
  EXPECT_FALSE(passes(config::job_group_ipv4(7)));
  EXPECT_EQ(sw.drops(1, DropReason::sender_mismatch), 1u);
  EXPECT_TRUE(passes(config::job_group_ipv4(8))) << "of no job here";
  config.ports[1].paths = {{false, {}, {false, {10, 0, 0, 1}, 32}}};
  sw.reload(config);
  EXPECT_TRUE(passes(config::job_group_ipv4(7)));
}

TEST_F(Switching, ArpForTheSwitchIsAnsweredNotFlooded) {
  Bytes request = arp_for_the_switch();
  sw.inject(0, request);
  sw.turn();
  const auto replies = sw.sent(0);
  ASSERT_EQ(replies.size(), 1u);
  const auto view = std::get<wire::EthernetView>(wire::parse_ethernet(replies[0]));
  EXPECT_EQ(view.destination, host(1));
  EXPECT_EQ(wire::parse_arp(view.payload)->sender_mac, kSwitchMac);
  EXPECT_TRUE(sw.sent(1).empty());
  // For any other address it is a broadcast like others.
  wire::write_arp_request(host(1), 0x0A4D0001, 0x0A4D0002, request);
  EXPECT_EQ(pass(0, request), (Counts{0, 1, 1}));
}

// As when another DPDK process multicasts into a ring that it shares with the switch (rule 19).
TEST_F(Switching, WhatOthersHoldIsAnsweredInACopy) {
  const Bytes request = arp_for_the_switch();
  rte_mbuf* const shared = make_frame(sw.pool(), request);
  rte_mbuf_refcnt_update(shared, 1);
  sw.inject_buffers(0, shared);
  sw.turn();
  const auto replies = sw.sent(0);
  ASSERT_EQ(replies.size(), 1u);
  const auto view = std::get<wire::EthernetView>(wire::parse_ethernet(replies[0]));
  EXPECT_EQ(view.destination, host(1));
  EXPECT_EQ(wire::parse_arp(view.payload)->sender_mac, kSwitchMac);
  EXPECT_EQ(rte_mbuf_refcnt_read(shared), 1);
  EXPECT_EQ(take_bytes(shared), request);
  EXPECT_EQ(sw.buffers_in_use(), 0u);
}

TEST_F(Switching, WithoutABufferForTheCopyThereIsNoAnswer) {
  const Bytes request = arp_for_the_switch();
  rte_mbuf* const shared = make_frame(sw.pool(), request);
  rte_mbuf_refcnt_update(shared, 1);
  std::vector<rte_mbuf*> others;
  while (rte_mbuf* const buffer = rte_pktmbuf_alloc(sw.pool())) others.push_back(buffer);
  sw.inject_buffers(0, shared);
  sw.turn();
  EXPECT_TRUE(sw.sent(0).empty());
  EXPECT_EQ(sw.drops(0, DropReason::no_mbuf), 1u);
  EXPECT_EQ(take_bytes(shared), request);
  for (rte_mbuf* const buffer : others) rte_pktmbuf_free(buffer);
  EXPECT_EQ(sw.buffers_in_use(), 0u);
}

TEST(Mtu, IsEnforcedBothWays) {
  auto config = test_config(3);
  config.ports[0].mtu = 9000;
  RingSwitch sw(config);
  const auto pass = [&](std::size_t port, std::size_t bytes, std::optional<std::uint16_t> vlan) {
    sw.inject(port, l2_frame(kEverybody, host(1), bytes, vlan));
    sw.turn();
    sw.sent(0);
    return std::vector{sw.sent(1).size(), sw.sent(2).size()};
  };
  EXPECT_EQ(pass(0, 1514, {}), (Counts{1, 1}));
  EXPECT_EQ(pass(0, 1515, {}), (Counts{0, 0}));
  EXPECT_EQ(pass(0, 1518, 5), (Counts{1, 1}));
  EXPECT_EQ(pass(0, 1519, 5), (Counts{0, 0}));
  EXPECT_EQ(sw.drops(1, DropReason::mtu), 2u);
  EXPECT_EQ(sw.drops(2, DropReason::mtu), 2u);
  EXPECT_EQ(sw.drops(0, DropReason::mtu), 0u);
  EXPECT_EQ(pass(0, 9015, {}), (Counts{0, 0}));
  EXPECT_EQ(sw.drops(0, DropReason::mtu), 1u);
  EXPECT_EQ(pass(1, 1515, {}), (Counts{0, 0}));
  EXPECT_EQ(pass(1, 1519, 5), (Counts{0, 0}));
  EXPECT_EQ(pass(1, 1514, {}), (Counts{0, 1}));
  EXPECT_EQ(sw.drops(1, DropReason::mtu), 4u);
  EXPECT_EQ(sw.buffers_in_use(), 0u);
}

TEST_F(Switching, FramesThatEndTooSoonAreDropped) {
  const Bytes whole = l2_frame(kEverybody, host(1), 18, std::uint16_t{5});
  for (std::size_t bytes = 1; bytes < whole.size(); ++bytes) {
    const auto runt = std::span(whole).first(bytes);
    sw.inject(0, runt);
    sw.turn();
    EXPECT_EQ(sw.drops(0, DropReason::frame_truncated), bytes);
  }
  EXPECT_TRUE(sw.sent(1).empty());
  EXPECT_EQ(pass(0, whole), (Counts{0, 1, 1}));
  EXPECT_EQ(sw.buffers_in_use(), 0u);
}

// Ring ports send chains; egress_test.cc has those that do not.
TEST_F(Switching, SegmentedFramesAreForwarded) {
  ASSERT_TRUE(sw.port(1).sends_segments());
  const Bytes frame = l2_frame(kEverybody, host(1), 1000);
  sw.inject(0, frame, 3);
  sw.turn();
  for (const std::size_t port : {1u, 2u}) EXPECT_EQ(sw.sent(port), std::vector<Bytes>{frame});
  EXPECT_EQ(sw.buffers_in_use(), 0u);
}

TEST_F(Switching, DownLinkDropsAtOnce) {
  ASSERT_EQ(rte_eth_dev_set_link_down(sw.port(1).ethdev()), 0);
  EXPECT_FALSE(sw.port(1).poll_link());
  EXPECT_EQ(pass(0, l2_frame(kEverybody, host(1))), (Counts{0, 0, 1}));
  EXPECT_EQ(sw.drops(1, DropReason::tx_link_down), 1u);
  ASSERT_EQ(rte_eth_dev_set_link_up(sw.port(1).ethdev()), 0);
  EXPECT_TRUE(sw.port(1).poll_link());
  EXPECT_EQ(pass(0, l2_frame(kEverybody, host(1))), (Counts{0, 1, 1}));
}

// A host behind it may be elsewhere, and would be cut off until the address ages or it speaks.
TEST_F(Switching, AddressesBehindALinkThatGoesDownAreForgotten) {
  pass(1, l2_frame(kEverybody, host(2)));
  pass(2, l2_frame(kEverybody, host(3)));
  EXPECT_EQ(pass(0, l2_frame(host(2), host(1))), (Counts{0, 1, 0}));
  ASSERT_EQ(rte_eth_dev_set_link_down(sw.port(1).ethdev()), 0);
  EXPECT_FALSE(sw.port(1).poll_link());
  sw.now = sw.now + Duration::ms(1);
  for (int port = 0; port < 3; ++port) sw.turn();
  EXPECT_EQ(pass(0, l2_frame(host(2), host(1))), (Counts{0, 0, 1})) << "wherever it is now";
  EXPECT_EQ(pass(0, l2_frame(host(3), host(1))), (Counts{0, 0, 1})) << "others are where they were";
  EXPECT_EQ(sw.packet_loop().fdb().counters().forgotten.get(), 1u);

  ASSERT_EQ(rte_eth_dev_set_link_up(sw.port(1).ethdev()), 0);
  EXPECT_TRUE(sw.port(1).poll_link());
  pass(1, l2_frame(kEverybody, host(2)));  // within the learning cache's time
  for (int port = 0; port < 3; ++port) sw.turn();
  EXPECT_EQ(pass(0, l2_frame(host(2), host(1))), (Counts{0, 1, 0}));
}

TEST_F(Switching, SlowPortHasABoundedBacklogAndCatchesUp) {
  pass(1, l2_frame(kEverybody, host(2)));
  constexpr std::size_t kRoom = RingSwitch::kRingSize - 1;
  constexpr std::size_t kSent = kRoom + kTransmitBacklog + 50;
  std::size_t injected = 0;
  while (injected < kSent) {
    for (std::size_t i = 0; i < kBurst && injected < kSent; ++i, ++injected)
      sw.inject(0, l2_frame(host(2), host(1)));
    sw.turn();
  }
  EXPECT_EQ(sw.drops(1, DropReason::tx_full), 50u);
  EXPECT_EQ(sw.sent(1).size(), kRoom);
  sw.turn();
  EXPECT_EQ(sw.sent(1).size(), kTransmitBacklog);
  EXPECT_EQ(sw.packet_loop().port_counters(1).tx_packets.get(), kRoom + kTransmitBacklog);
  EXPECT_EQ(sw.buffers_in_use(), 0u);
}

// Rule 15: who listens hears of the queue before its frames are lost.
TEST_F(Switching, FramesThatJoinALongQueueAreMarked) {
  pass(1, l2_frame(kEverybody, host(2)));
  Bytes listens = ipv4_frame({}, host(2), host(1));
  ASSERT_EQ(listens[15], std::byte{0});
  listens[15] = std::byte{2};  // ECT(0), and the checksum is wrong: not the switch's to judge
  const auto fill = [&](std::size_t frames) {
    for (std::size_t i = 0; i < frames; ++i) {
      sw.inject(0, l2_frame(host(2), host(1)));
      if (i % kBurst == kBurst - 1) sw.turn();
    }
    sw.turn();
  };
  const auto offer = [&] {
    sw.inject(0, listens);
    sw.inject(0, l2_frame(host(2), host(1)));
    sw.inject(0, ipv4_frame({}, host(2), host(1)));  // does not listen
    sw.turn();
    return sw.packet_loop().port_counters(1).ecn_marked.get();
  };
  EXPECT_EQ(offer(), 0u) << "nothing waits";
  fill(RingSwitch::kRingSize - 1 - 3 + kMarkBacklog - 3);
  EXPECT_EQ(offer(), 0u) << "one is missing";
  EXPECT_EQ(offer(), 1u);
  (void)sw.sent(1);
  sw.turn();
  const auto waited = sw.sent(1);
  ASSERT_EQ(waited.size(), kMarkBacklog + 3);
  EXPECT_EQ(waited[waited.size() - 3][15], std::byte{3});
  EXPECT_EQ(waited[waited.size() - 1], ipv4_frame({}, host(2), host(1)));
  EXPECT_EQ(offer(), 1u) << "and no more once the queue is gone";
  (void)sw.sent(1);
  EXPECT_EQ(sw.buffers_in_use(), 0u);
}

TEST_F(Switching, FramesOfSeveralPortsAreNotMarked) {
  Bytes listens = ipv4_frame({}, kEverybody, host(1));
  listens[15] = std::byte{2};
  for (std::size_t i = 0; i < RingSwitch::kRingSize + kMarkBacklog + 10; ++i) {
    sw.inject(0, listens);
    if (i % kBurst == kBurst - 1) sw.turn();
  }
  sw.turn();
  EXPECT_EQ(sw.packet_loop().port_counters(1).ecn_marked.get(), 0u);
  for (const std::size_t port : {1u, 2u}) (void)sw.sent(port);
  sw.turn();
  for (const std::size_t port : {1u, 2u}) (void)sw.sent(port);
  EXPECT_EQ(sw.buffers_in_use(), 0u);
}

TEST_F(Switching, CountersAndStagesAddUp) {
  pass(0, l2_frame(kEverybody, host(1), 100));
  sw.turn();
  const auto& in = sw.packet_loop().port_counters(0);
  EXPECT_EQ(in.rx_packets.get(), 1u);
  EXPECT_EQ(in.rx_bytes.get(), 100u);
  EXPECT_EQ(sw.packet_loop().port_counters(2).tx_packets.get(), 1u);
  EXPECT_EQ(sw.packet_loop().port_counters(2).tx_bytes.get(), 100u);
  const auto packets = [&](Stage s) {
    return sw.packet_loop().stages()[static_cast<std::size_t>(s)].packets.get();
  };
  EXPECT_EQ(packets(Stage::receive), 1u);
  EXPECT_EQ(packets(Stage::forward), 1u);
  EXPECT_EQ(packets(Stage::aggregate), 0u);
  EXPECT_EQ(packets(Stage::transmit), 2u);
  EXPECT_EQ(sw.packet_loop().counters().turns.get(), 2u);
  EXPECT_EQ(sw.packet_loop().counters().idle_turns.get(), 1u);
  EXPECT_EQ(sw.packet_loop().counters().longest_turn_ns.get(), 0u);
  for (const Duration later : {Duration::us(30), Duration::us(70), Duration::us(20)}) {
    sw.now = sw.now + later;
    sw.turn();
  }
  EXPECT_EQ(sw.packet_loop().counters().longest_turn_ns.get(), 70'000u);
}

TEST(StaticForwarding, GoesToItsPortWithoutLearning) {
  auto config = test_config(3);
  config.forwarding.static_macs = {{host(9), "p2"}};
  RingSwitch sw(config);
  sw.inject(0, l2_frame(host(9), host(1)));
  sw.turn();
  EXPECT_EQ(sw.sent(2).size(), 1u);
  EXPECT_TRUE(sw.sent(1).empty());
}

// A sender that poses as a host that is elsewhere for good is not heard: neither its frames, nor
// its packets to a job.
TEST(StaticForwarding, C1_ItsAddressComesThroughItsPortOnly) {
  auto config = test_config(3);
  config.forwarding.static_macs = {{host(9), "p2"}};
  RingSwitch sw(config);
  const auto left = [&](std::size_t port, const Bytes& frame) {
    sw.inject(port, frame);
    sw.turn();
    return sw.sent(0).size() + sw.sent(1).size() + sw.sent(2).size();
  };
  EXPECT_EQ(left(2, l2_frame(kEverybody, host(9))), 2u);
  for (int again = 1; again <= 2; ++again) {
    EXPECT_EQ(left(0, l2_frame(kEverybody, host(9))), 0u);
    EXPECT_EQ(sw.drops(0, DropReason::spoofed_mac), static_cast<unsigned>(again));
    EXPECT_EQ(left(0, l2_frame(kEverybody, host(1))), 2u) << "others there go on";
  }
  EXPECT_EQ(left(0, l2_frame(kEverybody, host(9), 64, std::uint16_t{7})), 0u) << "in any VLAN";
  EXPECT_EQ(left(2, l2_frame(host(1), host(9))), 1u);
  EXPECT_EQ(sw.drops(2, DropReason::spoofed_mac), 0u);
  EXPECT_EQ(sw.packet_loop().fdb().counters().learned.get(), 1u);
  EXPECT_EQ(sw.buffers_in_use(), 0u);
}

TEST(OnePort, HasNowhereToForward) {
  RingSwitch sw(test_config(1));
  sw.inject(0, l2_frame(kEverybody, host(1)));
  sw.turn();
  EXPECT_EQ(sw.drops(0, DropReason::no_egress), 1u);
  EXPECT_EQ(sw.buffers_in_use(), 0u);
}

}  // namespace
}  // namespace tributary::dataplane
