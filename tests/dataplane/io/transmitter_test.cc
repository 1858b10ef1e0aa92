// Jobs' packets that join a long queue: marked, without a word in what other ports have, too (rules
// 15 and 19).
#include "dataplane/io/transmitter.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/net/checksum.h"
#include "core/wire/ecn.h"
#include "tests/dataplane/l2_frame.h"
#include "tests/telemetry/wire/frames.h"

namespace tributary::dataplane {
namespace {

constexpr std::array<std::uint16_t, 2> kBoth = {0, 1};

// Port 0 keeps up; port 1 takes nothing while its ring is full.
class ToASlowPort : public testing::Test {
 protected:
  ToASlowPort() {
    for (std::size_t port = 0; port < 2; ++port)
      lanes.push_back(std::make_unique<Lane>(sw.port(port), static_cast<std::uint16_t>(port)));
  }
  void TearDown() override {
    for (const std::uint16_t port : kBoth) {
      (void)sw.sent(port);
      transmitter.discard(port);
    }
    EXPECT_EQ(sw.buffers_in_use(), 0u);
  }
  [[nodiscard]] rte_mbuf* packet(std::uint8_t ecn, std::optional<std::uint16_t> tci = {}) const {
    wire::FrameTemplate t;
    t.vlan_tci = tci;
    t.endpoints = {0x0A4D00FE, 0xEFC30005, 47000, 47000};
    t.dscp_ecn = ecn;
    Bytes frame(wire::frame_header_bytes(t) + 100, std::byte{0x5A});
    wire::write_frame_headers(t, frame, 100);
    return make_frame(sw.pool(), frame);
  }
  // So many of a class wait for port 1.
  void queue(std::size_t frames, TrafficClass traffic = TrafficClass::jobs) {
    for (std::size_t i = 0; i < RingSwitch::kRingSize - 1 + frames; ++i)
      transmitter.send(1, packet(0), traffic);
    transmitter.flush();
    ASSERT_EQ(lanes[1]->backlog(traffic), frames);
  }
  // All that has waited for port 1, in the order in which it leaves.
  std::vector<Bytes> waited() {
    (void)sw.sent(1);
    transmitter.flush();
    return sw.sent(1);
  }
  [[nodiscard]] std::uint64_t marked(std::uint16_t port) const {
    EXPECT_EQ(lanes[port]->counters.ecn_marked.get(), lanes[port]->counters.ecn_marked_jobs.get());
    return lanes[port]->counters.ecn_marked_jobs.get();
  }
  static int ecn_of(const Bytes& frame, std::size_t tag_bytes = 0) {
    const std::span ip = std::span(frame).subspan(wire::kEthernetBytes + tag_bytes);
    EXPECT_EQ(wire::ones_complement_sum(ip.first(wire::kIpv4Bytes)), 0xFFFF);
    return std::to_integer<int>(ip[1]) & 3;
  }

