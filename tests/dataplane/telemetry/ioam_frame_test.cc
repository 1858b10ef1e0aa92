// IOAM traces of other machines' packets through whole turns of the packet loop (C5): filled
// between ports of the IOAM domain, for each port that a packet leaves by, and nowhere else.
#include "dataplane/telemetry/ioam_frame.h"

#include <gtest/gtest.h>

#include "tests/dataplane/ring_switch.h"
#include "tests/telemetry/wire/ioam_packet.h"

namespace tributary::dataplane {
namespace {

using telemetry::load;
using telemetry::test::kTrace;

constexpr std::uint32_t kNode = 7;
constexpr std::uint16_t kNamespace = 123;
// Node, ports, seconds, fraction and delay: five words.
constexpr std::uint32_t kType = 0xF8000000;
constexpr unsigned kWords = 5;

// Ports 0 to 2 are of the domain, 3 is not.
config::SwitchConfig ioam_config() {
  config::SwitchConfig config = test_config(4);
  config.telemetry.node_id = kNode;
  config.telemetry.report_to = "127.0.0.1:32766";
  config.telemetry.probe = Duration();
  config.telemetry.ioam = {kNamespace, {"p0", "p1", "p2"}};
  return config;
}

// To an address that the switch does not know: it goes to all other ports.
Bytes frame_of(const Bytes& packet, unsigned tags = 0) {
  Bytes frame = telemetry::test::from_hex("020000000009 020000000001");
  for (unsigned tag = 0; tag < tags; ++tag) {
    telemetry::test::append16(frame, tag + 1 < tags ? 0x88A8 : 0x8100);
    telemetry::test::append16(frame, 5 + tag);
  }
  telemetry::test::append16(frame, 0x86DD);
  frame.insert(frame.end(), packet.begin(), packet.end());
  return frame;
}

Bytes packet(unsigned space_nodes = 2) {
  return telemetry::test::packet_of(kType, kWords, kWords * space_nodes);
}

class Ioam : public testing::Test {
 protected:
  // What leaves by each port when this comes in by `port`.
  std::vector<std::vector<Bytes>> pass(std::size_t port, const Bytes& frame,
                                       std::size_t segments = 1) {
    sw.inject(port, frame, segments);
    sw.turn();
    std::vector<std::vector<Bytes>> out;
    for (std::size_t to = 0; to < 4; ++to) out.push_back(sw.sent(to));
    EXPECT_EQ(sw.buffers_in_use(), 0u);
    return out;
  }
  const TelemetryCounters& counters() { return sw.packet_loop().telemetry()->counters(); }

