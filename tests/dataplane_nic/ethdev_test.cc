// What network cards are asked for, and software is not; and what becomes of a port whose card
// refuses any of it.
#include "dataplane/port/ethdev.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <array>
#include <initializer_list>
#include <stdexcept>

#include "dataplane/port/port.h"
#include "tests/dataplane_nic/fake_nic.h"
#include "tests/dataplane_nic/nic_eal.h"

namespace tributary::dataplane {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::StrEq;

// For the switch, hardware has an address with a colon and a dot, and software has a driver's name.
constexpr const char* kCard = "net_fake:0.0";
constexpr const char* kSoftware = "net_fake0";

bool is_there(const char* device) {
  std::uint16_t id = 0;
  return rte_eth_dev_get_port_by_name(device, &id) == 0;
}

config::PortConfig port_of(const char* device, std::uint32_t mtu = 1500, std::uint16_t queues = 1) {
  config::PortConfig port{"up", device, mtu};
  port.queues = queues;
  return port;
}

// Why a port cannot be opened and started; empty: it can.
std::string refusal(const config::PortConfig& config) {
  try {
    LonePort lone(config);
    lone.set_up();
    return "";
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

TEST(PortOfACardTimed, IsToldItsMtuAndAskedForWhatItOffers) {
  FakeNic nic(kCard,
              {.rx_offloads = RTE_ETH_RX_OFFLOAD_UDP_CKSUM | RTE_ETH_RX_OFFLOAD_TCP_LRO |
                              RTE_ETH_RX_OFFLOAD_VLAN_STRIP | RTE_ETH_RX_OFFLOAD_SCATTER,
               .tx_offloads = RTE_ETH_TX_OFFLOAD_MULTI_SEGS | RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE |
                              RTE_ETH_TX_OFFLOAD_UDP_CKSUM,
               .socket = 3});
  LonePort lone(port_of(kCard, 9000));
  EXPECT_TRUE(lone.port->checks_udp());
  EXPECT_TRUE(lone.port->sends_segments());
  EXPECT_EQ(lone.port->socket(), 3);
  EXPECT_EQ(lone.port->lacks(port_of(kCard, 9702, 4)), "");
  EXPECT_NE(lone.port->lacks(port_of(kCard, 9702, 5)), "");
  lone.set_up();
  const auto asked = nic.record();
  EXPECT_EQ(asked.conf.rxmode.mtu, 9000u);
  EXPECT_EQ(asked.conf.rxmode.offloads, RTE_ETH_RX_OFFLOAD_UDP_CKSUM);
  EXPECT_EQ(asked.conf.txmode.offloads, RTE_ETH_TX_OFFLOAD_MULTI_SEGS);
  EXPECT_EQ(asked.conf.intr_conf.lsc, 0u) << "links are looked at";
  EXPECT_TRUE(asked.promiscuous);
  EXPECT_FALSE(asked.all_multicast) << "promiscuous mode has it";
  const auto socket = static_cast<unsigned>((*lone.pools)[0].get()->socket_id);
  EXPECT_THAT(asked.rx_sockets, Each(socket));
  EXPECT_THAT(asked.tx_sockets, Each(socket));
  EXPECT_EQ(lone.port->why(), "");
}

TEST(PortOfACardTimed, IsAskedForNothingThatItLacks) {
  FakeNic nic(kCard);
  LonePort lone(port_of(kCard));
  lone.set_up();
  EXPECT_FALSE(lone.port->checks_udp());
  EXPECT_FALSE(lone.port->sends_segments());
  EXPECT_EQ(nic.record().conf.rxmode.offloads, 0u);
  EXPECT_EQ(nic.record().conf.txmode.offloads, 0u);
}

// A software device's word on checksums is unchecked, and its MTU is wrong.
TEST(PortOfSoftwareTimed, IsBelievedLess) {
  FakeNic nic(kSoftware, {.rx_offloads = RTE_ETH_RX_OFFLOAD_UDP_CKSUM, .most_mtu = 1500});
  LonePort lone(port_of(kSoftware, 9000));
  EXPECT_FALSE(lone.port->checks_udp());
  EXPECT_EQ(lone.port->socket(), -1);
  lone.set_up();
  EXPECT_EQ(nic.record().conf.rxmode.offloads, 0u);
  EXPECT_EQ(nic.record().conf.rxmode.mtu, 1500u) << "DPDK's, and not the configuration's";
}

TEST(PortOfACardTimed, SeveralQueuesAreSpreadByTheFinestHashOfThoseThatItHas) {
  constexpr std::uint64_t kWanted =
      RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_IPV6 | RTE_ETH_RSS_NONFRAG_IPV4_UDP;
  FakeNic nic(kCard, {.hashes = kWanted | RTE_ETH_RSS_SCTP | RTE_ETH_RSS_L4_DST_ONLY});
  {
    LonePort lone(port_of(kCard, 1500, 2));
    lone.set_up();
    EXPECT_EQ(nic.record().conf.rxmode.mq_mode, RTE_ETH_MQ_RX_RSS);
    EXPECT_EQ(nic.hash(), kWanted);
    EXPECT_EQ(lone.port->steering().how(), Steering::How::rss);
  }
  {
    LonePort lone(port_of(kCard));
    lone.set_up();
    EXPECT_EQ(nic.hash(), 0u) << "there is nothing to spread";
    EXPECT_EQ(lone.port->steering().how(), Steering::How::none);
  }
  nic.can.hashes = RTE_ETH_RSS_SCTP;
  LonePort lone(port_of(kCard, 1500, 2));
  lone.set_up();
  EXPECT_EQ(nic.record().conf.rxmode.mq_mode, RTE_ETH_MQ_RX_NONE);
  EXPECT_EQ(lone.port->steering().how(), Steering::How::hand_over);
}

TEST(PortOfACardTimed, WhatTheDeviceHasNotIsSaidInItsPlace) {
  FakeNic nic(kCard, {.queues = 2, .most_mtu = 3000});
  EXPECT_THAT(refusal(port_of(kCard, 9000)),
              StrEq("port up (net_fake:0.0): mtu: 9000; the device takes up to 3000"));
  EXPECT_THAT(refusal(port_of(kCard, 1500, 3)),
              StrEq("port up (net_fake:0.0): queues: 3 pairs; the device has 2"));
  EXPECT_FALSE(is_there(kCard));
  EXPECT_EQ(refusal(port_of(kCard, 3000, 2)), "");
}

class PortOfARefusingCardTimed : public testing::TestWithParam<std::pair<Ask, const char*>> {};

TEST_P(PortOfARefusingCardTimed, NamesWhatWasRefusedAndLeavesNoDevice) {
  const auto& [ask, words] = GetParam();
  FakeNic nic(kCard, {.refuses = ask});
  const std::string why = refusal(port_of(kCard, 1500, 2));
  EXPECT_THAT(why, HasSubstr("port up (net_fake:0.0): "));
  EXPECT_THAT(why, HasSubstr(std::string(words) + ": Input/output error"));
  EXPECT_FALSE(is_there(kCard));
  EXPECT_EQ(nic.record().closed, 1u);
  nic.can.refuses = Ask::nothing;
  EXPECT_EQ(refusal(port_of(kCard, 1500, 2)), "") << "as if nothing had been";
}

INSTANTIATE_TEST_SUITE_P(Steps, PortOfARefusingCardTimed,
                         testing::Values(std::pair{Ask::configure,
                                                   "the device refuses its configuration"},
                                         std::pair{Ask::rx_queue, "no receive queue"},
                                         std::pair{Ask::tx_queue, "no transmit queue"},
                                         std::pair{Ask::start, "the device does not start"}));

TEST(PortOfACardTimed, ThatTakesNoFramesForOthersSaysSo) {
  FakeNic nic(kCard, {.refuses = Ask::promiscuous});
  LonePort lone(port_of(kCard));
  lone.set_up();
  EXPECT_EQ(
      lone.port->why(),
      "takes only frames to its own address, promiscuous mode is refused: Input/output error");
  EXPECT_TRUE(lone.port->poll_link());
}

TEST(PortOfACardTimed, FollowsItsLink) {
  FakeNic nic(kCard);
  LonePort lone(port_of(kCard));
  lone.set_up();
  EXPECT_TRUE(lone.port->link().up());
  nic.set_link(false);
  EXPECT_FALSE(lone.port->poll_link());
  EXPECT_FALSE(lone.port->link().up());
  EXPECT_EQ(lone.port->link().losses(), 1u);
  nic.set_link(true);
  EXPECT_TRUE(lone.port->poll_link());
  EXPECT_EQ(lone.port->link().losses(), 1u);
}

// Those that DPDK was told of at its start are there before any port.
TEST(PortOfACardTimed, TakesACardThatIsThereAndIsTheOnlyOneToDoSo) {
  FakeNic nic(kCard);
  start_nic_eal();
  ASSERT_EQ(rte_dev_probe(kCard), 0);
  {
    LonePort lone(port_of(kCard));
    lone.set_up();
    EXPECT_THROW(Port(port_of(kCard)), std::runtime_error);
    EXPECT_TRUE(lone.port->poll_link());
    EXPECT_EQ(nic.record().started, 1u);
  }
  EXPECT_FALSE(is_there(kCard));
  EXPECT_EQ(refusal(port_of(kCard)), "");
}

// Cards that fill buffers in steps go on in the next one where a frame is longer than these, and
// what is for jobs has to be in one.
TEST(PortOfACardTimed, TheLongestFrameComesInOneBuffer) {
  for (const std::uint32_t mtu : {1500u, 4000u, 9000u, 9216u})
    for (const auto step : std::initializer_list<std::uint16_t>{1, 128, 1024}) {
      FakeNic nic(kCard, {.buffer_step = step});
      LonePort lone(port_of(kCard, mtu));
      lone.set_up();
      nic.arrive(Bytes(mtu + 18));
      rte_mbuf* frame = nullptr;
      ASSERT_EQ(rte_eth_rx_burst(lone.port->ethdev(), 0, &frame, 1), 1);
      EXPECT_EQ(frame->nb_segs, 1) << mtu << " in steps of " << step;
      EXPECT_EQ(frame->pkt_len, mtu + 18);
      rte_pktmbuf_free(frame);
      // What a driver adds before it compares.
      const std::size_t room =
          rte_pktmbuf_data_room_size((*lone.pools)[0].get()) - RTE_PKTMBUF_HEADROOM;
      EXPECT_GE(room / step * step, mtu + nic.can.frame_overhead);
    }
}

// C1: what a card lost before the switch saw it is counted, over all cards that a port has had.
TEST(PortOfACardTimed, C1_WhatItLosesIsCounted) {
  FakeNic nic(kCard);
  const auto losses_of = [](Port& port) {
    port.poll_losses();
    const DeviceLosses& l = port.losses();
    return std::array{l.missed.get(), l.rx_errors.get(), l.no_buffers.get(), l.tx_errors.get()};
  };
  LonePort lone(port_of(kCard));
  lone.set_up();
  EXPECT_THAT(losses_of(*lone.port), Each(0u));
  nic.can.stats.imissed = 7;
  nic.can.stats.ierrors = 5;
  nic.can.stats.oerrors = 2;
  nic.can.stats.rx_nombuf = 3;
  // DPDK counts for itself how often a driver had no buffer.
  EXPECT_THAT(losses_of(*lone.port), testing::ElementsAre(7u, 5u, testing::_, 2u));
  auto after = Port::closed(port_of(kCard));
  after->succeed(*lone.port, true);
  EXPECT_EQ(after->losses().missed.get(), 7u);
  EXPECT_EQ(after->losses().tx_errors.get(), 2u);
}

}  // namespace
}  // namespace tributary::dataplane