  RingSwitch sw{test_config(2)};
  Lanes lanes;
  Handover handover{2};
  HandoverEnd own{handover, 0};
  Transmitter transmitter{lanes, sw.pool(), &own};
};

TEST_F(ToASlowPort, Rule15_APacketThatJoinsALongQueueIsMarked) {
  queue(kMarkBacklog - 1);
  transmitter.send(1, packet(wire::kEct0), TrafficClass::jobs);
  EXPECT_EQ(marked(1), 0u) << "one is missing";
  transmitter.send(1, packet(wire::kEct0), TrafficClass::jobs);
  transmitter.send(1, packet(0), TrafficClass::jobs);
  EXPECT_EQ(marked(1), 1u) << "nobody listens to the other's mark";
  const auto frames = waited();
  ASSERT_EQ(frames.size(), kMarkBacklog + 2);
  EXPECT_EQ(ecn_of(frames[kMarkBacklog - 1]), wire::kEct0);
  EXPECT_EQ(ecn_of(frames[kMarkBacklog]), wire::kCongestionExperienced);
  EXPECT_EQ(ecn_of(frames[kMarkBacklog + 1]), 0);
}

TEST_F(ToASlowPort, Rule15_WhatOtherPortsHaveTooIsCopiedForTheMark) {
  queue(kMarkBacklog);
  rte_mbuf* const shared = packet(wire::kEct0);
  transmitter.multicast(kBoth, shared, TrafficClass::jobs);
  EXPECT_EQ(marked(1), 1u);
  EXPECT_EQ(marked(0), 0u);
  EXPECT_EQ(rte_mbuf_refcnt_read(shared), 1) << "port 0 has it for itself";
  transmitter.flush();
  const auto elsewhere = sw.sent(0);
  ASSERT_EQ(elsewhere.size(), 1u);
  EXPECT_EQ(ecn_of(elsewhere[0]), wire::kEct0);
  Bytes slow = waited().back();
  EXPECT_EQ(ecn_of(slow), wire::kCongestionExperienced);
  // The same packet but for the mark and its checksum.
  std::copy_n(elsewhere[0].begin() + wire::kEthernetBytes, wire::kIpv4Bytes,
              slow.begin() + wire::kEthernetBytes);
  EXPECT_EQ(slow, elsewhere[0]);
}

TEST_F(ToASlowPort, Rule15_TaggedPacketsToo) {
  queue(kMarkBacklog);
  transmitter.multicast(kBoth, packet(wire::kEct0, std::uint16_t{12}), TrafficClass::jobs);
  transmitter.flush();
  EXPECT_EQ(ecn_of(sw.sent(0).at(0), wire::kVlanBytes), wire::kEct0);
  EXPECT_EQ(ecn_of(waited().back(), wire::kVlanBytes), wire::kCongestionExperienced);
}

TEST_F(ToASlowPort, Rule15_WithoutABufferForTheCopyItGoesUnmarked) {
  queue(kMarkBacklog);
  rte_mbuf* const shared = packet(wire::kEct0);
  std::vector<rte_mbuf*> all;
  while (rte_mbuf* const taken = rte_pktmbuf_alloc(sw.pool())) all.push_back(taken);
  transmitter.multicast(kBoth, shared, TrafficClass::jobs);
  for (rte_mbuf* const taken : all) rte_pktmbuf_free(taken);
  EXPECT_EQ(marked(1), 0u);
  EXPECT_EQ(ecn_of(waited().back()), wire::kEct0);
  EXPECT_EQ(lanes[1]->counters.drops.total(), 0u);
}

// Each class has a queue of its own, and what others send to several ports is not copied.
TEST_F(ToASlowPort, Rule15_OthersQueuesAreTheirOwn) {
  queue(kMarkBacklog, TrafficClass::others);
  transmitter.send(1, packet(wire::kEct0), TrafficClass::jobs);
  EXPECT_EQ(marked(1), 0u);
  transmitter.multicast(kBoth, packet(wire::kEct0), TrafficClass::others);
  EXPECT_EQ(lanes[1]->counters.ecn_marked.get(), 0u);
}

// Jobs that fill a port which cannot keep up take neither others' room nor their turn. The other
// way round: Aggregating.AResultHasItsShareOfAPortThatOthersFlood.
// Else a job on another lcore would wait for a queue that is not there any more.
TEST_F(ToASlowPort, OtherLcoresKnowHowMuchWaits) {
  HandoverEnd other(handover, 1);
  const auto known = [&] { return other.backlog(0, 1); };
  EXPECT_EQ(known(), 0u);
  queue(10);
  EXPECT_EQ(known(), 10u);
  waited();
  EXPECT_EQ(known(), 0u);
  queue(10);
  (void)sw.sent(1);
  EXPECT_EQ(transmitter.offer_jobs(1), 0u);
  EXPECT_EQ(known(), 0u);
  (void)sw.sent(1);
  queue(10);
  transmitter.discard(1);
  EXPECT_EQ(known(), 0u);
  (void)sw.sent(1);
  queue(10);
  lanes[1]->sender = 1;
  transmitter.hand_on(1);
  transmitter.flush();
  std::array<Handed, 16> handed;
  const auto taken = other.take(0, handed);
  EXPECT_EQ(taken.size(), 10u);
  for (const Handed& one : taken) rte_pktmbuf_free(one.frame);
  EXPECT_EQ(known(), 0u);
  lanes[1]->sender.reset();
}

TEST_F(ToASlowPort, O1_ForwardedFramesHaveTheirShareUnderAFloodOfJobs) {
  constexpr std::size_t kBytes = 1000;
  const auto send = [&](TrafficClass traffic) {
    const Bytes frame(kBytes, static_cast<std::byte>(traffic));
    transmitter.send(1, make_frame(sw.pool(), frame), traffic);
  };
  const auto lost = [&] { return lanes[1]->counters.drops.get(DropReason::tx_full); };
  for (std::size_t i = 0; i < RingSwitch::kRingSize + 3 * FairBacklog::kRoom; ++i)
    send(TrafficClass::jobs);
  transmitter.flush();
  ASSERT_EQ(lanes[1]->backlog(TrafficClass::jobs), FairBacklog::kRoom);
  const std::uint64_t lost_jobs = lost();
  ASSERT_GT(lost_jobs, 0u);
  for (std::size_t i = 0; i < FairBacklog::kRoom; ++i) send(TrafficClass::others);
  EXPECT_EQ(lost(), lost_jobs) << "others have room of their own";
  for (int i = 0; i < 10; ++i) send(TrafficClass::jobs);
  EXPECT_EQ(lost(), lost_jobs + 10) << "the flood goes on";

  const auto frames = waited();
  ASSERT_EQ(frames.size(), 2 * FairBacklog::kRoom);
  // What is in front already goes first; from then on each has its half.
  constexpr std::size_t kTurn = FairBacklog::kQuantum / kBytes + 1;
  std::size_t others = 0;
  for (std::size_t sent = 0; sent < frames.size(); ++sent) {
    others += frames[sent][0] == static_cast<std::byte>(TrafficClass::others) ? 1 : 0;
    if (sent < kBurst) continue;
    EXPECT_GE(others + kTurn, std::min((sent - kBurst) / 2, FairBacklog::kRoom)) << sent;
  }
  EXPECT_EQ(others, FairBacklog::kRoom);
}

// A switch behind port 0, which is trusted, and a host behind port 1.
class WithTelemetry : public ToASlowPort {
 protected:
  WithTelemetry() { transmitter.stamp_with(&telemetry); }

