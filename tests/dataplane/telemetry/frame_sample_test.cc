// Other traffic that rules of access control watch: the same frames at each switch, as they were,
// with what the switch knows of them (C5).
#include "dataplane/telemetry/frame_sample.h"

#include <gtest/gtest.h>

#include "dataplane/telemetry/report_record.h"
#include "telemetry/wire/path_of.h"
#include "tests/dataplane/ip_frame.h"
#include "tests/dataplane/test_packet_loop.h"

namespace tributary::dataplane {
namespace {

constexpr std::uint32_t kNode = 7;

Bytes numbered(std::uint16_t number, bool ipv6 = false,
               std::optional<std::uint16_t> tci = std::nullopt) {
  IpOptions options{.destination_port = number, .tci = tci};
  Bytes frame = ipv6 ? ipv6_frame(options, host(2)) : ipv4_frame(options, host(2));
  frame[frame.size() - options.payload + 5] = static_cast<std::byte>(options.payload);  // UDP's
  return frame;
}

TEST(FrameSample, C5_WhatSwitchesChangeDoesNotCount) {
  for (const bool ipv6 : {false, true}) {
    const Bytes frame = numbered(9, ipv6);
    const std::uint32_t hash = sample_hash(frame);
    EXPECT_EQ(sample_hash(numbered(9, ipv6, 0x2007)), hash) << "a VLAN tag";
    Bytes changed = frame;
    changed[ipv6 ? 21 : 22] = std::byte{9};                   // hop limit, TTL
    changed[15] ^= ipv6 ? std::byte{0x30} : std::byte{0x03};  // congestion experienced
    if (!ipv6) changed[24] ^= std::byte{1};                   // checksum
    EXPECT_EQ(sample_hash(changed), hash);
    changed.resize(changed.size() + 10);
    EXPECT_EQ(sample_hash(changed), hash) << "padding";
    EXPECT_NE(sample_hash(numbered(10, ipv6)), hash);
  }
}

TEST(FrameSample, C5_AnArpRequestThatACardHasPaddedIsTheSame) {
  Bytes frame(wire::kEthernetBytes + 28, std::byte{1});
  frame[12] = std::byte{8};
  frame[13] = std::byte{6};
  const std::uint32_t hash = sample_hash(frame);
  frame.resize(60);
  EXPECT_EQ(sample_hash(frame), hash);
  frame[40] = std::byte{2};  // of the address that is asked for
  EXPECT_NE(sample_hash(frame), hash);
}

TEST(FrameSample, C5_EachPartIsChosenAboutAsOften) {
  for (const bool ipv6 : {false, true}) {
    std::array<int, 8> chosen{};
    for (std::uint16_t i = 0; i < 8000; ++i) ++chosen[sample_hash(numbered(i, ipv6)) % 8];
    for (const int count : chosen) EXPECT_NEAR(count, 1000, 150);
  }
}

TEST(FrameSample, ShortFramesAreReadToTheirEndOnly) {
  Bytes frame = numbered(1, false, 0x2007);
  for (; !frame.empty(); frame.pop_back()) {
    sample_hash(frame);
    EXPECT_LE(sampled_part(frame).bytes.size(), frame.size());
  }
  EXPECT_EQ(sampled_part(frame).type, telemetry::InnerType::ethernet);
}

config::SwitchConfig watching(std::uint32_t every, std::size_t ports = 2) {
  auto config = test_config(ports);
  config.telemetry.node_id = kNode;
  config.telemetry.report_to = "127.0.0.1:32766";
  config.telemetry.probe = Duration();
  config::AclRule rule;
  rule.action = config::AclAction::allow;
  rule.protocol = 17;
  rule.watch = every;
  config.acl.rules = {rule};
  return config;
}

std::vector<ReportRecord> records_of(RingSwitch& sw) {
  std::vector<ReportRecord> all;
  for (ReportRecord record; sw.packet_loop().telemetry()->ring().pop(record);)
    all.push_back(record);
  return all;
}

std::uint64_t watched(RingSwitch& sw) {
  return sw.packet_loop().telemetry()->counters().watched.get();
}

TEST(WatchedTraffic, C5_AFrameIsReportedAndLeavesAsItCame) {
  RingSwitch sw(watching(1));
  for (const bool ipv6 : {false, true}) {
    const Bytes frame = numbered(2000, ipv6);
    sw.inject(0, frame);
    sw.turn();
    EXPECT_EQ(sw.sent(1), std::vector<Bytes>{frame});
    const auto records = records_of(sw);
    ASSERT_EQ(records.size(), 1u);
    EXPECT_EQ(records[0].own.node, kNode);
    EXPECT_EQ(records[0].own.ingress_port, 0);
    EXPECT_EQ(records[0].own.egress_port, 1);
    EXPECT_NE(records[0].own.latency_ns, telemetry::kUnknown32);
    telemetry::Report report;
    report.inner_type = records[0].inner_type;
    report.inner = records[0].inner();
    telemetry::ReportedPath path;
    EXPECT_EQ(telemetry::path_of(report, kNode, {}, path), telemetry::Outcome::absent);
    EXPECT_TRUE(path.is_single);
    EXPECT_EQ(path.flow.source_port, 1111);
    EXPECT_EQ(path.flow.destination_port, 2000);
  }
  EXPECT_EQ(watched(sw), 2u);
  EXPECT_EQ(sw.buffers_in_use(), 0u);
}

TEST(WatchedTraffic, C5_TwoSwitchesChooseTheSameFrames) {
  const auto chosen_by = [](RingSwitch& sw) {
    std::vector<std::uint16_t> chosen;
    for (std::uint16_t number = 1; number < 200; ++number) {
      sw.inject(0, numbered(number));
      sw.turn();
      if (!records_of(sw).empty()) chosen.push_back(number);
    }
    return chosen;
  };
  RingSwitch one(watching(16));
  const auto first = chosen_by(one);
  RingSwitch other(watching(16, 3));
  EXPECT_EQ(chosen_by(other), first);
  EXPECT_GT(first.size(), 3u);
  EXPECT_LT(first.size(), 40u);
}

TEST(WatchedTraffic, C5_OtherFramesAreNotAndAReloadEndsIt) {
  auto config = watching(1);
  RingSwitch sw(config);
  sw.inject(0, ipv4_frame({.protocol = 6, .payload = 20}, host(2)));
  sw.turn();
  EXPECT_EQ(sw.sent(1).size(), 1u);
  EXPECT_EQ(watched(sw), 0u);
  config.acl.rules[0].watch = 0;
  sw.reload(config);
  sw.inject(0, numbered(1));
  sw.turn();
  EXPECT_EQ(sw.sent(1).size(), 1u);
  EXPECT_EQ(watched(sw), 0u);
  config.acl.rules[0].watch = 1;
  sw.reload(config);
  sw.inject(0, numbered(1));
  sw.turn();
  EXPECT_EQ(watched(sw), 1u);
}

TEST(WatchedTraffic, C5_AFrameThatLeavesThroughSeveralPortsIsReportedForEach) {
  RingSwitch sw(watching(1, 3));
  const Bytes frame = ipv4_frame({}, kEverybody);
  sw.inject(0, frame);
  sw.turn();
  for (const std::size_t port : {1u, 2u}) EXPECT_EQ(sw.sent(port), std::vector<Bytes>{frame});
  const auto records = records_of(sw);
  ASSERT_EQ(records.size(), 2u);
  EXPECT_NE(records[0].own.egress_port, records[1].own.egress_port);
  EXPECT_EQ(watched(sw), 1u);
  EXPECT_EQ(sw.buffers_in_use(), 0u);
}

TEST(WatchedTraffic, WithoutTelemetryNothingIsWatched) {
  auto config = watching(1);
  config.telemetry = {};
  RingSwitch sw(config);
  sw.inject(0, numbered(1));
  sw.turn();
  EXPECT_EQ(sw.sent(1).size(), 1u);
}

}  // namespace
}  // namespace tributary::dataplane
