// Peers behind routers (O12, C1): the loop end to end, with explicit time. Rank 0 is behind a
// router on port 0, which leads to 10.78.0.0/16; ranks 1 and 2 are on the link of ports 1 and 2.
#include <gtest/gtest.h>

#include "core/net/arp.h"
#include "core/net/checksum.h"
#include "dataplane/loop/packet_loop.h"
#include "tests/dataplane/job_ranks.h"
#include "tests/dataplane/test_packet_loop.h"

namespace tributary::dataplane {
namespace {

constexpr std::uint32_t kJob = 5;
constexpr std::uint32_t kSwitch = 0x0A4D00FE;
constexpr std::uint32_t kRouter = 0x0A4D0032;
constexpr wire::MacAddress kRouterMac = {2, 0, 0, 0, 9, 1};
constexpr wire::MacAddress kNewMac = {2, 0, 0, 0, 9, 2};

config::SwitchConfig routed_config() {
  auto config = test_config(3);
  config::JobConfig job = job_of(kJob);
  job.workers = 3;
  job.deadline = job.lease = NextHops::kLife * 4;
  config.jobs = {job};
  config.routes = {{{0x0A4E0000, 16}, kRouter, "p0"}};
  return config;
}

// A frame of a rank as a router passes it on.
Bytes through_router(Bytes frame, std::uint32_t source, const wire::MacAddress& mac,
                     std::uint16_t port = 6000) {
  const auto whole = read_packet(frame);
  wire::FrameTemplate t;
  t.destination = config::derived_mac(kSwitch);
  t.source = mac;
  t.endpoints = whole->udp.endpoints;
  t.endpoints.source_ip = source;
  t.endpoints.source_port = port;
  wire::write_frame_headers(t, frame, whole->udp.payload.size());
  return frame;
}

Bytes arp_reply(std::uint32_t from, const wire::MacAddress& mac) {
  Bytes frame(wire::kArpFrameBytes);
  const wire::ArpView asked{true, config::derived_mac(kSwitch), kSwitch, {}, from};
  wire::write_arp_reply(mac, asked, frame);
  return frame;
}

// An announcement as broadcast: a request for its own address.
Bytes announcement(std::uint32_t from, const wire::MacAddress& mac) {
  Bytes frame(wire::kArpFrameBytes);
  wire::write_arp_request(mac, from, from, frame);
  return frame;
}

bool is_arp(const Bytes& frame) {
  const auto parsed = wire::parse_ethernet(frame);
  return std::get<wire::EthernetView>(parsed).ether_type == wire::kEtherTypeArp;
}

class Routed : public testing::Test {
 protected:
  void SetUp() override { start(routed_config()); }
  void start(const config::SwitchConfig& config) {
    sw.reset();
    sw = std::make_unique<RingSwitch>(config);
    ranks.clear();
    for (std::uint32_t rank = 0; rank < 3; ++rank)
      ranks.emplace_back(config, kJob, rank, std::uint16_t{3});
  }
  void answer(const wire::MacAddress& mac = kRouterMac) {
    sw->turn();
    sw->inject(0, arp_reply(kRouter, mac));
    sw->turn();
    sw->sent(0);
  }
  // A rank's frame, from where it is.
  void put(std::uint32_t rank, Bytes frame, const wire::MacAddress& router = kRouterMac) {
    if (rank == 0) frame = through_router(std::move(frame), kRankIpv4, router);
    sw->inject(rank, frame);
  }
  void join() {
    for (std::uint32_t rank = 0; rank < 3; ++rank) put(rank, ranks[rank].join(100 + rank));
    sw->turn();
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
      const auto frames = packets(rank);
      ASSERT_FALSE(frames.empty());
      const auto start = read_packet(frames.back());
      ASSERT_EQ(start->packet.header.type, wire::PacketType::start);
      ranks[rank].epoch = start->packet.header.epoch;
    }
  }
  void complete(std::uint32_t seq, const wire::MacAddress& router = kRouterMac) {
    for (std::uint32_t rank = 0; rank < 3; ++rank)
      put(rank, ranks[rank].contribution(seq, std::array{1, 2, static_cast<int>(rank)}), router);
    sw->turn();
  }
  // What was sent through a port, without ARP.
  std::vector<Bytes> packets(std::size_t port) {
    std::vector<Bytes> out = sw->sent(port);
    std::erase_if(out, is_arp);
    return out;
  }
  const NextHop& router() { return sw->packet_loop().next_hops().hops().front(); }

