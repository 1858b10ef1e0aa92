#include "dataplane/frame/classify.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "core/net/arp.h"
#include "core/net/pdelay.h"
#include "tests/dataplane/icmp_frame.h"

namespace tributary::dataplane {
namespace {

const Identity kSwitch{{2, 0x74, 10, 77, 0, 254}, 0x0A4D00FE, 47000, 4};
const wire::MacAddress kBroadcast = {255, 255, 255, 255, 255, 255};
const wire::MacAddress kOther = {2, 1, 1, 1, 1, 1};

std::vector<std::byte> udp(const wire::MacAddress& to, std::uint32_t ip, std::uint16_t port) {
  std::vector<std::byte> frame(100);
  const wire::FrameTemplate t{to, {2, 9, 9, 9, 9, 9}, std::nullopt, {1, ip, 6000, port}};
  frame.resize(wire::write_frame_headers(t, frame, 20));
  return frame;
}
Action action(std::span<const std::byte> frame, bool linear = true) {
  return classify(kSwitch, frame, linear).action;
}

TEST(Classify, AggregationPortsOfTheSwitchsAddress) {
  EXPECT_EQ(action(udp(kSwitch.mac, kSwitch.ipv4, 47000)), Action::aggregate);
  EXPECT_EQ(action(udp(kSwitch.mac, kSwitch.ipv4, 47003)), Action::aggregate);
  EXPECT_EQ(action(udp(kBroadcast, kSwitch.ipv4, 47000)), Action::aggregate);
}

// Ranks believe what has the switch's address: no other host may send from it, to any destination.
TEST(Classify, FramesFromTheSwitchsOwnAddressAreDropped) {
  const auto from = [](std::uint32_t ip, const wire::MacAddress& to) {
    std::vector<std::byte> frame(100);
    const wire::FrameTemplate t{to, {2, 9, 9, 9, 9, 9}, std::nullopt, {ip, 5, 47000, 47000}};
    frame.resize(wire::write_frame_headers(t, frame, 20));
    return frame;
  };
  const auto group = wire::multicast_mac(0xEF010001);
  for (const wire::MacAddress& to : {kOther, kBroadcast, group, kSwitch.mac}) {
    EXPECT_EQ(classify(kSwitch, from(kSwitch.ipv4, to), true).reason, DropReason::own_address);
    EXPECT_NE(classify(kSwitch, from(kSwitch.ipv4 + 1, to), true).reason, DropReason::own_address);
  }
  std::vector<std::byte> tagged = from(kSwitch.ipv4, kOther);
  const std::array<std::byte, 4> tag = {std::byte{0x81}, {}, {}, std::byte{7}};
  tagged.insert(tagged.begin() + 12, tag.begin(), tag.end());
  EXPECT_EQ(classify(kSwitch, tagged, true).reason, DropReason::own_address);
  const std::vector<std::byte> cut = from(kSwitch.ipv4, kOther);
  EXPECT_EQ(action(std::span(cut).first(29)), Action::forward) << "no whole address";
}

// `frame` behind tags: each an EtherType and what follows it.
std::vector<std::byte> behind(std::vector<std::byte> frame,
                              const std::vector<std::array<std::uint16_t, 2>>& tags) {
  std::vector<std::byte> bytes;
  for (const auto& tag : tags)
    for (const std::uint16_t word : tag)
      for (const int shift : {8, 0}) bytes.push_back(static_cast<std::byte>(word >> shift));
  frame.insert(frame.begin() + 12, bytes.begin(), bytes.end());
  return frame;
}

// Hosts take tags of VLAN 0 off, and then believe what is behind them.
TEST(Classify, TagsOfVlan0DoNotHideTheSwitchsAddress) {
  std::vector<std::byte> result(100);
  const wire::FrameTemplate t{
      kOther, {2, 9, 9, 9, 9, 9}, std::nullopt, {kSwitch.ipv4, 5, 47000, 47000}};
  result.resize(wire::write_frame_headers(t, result, 20));
  std::vector<std::byte> claim(wire::kArpFrameBytes);
  ASSERT_NE(wire::write_arp_request({2, 9, 9, 9, 9, 9}, kSwitch.ipv4, kSwitch.ipv4, claim), 0u);
  constexpr std::uint16_t kPriority5 = 0xA000;
  const auto reason = [](const std::vector<std::byte>& frame) {
    return classify(kSwitch, frame, true).reason;
  };
  constexpr std::array<std::uint16_t, 3> kTags = {0x8100, 0x88A8, 0x9100};
  for (const std::vector<std::byte>& frame : {result, claim})
    for (const std::uint16_t a : kTags)
      for (const std::uint16_t b : kTags) {
        EXPECT_EQ(reason(behind(frame, {{a, 0}})), DropReason::own_address);
        EXPECT_EQ(reason(behind(frame, {{a, 0}, {b, kPriority5}})), DropReason::own_address);
        EXPECT_EQ(reason(behind(frame, {{a, 0}, {b, 0}, {a, 0}})), DropReason::own_address);
        EXPECT_EQ(reason(behind(frame, {{0x8100, 7}, {a, 0}, {b, 0}})), DropReason::own_address);
        EXPECT_EQ(reason(behind(frame, {{a, 0}, {b, 7}})), DropReason::none) << "another network";
      }
}

TEST(Classify, AsManyTagsOfVlan0AsNobodySendsAreDropped) {
  std::vector<std::array<std::uint16_t, 2>> tags(kMostVlan0Tags + 1, {0x8100, 0});
  const auto plain = udp(kOther, kSwitch.ipv4 + 1, 5);
  EXPECT_EQ(action(behind(plain, tags)), Action::forward);
  tags.push_back({0x8100, 0});
  EXPECT_EQ(classify(kSwitch, behind(plain, tags), true).reason, DropReason::vlan_stacked);
  const auto cut = behind(plain, tags);
  EXPECT_EQ(action(std::span(cut).first(20)), Action::forward) << "no whole tag";
}

TEST(Classify, ArpThatClaimsTheSwitchsAddressIsDropped) {
  std::array<std::byte, wire::kArpFrameBytes> frame{};
  ASSERT_NE(wire::write_arp_request({2, 9, 9, 9, 9, 9}, kSwitch.ipv4, kSwitch.ipv4, frame), 0u);
  EXPECT_EQ(classify(kSwitch, frame, true).reason, DropReason::own_address);
  ASSERT_NE(wire::write_arp_request({2, 9, 9, 9, 9, 9}, 0, kSwitch.ipv4, frame), 0u);
  EXPECT_EQ(action(frame), Action::answer_arp) << "a probe (RFC 5227): the answer defends";
}

TEST(Classify, OtherTrafficToTheSwitchIsDropped) {
  for (const auto& frame : {udp(kSwitch.mac, kSwitch.ipv4, 47004),
                            udp(kSwitch.mac, kSwitch.ipv4, 46999), udp(kSwitch.mac, 5, 47000)}) {
    const auto c = classify(kSwitch, frame, true);
    EXPECT_EQ(c.action, Action::drop);
    EXPECT_EQ(c.reason, DropReason::unhandled);
  }
}

TEST(Classify, OthersTrafficIsForwardedUnread) {
  EXPECT_EQ(action(udp(kOther, kSwitch.ipv4, 47000)), Action::forward);
  EXPECT_EQ(action(udp(kBroadcast, 5, 47000)), Action::forward);
  auto damaged = udp(kBroadcast, kSwitch.ipv4, 47000);
  damaged[24] ^= std::byte{1};  // IP checksum: not ours to judge
  EXPECT_EQ(action(damaged), Action::forward);
}

TEST(Classify, NothingOfTheFrameBeforeIsLeft) {
  std::vector<std::byte> tagged = udp(kOther, 5, 5);
  const std::array<std::byte, 4> tag = {std::byte{0x81}, {}, {}, std::byte{7}};
  tagged.insert(tagged.begin() + 12, tag.begin(), tag.end());
  Classified c = classify(kSwitch, std::span(tagged).first(5), true);
  EXPECT_EQ(c.reason, DropReason::frame_truncated);
  classify(kSwitch, tagged, true, c);
  EXPECT_EQ(c.reason, DropReason::none);
  EXPECT_EQ(c.ethernet.vlan_tci, 7);
  classify(kSwitch, udp(kOther, 5, 5), true, c);
  EXPECT_EQ(c.action, Action::forward);
  EXPECT_EQ(c.ethernet.vlan_tci, std::nullopt);
  EXPECT_EQ(c.ethernet.ether_type, wire::kEtherTypeIpv4);

  std::vector<std::byte> damaged = udp(kSwitch.mac, kSwitch.ipv4, 47000);
  classify(kSwitch, damaged, true, c);
  EXPECT_EQ(c.action, Action::aggregate);
  damaged[24] ^= std::byte{1};  // IP checksum
  classify(kSwitch, damaged, true, c);
  EXPECT_EQ(c.action, Action::drop);
  EXPECT_EQ(c.reason, DropReason::frame_bad_ip);
}

TEST(Classify, SegmentsAreReadOnlyForOthers) {
  const auto c = classify(kSwitch, udp(kSwitch.mac, kSwitch.ipv4, 47000), false);
  EXPECT_EQ(c.reason, DropReason::frame_multi_segment);
  EXPECT_EQ(action(udp(kOther, 5, 5), false), Action::forward);
  EXPECT_EQ(action(udp(kBroadcast, kSwitch.ipv4, 47000), false), Action::forward);
}

// In a tree the switch above sends results to the group; they are for this switch, and its children
// get them from it.
TEST(Classify, O12_ResultsOfTheSwitchAboveAreTakenIn) {
  constexpr std::uint32_t kGroup = 0xEFC30001;
  constexpr std::uint32_t kParent = 1;  // what udp() has as source
  Identity child = kSwitch;
  child.parents = {{kGroup, kParent}};
  const auto group_frame = [](std::uint32_t group, std::uint16_t port) {
    return udp(wire::multicast_mac(group), group, port);
  };
  const auto action_at = [&](const Identity& who, std::span<const std::byte> frame) {
    return classify(who, frame, true).action;
  };
  EXPECT_EQ(action_at(child, group_frame(kGroup, 47003)), Action::aggregate);
  EXPECT_EQ(action_at(child, group_frame(kGroup, 47004)), Action::forward) << "no shard's port";
  EXPECT_EQ(action_at(child, group_frame(kGroup + 1, 47000)), Action::forward) << "another job's";
  EXPECT_EQ(action_at(kSwitch, group_frame(kGroup, 47000)), Action::forward) << "no tree";
  child.parents[0].parent_ipv4 = 2;
  EXPECT_EQ(action_at(child, group_frame(kGroup, 47000)), Action::forward) << "not the parent";
}

// T10: what roots send to completion engines that the switch hosts.
TEST(Classify, T10_TheHostingPortIsTheHostedEngines) {
  Identity host = kSwitch;
  host.udp_hosting = 47016;
  const auto action_at = [&](const Identity& who, const wire::MacAddress& to, std::uint16_t port) {
    return classify(who, udp(to, kSwitch.ipv4, port), true).action;
  };
  EXPECT_EQ(action_at(host, kSwitch.mac, 47016), Action::host);
  EXPECT_EQ(action_at(host, kSwitch.mac, 47003), Action::aggregate);
  EXPECT_EQ(action_at(host, kSwitch.mac, 47017), Action::drop);
  EXPECT_EQ(action_at(host, kBroadcast, 47016), Action::forward) << "roots know the address";
  EXPECT_EQ(action_at(kSwitch, kSwitch.mac, 47016), Action::drop) << "nothing is hosted";
  EXPECT_EQ(classify(host, udp(kSwitch.mac, 5, 47016), true).action, Action::drop);
}

// Neighbours' own protocols, each by its rule.
TEST(Classify, ReservedGroupsHaveRules) {
  using config::ReservedRule;
  const auto to = [](std::uint8_t last, std::uint16_t type) {
    std::vector<std::byte> frame(60);
    const auto header = std::to_array<std::uint8_t>({1, 0x80, 0xC2, 0, 0, last, 2, 9, 9, 9, 9, 9,
                                                     static_cast<std::uint8_t>(type >> 8),
                                                     static_cast<std::uint8_t>(type & 0xFF)});
    std::transform(header.begin(), header.end(), frame.begin(),
                   [](std::uint8_t byte) { return std::byte{byte}; });
    return frame;
  };
  Identity identity = kSwitch;
  const auto action_of = [&](std::uint8_t last, std::uint16_t type) {
    return classify(identity, to(last, type), true).action;
  };
  EXPECT_EQ(action_of(0x00, 39), Action::forward) << "BPDUs have a length there";
  EXPECT_EQ(action_of(0x02, 0x8809), Action::drop);
  identity.reserved = {ReservedRule::drop, ReservedRule::forward, ReservedRule::forward,
                       ReservedRule::forward};
  EXPECT_EQ(action_of(0x00, 39), Action::drop);
  EXPECT_EQ(action_of(0x02, 0x8809), Action::forward);
  EXPECT_EQ(action_of(0x03, 0x888E), Action::forward);
  EXPECT_EQ(action_of(0x0E, 0x88F7), Action::forward);
  EXPECT_EQ(action_of(0x0E, 0x88CC), Action::lldp);
  EXPECT_EQ(action_of(0x01, 0x8808), Action::drop) << "pause frames end at each link";
  identity.reserved.bpdu = ReservedRule::guard;
  EXPECT_EQ(classify(identity, to(0x00, 39), true).reason, DropReason::bpdu_guard);
}

TEST(Classify, C5_ProbesOfLinksAreTakenBeforeTheRuleOfTheirKind) {
  std::array<std::byte, wire::kPdelayFrameBytes> frame{};
  wire::PdelayMessage message;
  message.from = {{2, 9, 9, 9, 9, 9}, 0};
  wire::write_pdelay(message, frame);
  Identity identity = kSwitch;
  identity.reserved.pdelay = config::ReservedRule::forward;
  EXPECT_EQ(classify(identity, frame, true).action, Action::forward) << "no telemetry";
  identity.probes_links = true;
  EXPECT_EQ(classify(identity, frame, true).action, Action::probe);
  EXPECT_EQ(classify(identity, frame, false).action, Action::forward);
  frame[wire::kEthernetBytes + 4] = std::byte{0};
  EXPECT_EQ(classify(identity, frame, true).action, Action::forward) << "clocks' own";
}

TEST(Classify, RuntsAreDropped) {
  const std::array<std::byte, 13> runt{};
  EXPECT_EQ(classify(kSwitch, runt, true).reason, DropReason::frame_truncated);
}

constexpr wire::MacAddress kSender = {2, 9, 9, 9, 9, 9};
constexpr std::uint32_t kHost = 0x0A4D0001;

IcmpMessage returned() {
  IcmpMessage m;
  m.reporter = kHost;
  m.receiver = kSwitch.ipv4;
  m.sent = {kSwitch.ipv4, kHost, 47003, 5000};
  m.payload = {std::byte{1}, std::byte{2}};
  return m;
}

std::vector<std::byte> returned_frame(const IcmpMessage& m,
                                      const wire::MacAddress& to = kSwitch.mac) {
  std::vector<std::byte> frame;
  for (const auto& address : {to, kSender})
    for (const auto byte : address) frame.push_back(std::byte{byte});
  append_be(frame, wire::kEtherTypeIpv4, 2);
  const auto packet = icmp_packet(m);
  frame.insert(frame.end(), packet.begin(), packet.end());
  return frame;
}

Action action_of_returned(const IcmpMessage& m) {
  return classify(kSwitch, returned_frame(m), true).action;
}

TEST(ClassifyReturned, IsAsIfTheDatagramCameFromItsReceiver) {
  const auto frame = returned_frame(returned());
  const Classified c = classify(kSwitch, frame, true);
  EXPECT_EQ(c.action, Action::returned);
  EXPECT_EQ(c.reason, DropReason::none);
  EXPECT_EQ(c.udp.endpoints, (wire::UdpEndpoints{kHost, kSwitch.ipv4, 5000, 47003}));
  ASSERT_EQ(c.udp.payload.size(), 2u);
  EXPECT_EQ(c.udp.payload[1], std::byte{2});
}

TEST(ClassifyReturned, OnlyTheReceiverCanSendItBack) {
  auto m = returned();
  m.reporter = kHost + 1;
  EXPECT_EQ(action_of_returned(m), Action::drop);
  m = returned();
  m.sent.destination_ip = kHost + 1;
  EXPECT_EQ(action_of_returned(m), Action::drop);
  EXPECT_EQ(classify(kSwitch, returned_frame(m), true).reason, DropReason::unhandled);
}

TEST(ClassifyReturned, OnlyWhatTheSwitchSentFromItsPorts) {
  auto m = returned();
  m.sent.source_ip = kHost + 2;
  EXPECT_EQ(action_of_returned(m), Action::drop);
  for (const std::uint16_t port : std::to_array<std::uint16_t>({46999, 47004, 53})) {
    m = returned();
    m.sent.source_port = port;
    EXPECT_EQ(action_of_returned(m), Action::drop) << port;
  }
}

TEST(ClassifyReturned, OthersMessagesPass) {
  auto m = returned();
  m.receiver = kHost + 3;
  EXPECT_EQ(classify(kSwitch, returned_frame(m, kSender), true).action, Action::forward);
  EXPECT_EQ(action_of_returned(m), Action::drop) << "to the switch's MAC address, for another host";
}

TEST(ClassifyReturned, OtherIcmpIsOfNoUse) {
  auto m = returned();
  m.code = 1;
  EXPECT_EQ(action_of_returned(m), Action::drop);
  auto damaged = returned_frame(returned());
  damaged.back() ^= std::byte{1};
  EXPECT_EQ(classify(kSwitch, damaged, true).action, Action::drop);
}

}  // namespace
}  // namespace tributary::dataplane
