#include "dataplane/frame/local_host.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "core/net/arp.h"
#include "core/net/checksum.h"
#include "tests/dataplane/icmp_frame.h"

namespace tributary::dataplane {
namespace {

const Identity kSwitch{{2, 0x74, 10, 77, 0, 254}, 0x0A4D00FE, 47000, 1};
const wire::MacAddress kHost = {2, 9, 9, 9, 9, 9};
constexpr std::uint32_t kHostIp = 0x0A4D0001;

std::vector<std::byte> bytes(std::initializer_list<int> values) {
  std::vector<std::byte> out;
  for (const int v : values) out.push_back(static_cast<std::byte>(v));
  return out;
}
wire::EthernetView view_of(std::span<const std::byte> frame) {
  return std::get<wire::EthernetView>(wire::parse_ethernet(frame));
}
std::vector<std::byte> arp_request(std::uint32_t wanted, bool tagged) {
  std::array<std::byte, wire::kArpFrameBytes> plain;
  wire::write_arp_request(kHost, kHostIp, wanted, plain);
  std::vector<std::byte> frame(plain.begin(), plain.end());
  if (tagged) {
    const auto tag = bytes({0x81, 0x00, 0x00, 0x07});
    frame.insert(frame.begin() + 12, tag.begin(), tag.end());
  }
  frame.resize(std::max<std::size_t>(frame.size(), 60));
  return frame;
}

TEST(LocalHost, AnswersArpForItsAddressOnly) {
  EXPECT_TRUE(is_arp_request_for(kSwitch, view_of(arp_request(kSwitch.ipv4, false))));
  EXPECT_FALSE(is_arp_request_for(kSwitch, view_of(arp_request(kHostIp, false))));
}

TEST(LocalHost, ArpReplyKeepsTheVlanTag) {
  for (const bool tagged : {false, true}) {
    auto frame = arp_request(kSwitch.ipv4, tagged);
    answer_arp(kSwitch, frame, view_of(frame));
    const auto view = view_of(frame);
    EXPECT_EQ(view.destination, kHost);
    EXPECT_EQ(view.source, kSwitch.mac);
    EXPECT_EQ(view.vlan_tci.has_value(), tagged);
    const auto arp = wire::parse_arp(view.payload);
    ASSERT_TRUE(arp);
    EXPECT_FALSE(arp->is_request);
    EXPECT_EQ(arp->sender_mac, kSwitch.mac);
    EXPECT_EQ(arp->sender_ip, kSwitch.ipv4);
    EXPECT_EQ(arp->target_mac, kHost);
    EXPECT_EQ(arp->target_ip, kHostIp);
  }
}

std::vector<std::byte> echo_request(int type = 8) {
  auto frame = bytes({0x02, 0x74, 10, 77, 0, 254, 2, 9, 9, 9, 9, 9, 0x08, 0x00});
  auto ip = bytes({0x45, 0, 0, 36, 0, 1, 0, 0, 64, 1, 0, 0, 10, 77, 0, 1, 10, 77, 0, 254});
  auto icmp = bytes({type, 0, 0, 0, 0, 5, 0, 6, 'p', 'a', 'y', 'l', 'o', 'a', 'd', '!'});
  const auto seal = [](std::vector<std::byte>& b, std::size_t at) {
    const auto sum = static_cast<std::uint16_t>(~wire::ones_complement_sum(b));
    std::memcpy(b.data() + at, &sum, sizeof sum);
  };
  seal(ip, 10);
  seal(icmp, 2);
  frame.insert(frame.end(), ip.begin(), ip.end());
  frame.insert(frame.end(), icmp.begin(), icmp.end());
  return frame;
}

TEST(LocalHost, AnswersEcho) {
  auto frame = echo_request();
  ASSERT_TRUE(is_echo_request_for(kSwitch, view_of(frame)));
  answer_echo(frame, view_of(frame));
  const auto view = view_of(frame);
  EXPECT_EQ(view.destination, kHost);
  EXPECT_EQ(view.source, kSwitch.mac);
  EXPECT_EQ(wire::ones_complement_sum(view.payload.first(20)), 0xFFFF);
  EXPECT_EQ(wire::ones_complement_sum(view.payload.subspan(20, 16)), 0xFFFF);
  EXPECT_EQ(view.payload[20], std::byte{0});
  EXPECT_EQ(view.payload[15], std::byte{254});  // source 10.77.0.254
  EXPECT_EQ(view.payload[19], std::byte{1});    // destination 10.77.0.1
}

// Id, seq and data all zero: the reply's checksum must be all ones, or it is as good as lost.
TEST(LocalHost, AnswersEchoOfNothing) {
  auto frame = echo_request();
  const std::size_t icmp = frame.size() - 16;
  std::fill(frame.begin() + static_cast<std::ptrdiff_t>(icmp), frame.end(), std::byte{});
  frame[icmp] = std::byte{8};
  frame[icmp + 2] = std::byte{0xF7};
  frame[icmp + 3] = std::byte{0xFF};
  ASSERT_TRUE(is_echo_request_for(kSwitch, view_of(frame)));
  answer_echo(frame, view_of(frame));
  EXPECT_EQ(wire::ones_complement_sum(view_of(frame).payload.subspan(20, 16)), 0xFFFF);
}

TEST(LocalHost, IgnoresBrokenEcho) {
  auto damaged = echo_request();
  damaged.back() ^= std::byte{1};
  EXPECT_FALSE(is_echo_request_for(kSwitch, view_of(damaged)));
  EXPECT_FALSE(is_echo_request_for(kSwitch, view_of(echo_request(0))));
  auto truncated = echo_request();
  truncated.resize(truncated.size() - 4);
  EXPECT_FALSE(is_echo_request_for(kSwitch, view_of(truncated)));
}

IcmpMessage to_parse() {
  IcmpMessage m;
  m.reporter = 0x0A4D0001;
  m.receiver = 0x0A4D00FE;
  m.sent = {0x0A4D00FE, 0x0A4D0001, 47000, 5000};
  for (int i = 0; i < 100; ++i) m.payload.push_back(static_cast<std::byte>(i));
  return m;
}

TEST(PortUnreachable, SaysWhichDatagramCameBack) {
  const IcmpMessage m = to_parse();
  const auto packet = icmp_packet(m);
  const auto read = parse_port_unreachable(packet);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->reporter, m.reporter);
  EXPECT_EQ(read->receiver, m.receiver);
  EXPECT_EQ(read->endpoints, m.sent);
  EXPECT_EQ(std::vector(read->payload.begin(), read->payload.end()), m.payload);
}

TEST(PortUnreachable, AQuotationMayBeCutShort) {
  IcmpMessage m = to_parse();
  m.quoted = wire::kUdpBytes + 10;
  const auto packet = icmp_packet(m);
  ASSERT_TRUE(parse_port_unreachable(packet));
  EXPECT_EQ(parse_port_unreachable(packet)->payload.size(), 10u);
  m.quoted = wire::kUdpBytes - 1;
  EXPECT_FALSE(parse_port_unreachable(icmp_packet(m)));
}

TEST(PortUnreachable, BytesBehindTheDatagramAreNotOfIt) {
  auto packet = icmp_packet(to_parse());
  packet.resize(packet.size() + 20);  // Ethernet's padding
  ASSERT_TRUE(parse_port_unreachable(packet));
  EXPECT_EQ(parse_port_unreachable(packet)->payload.size(), 100u);
}

TEST(PortUnreachable, OtherMessagesAreNone) {
  IcmpMessage m = to_parse();
  m.code = 1;  // host unreachable: a router's, and it may pass
  EXPECT_FALSE(parse_port_unreachable(icmp_packet(m)));
  m.code = 3;
  m.type = 11;
  EXPECT_FALSE(parse_port_unreachable(icmp_packet(m)));
}

TEST(PortUnreachable, DamagedOrCutMessagesAreNone) {
  const auto packet = icmp_packet(to_parse());
  for (std::size_t bytes = 0; bytes < packet.size(); ++bytes)
    EXPECT_FALSE(parse_port_unreachable(std::span(packet).first(bytes))) << bytes;
  for (std::size_t at = wire::kIpv4Bytes; at < packet.size(); ++at) {
    auto damaged = packet;
    damaged[at] ^= std::byte{0x10};
    EXPECT_FALSE(parse_port_unreachable(damaged)) << at;
  }
  auto fragment = packet;
  fragment[6] = std::byte{0x20};
  EXPECT_FALSE(parse_port_unreachable(fragment));
  auto with_options = packet;
  with_options[0] = std::byte{0x46};
  EXPECT_FALSE(parse_port_unreachable(with_options));
}

}  // namespace
}  // namespace tributary::dataplane