  static constexpr std::uint32_t kRankIpv4 = 0x0A4E0007;
  std::unique_ptr<RingSwitch> sw;
  std::vector<TestWorker> ranks;
};

TEST_F(Routed, O12_TheRouterIsAskedForThroughItsPort) {
  sw->turn();
  const auto frames = sw->sent(0);
  ASSERT_EQ(frames.size(), 1u);
  const auto view = std::get<wire::EthernetView>(wire::parse_ethernet(frames[0]));
  const auto arp = wire::parse_arp(view.payload);
  ASSERT_TRUE(arp);
  EXPECT_TRUE(arp->is_request);
  EXPECT_EQ(arp->target_ip, kRouter);
  EXPECT_EQ(arp->sender_ip, kSwitch);
  EXPECT_EQ(arp->sender_mac, config::derived_mac(kSwitch));
  EXPECT_TRUE(sw->sent(1).empty());
  sw->inject(0, arp_reply(kRouter, kRouterMac));
  sw->turn();
  EXPECT_EQ(router().mac, kRouterMac);
  EXPECT_TRUE(sw->sent(1).empty()) << "an answer is no other's business";
  EXPECT_EQ(sw->drops(0, DropReason::unhandled), 0u);
  sw->inject(0, arp_reply(kRouter + 1, kRouterMac));
  sw->inject(1, arp_reply(kRouter, kRouterMac));
  sw->turn();
  EXPECT_EQ(sw->drops(0, DropReason::unhandled), 1u) << "somebody's that nobody has asked";
  EXPECT_EQ(sw->drops(1, DropReason::unhandled), 1u) << "and elsewhere it is no router";
}

// No group passes a router: a member behind it gets a copy of its own, once, and no other does.
TEST_F(Routed, O12_AResultGoesToTheGroupAndToEachMemberBehindARouterOnce) {
  answer();
  join();
  complete(0);
  for (const std::size_t port : {1u, 2u}) {
    const auto frames = packets(port);
    ASSERT_EQ(frames.size(), 1u);
    const auto result = read_packet(frames[0]);
    EXPECT_EQ(result->ethernet.destination, wire::multicast_mac(config::job_group_ipv4(kJob)));
  }
  const auto frames = packets(0);
  ASSERT_EQ(frames.size(), 1u);
  const auto result = read_packet(frames[0]);  // checks the UDP checksum
  ASSERT_TRUE(result);
  EXPECT_EQ(result->packet.header.type, wire::PacketType::result);
  EXPECT_EQ(result->ethernet.destination, kRouterMac);
  EXPECT_EQ(result->udp.endpoints, (wire::UdpEndpoints{kSwitch, kRankIpv4, 47000, 6000}));
  constexpr std::size_t kTtl = wire::kEthernetBytes + 8;
  EXPECT_EQ(frames[0][kTtl], std::byte{64});
  EXPECT_EQ(wire::ones_complement_sum(result->ethernet.payload.first(wire::kIpv4Bytes)), 0xFFFF);
  const std::array expected = {3, 6, 3};
  ASSERT_EQ(result->packet.payload.size(), sizeof expected);
  EXPECT_EQ(std::memcmp(result->packet.payload.data(), expected.data(), sizeof expected), 0);
}

// Two ranks behind one router, which has one address for both.
TEST_F(Routed, O12_SeveralMembersShareARouter) {
  auto config = routed_config();
  config.routes = {{{0x0A4D0000, 28}, kRouter, "p0"}};  // 10.77.0.1 and .2, .3: all ranks
  start(config);
  answer();
  const auto pass_on = [&](std::uint32_t rank, const Bytes& frame) {
    sw->inject(0, through_router(frame, ranks[rank].ipv4(), kRouterMac));
  };
  for (std::uint32_t rank = 0; rank < 3; ++rank) pass_on(rank, ranks[rank].join(100 + rank));
  sw->turn();
  const auto starts = packets(0);
  ASSERT_FALSE(starts.empty());
  for (auto& rank : ranks) rank.epoch = read_packet(starts.back())->packet.header.epoch;
  for (std::uint32_t rank = 0; rank < 3; ++rank)
    pass_on(rank, ranks[rank].contribution(0, std::array{7}));
  sw->turn();
  const auto results = packets(0);
  ASSERT_EQ(results.size(), 3u);
  std::vector<std::uint32_t> to;
  for (const auto& frame : results) to.push_back(read_packet(frame)->udp.endpoints.destination_ip);
  EXPECT_EQ(to, (std::vector<std::uint32_t>{0x0A4D0001, 0x0A4D0002, 0x0A4D0003}));
}

TEST_F(Routed, O12_TheRoutersOwnAddressMayChangeUnderARunningJob) {
  answer();
  join();
  complete(0);
  packets(0);
  sw->inject(0, announcement(kRouter, kNewMac));
  sw->turn();
  EXPECT_EQ(router().mac, kRouterMac) << "it is asked before it is believed";
  sw->inject(0, arp_reply(kRouter, kNewMac));
  sw->now = sw->now + NextHops::kAskAgain;
  sw->turn();  // asks
  sw->inject(0, arp_reply(kRouter, kNewMac));
  sw->turn();
  EXPECT_EQ(router().mac, kNewMac);
  EXPECT_EQ(sw->sent(1).size(), 2u) << "the result, and what was to everybody went on";
  sw->sent(0);
  complete(1, kNewMac);
  const auto frames = packets(0);
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(read_packet(frames[0])->ethernet.destination, kNewMac);
  EXPECT_EQ(sw->packet_loop().engine().counters(0).completions.get(), 2u);
  EXPECT_EQ(sw->drops(0, DropReason::sender_mismatch), 0u);
}

TEST_F(Routed, WhatHasNoNextHopIsCountedAndTheOthersGetTheirs) {
  answer();
  join();
  // The router answers no more, until it is forgotten.
  sw->now = sw->now + NextHops::kLife;
  sw->turn();
  sw->sent(1);
  ASSERT_FALSE(router().mac);
  complete(0);
  EXPECT_TRUE(packets(0).empty());
  EXPECT_EQ(sw->drops(0, DropReason::no_next_hop), 1u);
  EXPECT_EQ(packets(1).size(), 1u);
  EXPECT_EQ(sw->drops(1, DropReason::no_next_hop), 0u);
  answer(kNewMac);
  const wire::Header probe = ranks[0].header(wire::PacketType::probe);
  put(0, ranks[0].frame(probe, {}, {}), kNewMac);
  sw->turn();
  const auto frames = packets(0);
  ASSERT_EQ(frames.size(), 1u) << "what was lost is to be had";
  EXPECT_EQ(read_packet(frames[0])->packet.header.type, wire::PacketType::result);
  packets(2);
  EXPECT_EQ(sw->buffers_in_use(), 0u);
}

TEST_F(Routed, O12_ASwitchAboveIsReachedByWayOfItsRouter) {
  constexpr std::uint32_t kParent = 0x0A4E00FE;
  auto config = routed_config();
  config.id = 201;
  config.jobs[0].workers = 2;
  config.jobs[0].children = {{false, 0, 0, "p1", {0}}};
  config.jobs[0].parent = config::ParentConfig{"root", 240, kParent, {}, "p0", 0, 2};
  start(config);
  const TestWorker rank(config, kJob, 0, 2);
  sw->inject(1, rank.join(100));
  sw->turn();
  EXPECT_TRUE(packets(0).empty());
  EXPECT_EQ(sw->drops(0, DropReason::no_next_hop), 1u);
  answer();
  sw->now = sw->now + Duration::ms(100);
  sw->inject(1, rank.join(100));
  sw->turn();
  const auto frames = packets(0);
  ASSERT_EQ(frames.size(), 1u);
  const auto join = read_packet(frames[0]);
  ASSERT_TRUE(join);
  EXPECT_EQ(join->packet.header.type, wire::PacketType::join);
  EXPECT_EQ(join->ethernet.destination, kRouterMac);
  EXPECT_EQ(join->udp.endpoints, (wire::UdpEndpoints{kSwitch, kParent, 47000, 47000}));
}

// Rule 18: addresses behind a router are heard through its port.
TEST_F(Routed, Rule18_WhoIsBehindARouterCannotSpeakElsewhere) {
  answer();
  join();
  const Bytes frame = ranks[0].contribution(0, std::array{1});
  sw->inject(1, through_router(frame, kRankIpv4, kRouterMac));
  sw->turn();
  EXPECT_EQ(sw->drops(1, DropReason::wrong_ingress_port), 1u);
  EXPECT_EQ(sw->packet_loop().engine().counters(0).contributions.get(), 0u);
  // Another address, or another UDP port, behind the router is not the rank either.
  sw->inject(0, through_router(frame, kRankIpv4 + 1, kRouterMac));
  sw->inject(0, through_router(frame, kRankIpv4, kRouterMac, 6001));
  sw->turn();
  EXPECT_EQ(sw->drops(0, DropReason::sender_mismatch), 2u);
}

TEST_F(Routed, OfOthersNothingIsRouted) {
  answer();
  Bytes frame = through_router(ranks[0].join(1), kRankIpv4, kRouterMac);
  wire::FrameTemplate t;
  t.destination = config::derived_mac(kSwitch);
  t.source = kRouterMac;
  t.endpoints = {kRankIpv4, 0x0A4D0009, 6000, 47000};
  frame.resize(wire::write_frame_headers(t, frame, frame.size() - wire::kUdpPayloadOffset));
  sw->inject(0, frame);
  sw->turn();
  EXPECT_EQ(sw->drops(0, DropReason::unhandled), 1u);
  EXPECT_TRUE(sw->sent(1).empty());
}

// Rule 16: who is known as a neighbour cannot become one behind a router without a new epoch.
TEST_F(Routed, Rule16_AnotherWayEndsTheEpochOfThoseThere) {
  answer();
  join();
  auto config = routed_config();
  config.routes.push_back({{0x0A4F0000, 16}, kRouter, "p0"});
  sw->reload(config);
  complete(0);
  EXPECT_EQ(packets(0).size(), 1u) << "nobody's way has changed";
  EXPECT_EQ(router().mac, kRouterMac);
  packets(1);
  config.routes = {{{0x0A4D0002, 32}, kRouter, "p0"}};  // rank 1, and rank 0 no more
  sw->reload(config);
  sw->turn();
  const auto last = packets(0);
  ASSERT_EQ(last.size(), 1u) << "told by the way that was";
  const auto abort = read_packet(last[0]);
  EXPECT_EQ(abort->packet.header.type, wire::PacketType::abort);
  EXPECT_EQ(abort->packet.header.reason, wire::Reason::configuration_changed);
  EXPECT_EQ(abort->ethernet.destination, kRouterMac);
}

// Answers come in where they come in: each loop asks, and hears of it from the one that got it.
TEST(RoutedLoops, AnAnswerIsToldToOtherLoops) {
  auto config = two_lcores(2);
  config.routes = {{{0x0A4E0000, 16}, kRouter, "p1"}};
  RingSwitch sw(config);
  sw.turn();
  sw.inject(1, arp_reply(kRouter, kRouterMac));
  for (int i = 0; i < 3; ++i) sw.turn();
  for (std::size_t lcore = 0; lcore < 2; ++lcore)
    EXPECT_EQ(sw.packet_loop(lcore).next_hops().hops()[0].mac, kRouterMac) << lcore;
}

// With other devargs the port's own device may lead elsewhere. However soon it is there again, what
// was behind it is learned anew.
TEST(RoutedLoops, C1_ARouterBehindAPortThatIsOpenedWithOtherDevargsIsAskedForAgain) {
  auto config = two_lcores(2);
  config.routes = {{{0x0A4E0000, 16}, kRouter, "p1"}};
  for (std::size_t i = 0; i < config.ports.size(); ++i)
    config.ports[i].devargs = std::string("net_ring").append(std::to_string(i));
  RingSwitch sw(config);
  const auto answer = [&] {
    sw.now = sw.now + Duration::ms(100);
    sw.turn();
    sw.inject(1, arp_reply(kRouter, kRouterMac));
    for (int i = 0; i < 3; ++i) sw.turn();
  };
  const auto turn = [&](RingSwitch::Step, std::size_t) { sw.turn(); };
  answer();
  config.ports[1].devargs += ",iface=other";
  sw.reload(config, turn);
  for (std::size_t lcore = 0; lcore < 2; ++lcore)
    EXPECT_FALSE(sw.packet_loop(lcore).next_hops().hops()[0].mac) << lcore;
  answer();
  config.ports[0].devargs += ",iface=other";
  sw.reload(config, turn);
  for (std::size_t lcore = 0; lcore < 2; ++lcore)
    EXPECT_EQ(sw.packet_loop(lcore).next_hops().hops()[0].mac, kRouterMac) << "behind another port";
}

}  // namespace
}  // namespace tributary::dataplane