  static config::SwitchConfig config() {
    config::SwitchConfig config = test_config(2);
    config.telemetry.node_id = 7;
    config.telemetry.ports = {{config.ports[0].name, true, 0}};
    return config;
  }
  // A packet that goes on, with the metadata of another switch.
  [[nodiscard]] rte_mbuf* marked() const {
    telemetry::test::Buffer buffer(telemetry::test::make_frame({.ipv6 = false, .payload = 64}));
    EXPECT_EQ(telemetry::insert_int(buffer.view, {}, telemetry::kPorts, 8, {}),
              telemetry::Outcome::done);
    rte_mbuf* const frame = make_frame(sw.pool(), buffer.now());
    put_note(frame, {1, 0, 0});
    return frame;
  }

  LoopTelemetry telemetry{config(), sw.pool()};
};

TEST_F(WithTelemetry, C6_WithoutABufferToStripItAFrameDoesNotReachAHost) {
  const auto send_to_both = [&](rte_mbuf* frame, TrafficClass traffic) {
    transmitter.multicast(kBoth, frame, traffic);
  };
  rte_mbuf* const before = packet(0);
  rte_mbuf* const refused = marked();
  rte_mbuf* const behind = packet(wire::kEct0);
  std::vector<rte_mbuf*> rest;
  for (rte_mbuf* taken = nullptr; (taken = rte_pktmbuf_alloc(sw.pool())) != nullptr;)
    rest.push_back(taken);
  send_to_both(before, TrafficClass::others);
  send_to_both(refused, TrafficClass::others);
  send_to_both(behind, TrafficClass::jobs);
  transmitter.flush();
  for (rte_mbuf* taken : rest) rte_pktmbuf_free(taken);
  EXPECT_EQ(sw.sent(0).size(), 3u);
  const auto to_host = sw.sent(1);
  ASSERT_EQ(to_host.size(), 2u);
  EXPECT_EQ(ecn_of(to_host[0]), 0);
  EXPECT_EQ(ecn_of(to_host[1]), wire::kEct0);
  EXPECT_EQ(lanes[1]->counters.drops.get(DropReason::no_mbuf), 1u);
  EXPECT_EQ(lanes[0]->counters.drops.get(DropReason::no_mbuf), 0u);
  EXPECT_EQ(telemetry.counters().unstripped.get(), 1u);
  EXPECT_TRUE(lanes[1]->of_jobs.none());
}

TEST_F(WithTelemetry, C6_ASampledFrameThatFindsNoRoomIsReportedAsDropped) {
  queue(FairBacklog::kRoom);
  transmitter.send(1, marked(), TrafficClass::jobs);
  ReportRecord told;
  ASSERT_TRUE(telemetry.ring().pop(told));
  EXPECT_TRUE(told.dropped);
  EXPECT_EQ(told.own.egress_port, 1);
  EXPECT_GE(told.own.queue_occupancy, FairBacklog::kRoom);
  EXPECT_EQ(lanes[1]->counters.drops.get(DropReason::tx_full), 1u);
  transmitter.send(1, packet(0), TrafficClass::jobs);
  EXPECT_TRUE(telemetry.ring().empty()) << "the other was not sampled";
}

}  // namespace
}  // namespace tributary::dataplane
