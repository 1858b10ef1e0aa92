#include "core/net/lldp.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace tributary::wire {
namespace {

constexpr MacAddress kSwitch = {0x02, 0x74, 10, 77, 0, 254};
using Bytes = std::vector<std::byte>;

Bytes bytes(std::initializer_list<int> values) {
  Bytes out;
  for (const int value : values) out.push_back(static_cast<std::byte>(value));
  return out;
}
Bytes operator+(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
Bytes tlv(int type, const Bytes& value) {
  const auto length = static_cast<int>(value.size());
  return bytes({type << 1 | length >> 8, length & 0xFF}) + value;
}
Bytes text(const std::string& s) {
  const auto view = std::as_bytes(std::span(s));
  return {view.begin(), view.end()};
}

const Bytes kChassis = tlv(1, bytes({4, 2, 9, 8, 7, 6, 5}));
const Bytes kPort = tlv(2, bytes({5}) + text("eth0"));
const Bytes kLife = tlv(3, bytes({0, 120}));
const Bytes kEnd = tlv(0, {});

LldpMessage everything() {
  LldpMessage m;
  m.chassis = {kLldpChassisMac, {2, 0x74, 10, 77, 0, '\xFE'}};
  m.port = {kLldpPortInterface, "w0"};
  m.ttl_seconds = 121;
  m.port_description = "net_memif";
  m.system_name = "leaf1";
  m.system_description = "Tributary";
  m.management_ipv4 = 0x0A4D00FE;
  return m;
}

Bytes written(const LldpMessage& message) {
  Bytes frame(kMaxLldpFrameBytes);
  frame.resize(write_lldp(kSwitch, message, frame));
  return frame;
}
std::span<const std::byte> body_of(const Bytes& frame) {
  return std::span(frame).subspan(kEthernetBytes);
}

// Field positions of IEEE 802.1AB-2016, clause 8, written out independently of the code.
TEST(Lldp, HasTheStandardLayout) {
  LldpMessage m = everything();
  m.port_description = m.system_description = "";
  const Bytes expected =
      bytes({0x01, 0x80, 0xC2, 0, 0, 0x0E, 2, 0x74, 10, 77, 0, 0xFE, 0x88, 0xCC}) +
      bytes({0x02, 7, 4, 2, 0x74, 10, 77, 0, 0xFE}) + bytes({0x04, 3, 5, 'w', '0'}) +
      bytes({0x06, 2, 0, 121}) + bytes({0x0A, 5, 'l', 'e', 'a', 'f', '1'}) +
      bytes({0x0E, 4, 0, 4, 0, 4}) + bytes({0x10, 12, 5, 1, 10, 77, 0, 0xFE, 1, 0, 0, 0, 0, 0}) +
      bytes({0, 0});
  EXPECT_EQ(written(m), expected);
}

TEST(Lldp, WhatIsWrittenIsReadBack) {
  const LldpMessage m = everything();
  const auto read = parse_lldp(body_of(written(m)));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->chassis, m.chassis);
  EXPECT_EQ(read->port, m.port);
  EXPECT_EQ(read->ttl_seconds, 121);
  EXPECT_EQ(read->port_description, m.port_description);
  EXPECT_EQ(read->system_name, m.system_name);
  EXPECT_EQ(read->system_description, m.system_description);
  EXPECT_EQ(read->management_ipv4, m.management_ipv4);
}

TEST(Lldp, WhoGoesSaysOnlyWhoItIs) {
  LldpMessage m = everything();
  m.ttl_seconds = 0;
  const Bytes frame = written(m);
  EXPECT_EQ(frame.size(), 60u) << "the least that Ethernet carries";
  const auto read = parse_lldp(body_of(frame));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->ttl_seconds, 0);
  EXPECT_EQ(read->system_name, "");
}

TEST(Lldp, TextsAreCutAndSmallFramesRefused) {
  LldpMessage m = everything();
  m.system_name = std::string(300, 'n');
  const Bytes frame = written(m);
  EXPECT_EQ(parse_lldp(body_of(frame))->system_name, std::string(255, 'n'));
  for (std::size_t size = 0; size < frame.size(); ++size) {
    Bytes small(size);
    EXPECT_EQ(write_lldp(kSwitch, m, small), 0u) << size;
  }
}