  RingSwitch sw{ioam_config()};
};

// `at`: where the IPv6 header begins.
void expect_hop(const Bytes& frame, std::size_t at, std::uint16_t from, std::uint16_t to) {
  const std::size_t trace = at + kTrace;
  ASSERT_EQ(load<std::uint16_t>(frame, trace + 2), kWords << 11 | kWords) << "one node is left";
  const std::size_t node = trace + 8 + kWords * 4;
  EXPECT_EQ(load<std::uint32_t>(frame, node), 0x3Du << 24 | kNode) << "with the hop limit";
  EXPECT_EQ(load<std::uint32_t>(frame, node + 4), std::uint32_t{from} << 16 | to);
  EXPECT_NE(load<std::uint32_t>(frame, node + 16), telemetry::kUnknown32) << "the delay is known";
}

TEST_F(Ioam, C5_ATraceIsFilledForEachPortOfTheDomainAndStaysAsItIsTowardOthers) {
  for (const unsigned tags : {0u, 1u, 2u}) {
    const Bytes plain = frame_of(packet(), tags);
    const auto left = pass(0, plain);
    const std::size_t ip = 14 + std::size_t{tags} * 4;
    for (const std::uint16_t to : {std::uint16_t{1}, std::uint16_t{2}}) {
      ASSERT_EQ(left[to].size(), 1u);
      Bytes frame = left[to][0];
      expect_hop(frame, ip, 0, to);
      const auto seconds = load<std::uint32_t>(frame, ip + kTrace + 8 + kWords * 4 + 8);
      EXPECT_GT(seconds, 1'577'836'800u) << "since 1970, and not since the start";
      // Nothing else has changed.
      ASSERT_EQ(frame.size(), plain.size());
      std::fill_n(frame.begin() + static_cast<std::ptrdiff_t>(ip + kTrace + 8 + kWords * 4),
                  kWords * 4, std::byte{});
      frame[ip + kTrace + 3] = plain[ip + kTrace + 3];
      EXPECT_EQ(frame, plain);
    }
    EXPECT_EQ(left[3], std::vector<Bytes>{plain});
  }
  EXPECT_EQ(counters().traces.get(), 6u);
  EXPECT_EQ(counters().traces_full.get() + counters().traces_malformed.get(), 0u);
  EXPECT_TRUE(sw.packet_loop().telemetry()->ring().empty()) << "none of it is reported";
}

TEST_F(Ioam, C5_APacketFromOutsideTheDomainIsNotTouched) {
  const Bytes plain = frame_of(packet());
  const auto left = pass(3, plain);
  for (const std::size_t to : {0u, 1u, 2u}) EXPECT_EQ(left[to], std::vector<Bytes>{plain});
  EXPECT_EQ(counters().traces.get(), 0u);
}

TEST_F(Ioam, C5_AFrameInSeveralBuffersIsFilled) {
  const auto left = pass(1, frame_of(packet()), 3);
  ASSERT_EQ(left[0].size(), 1u);
  expect_hop(left[0][0], 14, 1, 0);
}

TEST_F(Ioam, WithoutSpaceOnlyTheOverflowFlagIsSet) {
  const Bytes plain = frame_of(packet(0));
  const auto left = pass(0, plain);
  ASSERT_EQ(left[1].size(), 1u);
  Bytes frame = left[1][0];
  EXPECT_EQ(load<std::uint16_t>(frame, 14 + kTrace + 2), kWords << 11 | 0x400);
  frame[14 + kTrace + 2] = plain[14 + kTrace + 2];
  EXPECT_EQ(frame, plain);
  EXPECT_EQ(counters().traces_full.get(), 2u);
  EXPECT_EQ(counters().traces.get(), 0u);
}

TEST_F(Ioam, WhatIsNoTraceOfTheNamespaceStaysAsItIs) {
  Bytes foreign = packet();
  foreign[kTrace + 1] = std::byte{9};
  Bytes malformed = packet();
  malformed[kTrace + 3] = std::byte{99};  // more left than the option has
  Bytes short_header = packet();
  short_header[41] = std::byte{250};
  Bytes other = packet();
  other[6] = std::byte{17};
  Bytes cut = packet();
  cut.resize(41);
  for (const Bytes& one : {foreign, malformed, short_header, other, cut}) {
    const Bytes plain = frame_of(one);
    const auto left = pass(0, plain);
    for (const std::size_t to : {1u, 2u, 3u}) EXPECT_EQ(left[to], std::vector<Bytes>{plain});
  }
  EXPECT_EQ(counters().traces_malformed.get(), 2u) << "as they came in";
  EXPECT_EQ(counters().traces.get() + counters().traces_full.get(), 0u);
}

TEST_F(Ioam, C5_AWatchedPacketIsFilledAndReported) {
  config::SwitchConfig config = ioam_config();
  config.acl.rules.emplace_back();
  config.acl.rules[0].name = "all";
  config.acl.rules[0].action = config::AclAction::allow;
  config.acl.rules[0].watch = 1;
  sw.reload(config);
  const auto left = pass(0, frame_of(packet()));
  ASSERT_EQ(left[1].size(), 1u);
  expect_hop(left[1][0], 14, 0, 1);
  std::size_t reports = 0;
  for (ReportRecord record; sw.packet_loop().telemetry()->ring().pop(record);) {
    EXPECT_EQ(record.inner_type, telemetry::InnerType::ipv6);
    ++reports;
  }
  EXPECT_EQ(reports, 3u) << "one for each port";
}

TEST_F(Ioam, AReloadChangesNamespaceAndPorts) {
  config::SwitchConfig config = ioam_config();
  config.telemetry.ioam.ports = {"p0", "p1"};
  sw.reload(config);
  const Bytes plain = frame_of(packet());
  auto left = pass(0, plain);
  expect_hop(left[1].at(0), 14, 0, 1);
  EXPECT_EQ(left[2], std::vector<Bytes>{plain});
  config.telemetry.ioam.name_space = 5;
  sw.reload(config);
  left = pass(0, plain);
  EXPECT_EQ(left[1], std::vector<Bytes>{plain});
}

}  // namespace
}  // namespace tributary::dataplane