TEST(Lldp, TakesWhatOthersSend) {
  const Bytes foreign = tlv(127, bytes({0, 0x12, 0x0F, 1, 2, 3}));  // an organisation's own
  const Bytes ipv6 = tlv(8, bytes({17, 2}) + Bytes(16) + bytes({2, 0, 0, 0, 1, 0}));
  const Bytes ipv4 = tlv(8, bytes({5, 1, 10, 0, 0, 9, 2, 0, 0, 0, 1, 0}));
  const auto read =
      parse_lldp(kChassis + kPort + kLife + foreign + ipv6 + ipv4 + kEnd + bytes({9, 9, 9}));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->management_ipv4, 0x0A000009u);
  EXPECT_TRUE(parse_lldp(kChassis + kPort + kLife)) << "the end may be left out";
}

TEST(Lldp, RefusesWhatBreaksTheRules) {
  const Bytes head = kChassis + kPort + kLife;
  const std::vector<Bytes> wrong = {
      {},
      kChassis,
      kChassis + kPort + kEnd,
      kPort + kChassis + kLife + kEnd,                      // another order
      kChassis + kLife + kPort + kEnd,                      //
      tlv(1, bytes({4})) + kPort + kLife + kEnd,            // no name
      tlv(1, Bytes(257)) + kPort + kLife + kEnd,            // too long a name
      kChassis + tlv(2, bytes({5})) + kLife + kEnd,         //
      kChassis + kPort + tlv(3, bytes({1})) + kEnd,         // half a number
      head + kChassis + kEnd,                               // twice
      head + kLife + kEnd,                                  //
      head + tlv(5, text("a")) + tlv(5, text("b")) + kEnd,  //
      head + tlv(5, Bytes(256)) + kEnd,                     //
      head + tlv(8, bytes({5, 1, 10, 0, 0, 9})) + kEnd,     // an address that is cut short
      head + tlv(8, bytes({40, 1}) + Bytes(50)) + kEnd,     // longer than any
      head + tlv(0, bytes({1})),                            // an end that says something
  };
  for (std::size_t i = 0; i < wrong.size(); ++i) EXPECT_FALSE(parse_lldp(wrong[i])) << i;
}

TEST(Lldp, CutShortAnywhereIsRefusedOrEndsThere) {
  const Bytes whole = kChassis + kPort + kLife + tlv(5, text("leaf1")) + kEnd;
  const std::array ends = {kChassis.size() + kPort.size() + kLife.size(), whole.size() - 2};
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_EQ(parse_lldp(std::span(whole).first(size)).has_value(),
              size == ends[0] || size == ends[1])
        << size;
}

TEST(Lldp, BridgesOwnGroups) {
  EXPECT_TRUE(is_bridge_reserved(kLldpGroup));
  EXPECT_TRUE(is_bridge_reserved({0x01, 0x80, 0xC2, 0, 0, 0}));
  EXPECT_TRUE(is_bridge_reserved({0x01, 0x80, 0xC2, 0, 0, 0x0F}));
  EXPECT_FALSE(is_bridge_reserved({0x01, 0x80, 0xC2, 0, 0, 0x10}));
  EXPECT_FALSE(is_bridge_reserved({0x01, 0x80, 0xC2, 0, 1, 0}));
}

TEST(Lldp, NamesArePrintable) {
  EXPECT_EQ(lldp_chassis_text({kLldpChassisMac, {2, 9, 8, 7, 6, 5}}), "02:09:08:07:06:05");
  EXPECT_EQ(lldp_chassis_text({kLldpChassisMac, "short"}), "short");
  EXPECT_EQ(lldp_chassis_text({kLldpChassisAddress, {1, 10, 77, 0, '\xFE'}}), "10.77.0.254");
  EXPECT_EQ(lldp_chassis_text({7, "host\n\x1B[2J\\\xFF"}), "host\\x0a\\x1b[2J\\\\\\xff");
  EXPECT_EQ(lldp_port_text({kLldpPortMac, {2, 9, 8, 7, 6, 5}}), "02:09:08:07:06:05");
  EXPECT_EQ(lldp_port_text({kLldpPortInterface, "eth0"}), "eth0");
}

}  // namespace
}  // namespace tributary::wire
