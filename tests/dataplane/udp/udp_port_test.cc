// A parameter server's own port: what it answers, what it hands over, whom it sends to.
#include "dataplane/udp/udp_port.h"

#include <gtest/gtest.h>
#include <rte_eth_ring.h>
#include <rte_ring.h>

#include <array>
#include <cstring>
#include <string>

#include "core/net/arp.h"
#include "core/net/checksum.h"
#include "core/wire/ecn.h"
#include "tests/dataplane/fragments.h"
#include "tests/dataplane/ring_switch.h"

namespace tributary::dataplane {
namespace {

constexpr std::uint32_t kOwnIp = 0x0A4D0015;
constexpr std::uint32_t kRootIp = 0x0A4D00FE;
constexpr std::uint32_t kStrangerIp = 0x0A4D0063;
constexpr std::uint16_t kOwnPort = 47000;
constexpr std::uint16_t kRootPort = 47001;
constexpr wire::MacAddress kOwnMac = {2, 1, 1, 1, 1, 1};
constexpr wire::MacAddress kRootMac = {2, 2, 2, 2, 2, 2};
constexpr wire::MacAddress kBroadcast = {255, 255, 255, 255, 255, 255};
constexpr std::size_t kDatagramBytes = 1200;

class UdpPortTest : public ::testing::Test {
 public:
  UdpPortTest() : UdpPortTest(kDatagramBytes, {}) {}
  // A port for a job whose packets need fragments, where some are taken.
  UdpPortTest(std::size_t datagram_bytes, const config::FragmentsConfig& fragments) {
    start_test_eal();
    in_ = make_ring();
    out_ = make_ring();
    config::SwitchConfig config = test_config(1);
    config.fragments = fragments;
    config.jobs.resize(1);
    config.jobs[0].chunk_bytes = static_cast<std::uint32_t>(datagram_bytes);
    auto pool = std::make_unique<FramePool>(size_pool(config));
    pool_ = pool->get();
    const int ethdev = rte_eth_from_rings(next_name().c_str(), &in_, 1, &out_, 1, SOCKET_ID_ANY);
    EXPECT_GE(ethdev, 0);
    auto port = std::make_unique<Port>(config.ports[0], static_cast<std::uint16_t>(ethdev));
    port->set_up(std::array{pool_});
    port_ = std::make_unique<UdpPort>(UdpPortSettings{.own = {kOwnIp, kOwnPort},
                                                      .mac = kOwnMac,
                                                      .peers = {kRootIp},
                                                      .datagram_bytes = datagram_bytes,
                                                      .idle_sleep_max = Duration::us(1),
                                                      .fragments = fragments},
                                      std::move(pool), std::move(port));
  }
  ~UdpPortTest() override {
    sent();
    port_.reset();
    rte_ring_free(in_);
    rte_ring_free(out_);
  }

 protected:
  void inject(std::span<const std::byte> frame, std::size_t segments = 1) {
    ASSERT_EQ(rte_ring_enqueue(in_, make_frame(pool_, frame, segments)), 0);
  }
  void receive() {
    port_->receive(
        [this](const ReceivedDatagram& d) {
          received_.emplace_back(reinterpret_cast<const char*>(d.bytes.data()), d.bytes.size());
          from_ = d.from;
          has_checksum_ = d.has_checksum;
          marked_ = d.congestion_experienced;
        },
        now_);
    port_->flush();
  }
  std::vector<Bytes> sent() {
    std::vector<Bytes> all;
    void* frame = nullptr;
    while (rte_ring_dequeue(out_, &frame) == 0)
      all.push_back(take_bytes(static_cast<rte_mbuf*>(frame)));
    return all;
  }
  static Bytes datagram(const std::string& text, wire::FrameTemplate t) {
    Bytes frame(16384);
    std::memcpy(frame.data() + wire::frame_header_bytes(t), text.data(), text.size());
    frame.resize(wire::write_frame_headers(t, frame, text.size()));
    return frame;
  }
  static wire::FrameTemplate to_us() {
    wire::FrameTemplate t;
    t.destination = kOwnMac;
    t.source = kRootMac;
    t.endpoints = {kRootIp, kOwnIp, kRootPort, kOwnPort};
    return t;
  }
  void say(const std::string& text, std::uint32_t to = kRootIp) {
    const std::span<std::byte> room = port_->room();
    ASSERT_GE(room.size(), text.size());
    std::memcpy(room.data(), text.data(), text.size());
    port_->queue(text.size(), {to, kRootPort});
    port_->flush();
  }
  void root_answers(std::uint32_t ip = kRootIp) {
    std::array<std::byte, wire::kArpFrameBytes> reply{};
    wire::ArpView asked;
    asked.sender_mac = kOwnMac;
    asked.sender_ip = kOwnIp;
    asked.target_ip = ip;
    wire::write_arp_reply(kRootMac, asked, reply);
    inject(reply);
    receive();
  }

  rte_ring* in_ = nullptr;
  rte_ring* out_ = nullptr;
  rte_mempool* pool_ = nullptr;
  std::unique_ptr<UdpPort> port_;
  Instant now_ = Instant::from_ns(1'000'000'000);
  std::vector<std::string> received_;
  UdpAddress from_;
  bool has_checksum_ = false;
  bool marked_ = false;
};

wire::ArpView arp_of(const Bytes& frame) {
  const auto view = std::get<wire::EthernetView>(wire::parse_ethernet(frame));
  return wire::parse_arp(view.payload).value_or(wire::ArpView{});
}

TEST_F(UdpPortTest, AsksForItsPeerUntilThatAnswersAndNowAndThenAfterwards) {
  receive();
  const auto asked = sent();
  ASSERT_EQ(asked.size(), 1u);
  const auto view = std::get<wire::EthernetView>(wire::parse_ethernet(asked[0]));
  EXPECT_EQ(view.destination, kBroadcast);
  EXPECT_TRUE(arp_of(asked[0]).is_request);
  EXPECT_EQ(arp_of(asked[0]).target_ip, kRootIp);
  EXPECT_EQ(arp_of(asked[0]).sender_mac, kOwnMac);
  now_ = now_ + UdpPort::kAsk + Duration::ms(20);
  receive();
  EXPECT_EQ(sent().size(), 1u);
  root_answers();
  now_ = now_ + UdpPort::kAsk + Duration::ms(20);
  receive();
  sent();
  now_ = now_ + UdpPort::kAskAgain / 2;
  receive();
  EXPECT_TRUE(sent().empty());
  now_ = now_ + UdpPort::kAskAgain;
  receive();
  EXPECT_EQ(sent().size(), 1u);
}

TEST_F(UdpPortTest, SendsToPeersItKnowsAndToGroups) {
  say("lost");
  EXPECT_EQ(port_->counters().unresolved.get(), 1u);
  EXPECT_TRUE(sent().empty());
  say("to all", 0xEF4D0001);
  const auto group = sent();
  ASSERT_EQ(group.size(), 1u);
  EXPECT_EQ(std::get<wire::EthernetView>(wire::parse_ethernet(group[0])).destination,
            wire::multicast_mac(0xEF4D0001));
  root_answers();
  sent();
  say("hello");
  const auto frames = sent();
  ASSERT_EQ(frames.size(), 1u);
  const auto view = std::get<wire::EthernetView>(wire::parse_ethernet(frames[0]));
  EXPECT_EQ(view.destination, kRootMac);
  EXPECT_EQ(view.source, kOwnMac);
  const auto udp = *std::get<std::optional<wire::Udp4View>>(wire::parse_udp4(view.payload));
  EXPECT_EQ(udp.endpoints, (wire::UdpEndpoints{kOwnIp, kRootIp, kOwnPort, kRootPort}));
  EXPECT_NE(udp.checksum, 0);
  EXPECT_TRUE(wire::udp4_checksum_ok(udp));
  EXPECT_EQ(std::memcmp(udp.payload.data(), "hello", 5), 0);
  EXPECT_EQ(port_->counters().tx_packets.get(), 3u);  // with a question
}

TEST_F(UdpPortTest, BelievesNoStrangersAddress) {
  root_answers(kStrangerIp);
  sent();
  say("lost", kStrangerIp);
  EXPECT_TRUE(sent().empty());
  EXPECT_EQ(port_->counters().unresolved.get(), 1u);
}

TEST_F(UdpPortTest, HandsOverWhatIsForItWholeAndRight) {
  inject(datagram("first", to_us()));
  inject(datagram(std::string(900, 'x'), to_us()), 3);
  receive();
  ASSERT_EQ(received_.size(), 2u);
  EXPECT_EQ(received_[0], "first");
  EXPECT_EQ(received_[1], std::string(900, 'x'));
  EXPECT_EQ(from_.ipv4, kRootIp);
  EXPECT_EQ(from_.port, kRootPort);
  EXPECT_TRUE(has_checksum_);
  wire::FrameTemplate bare = to_us();
  bare.udp_checksum = false;
  inject(datagram("covered otherwise", bare));
  receive();
  EXPECT_FALSE(has_checksum_);
  EXPECT_EQ(port_->counters().rx_packets.get(), 3u);
}

// Rule 15: of a result on its way to the root, and of data on its way here.
TEST_F(UdpPortTest, Rule15_MarksGoBothWays) {
  root_answers();
  sent();
  say("hello");
  EXPECT_EQ(std::to_integer<int>(sent().at(0)[wire::kEthernetBytes + 1]), wire::kEct0);
  wire::FrameTemplate marked = to_us();
  marked.dscp_ecn = wire::kCongestionExperienced;
  inject(datagram("met a queue", marked));
  receive();
  EXPECT_TRUE(marked_);
  inject(datagram("did not", to_us()));
  receive();
  EXPECT_FALSE(marked_);
}

TEST_F(UdpPortTest, WhatIsForOthersOrDamagedIsNotHandedOver) {
  wire::FrameTemplate elsewhere = to_us();
  elsewhere.destination = kRootMac;
  inject(datagram("a", elsewhere));
  wire::FrameTemplate tagged = to_us();
  tagged.vlan_tci = 7;
  inject(datagram("b", tagged));
  wire::FrameTemplate port = to_us();
  port.endpoints.destination_port = 53;
  inject(datagram("c", port));
  wire::FrameTemplate address = to_us();
  address.endpoints.destination_ip = kStrangerIp;
  inject(datagram("d", address));
  Bytes damaged = datagram("e", to_us());
  damaged.back() ^= std::byte{1};
  inject(damaged);
  Bytes shorter = datagram("f", to_us());
  shorter.resize(20);
  inject(shorter);
  receive();
  EXPECT_TRUE(received_.empty());
  EXPECT_EQ(port_->drops().get(DropReason::checksum), 1u);
  EXPECT_EQ(port_->drops().total(), 2u);
}

TEST_F(UdpPortTest, AnswersArp) {
  receive();
  sent();
  std::array<std::byte, wire::kArpFrameBytes> request{};
  wire::write_arp_request(kRootMac, kRootIp, kOwnIp, request);
  inject(request);
  receive();
  const auto frames = sent();
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_FALSE(arp_of(frames[0]).is_request);
  EXPECT_EQ(arp_of(frames[0]).sender_mac, kOwnMac);
  EXPECT_EQ(arp_of(frames[0]).target_ip, kRootIp);
  // A peer that asks says where it is.
  say("hello");
  EXPECT_EQ(sent().size(), 1u);
}

TEST_F(UdpPortTest, APortThatTakesNoMoreHoldsABacklogAndLosesTheRest) {
  root_answers();
  sent();
  constexpr std::size_t kRoom = RingSwitch::kRingSize - 1;
  for (std::size_t i = 0; i < kRoom + UdpPort::kBacklog + 5; ++i) say("x");
  EXPECT_EQ(port_->drops().get(DropReason::tx_full), 5u);
  EXPECT_EQ(sent().size(), kRoom);
  std::size_t later = 0;
  for (int turn = 0; turn < 2; ++turn) {
    port_->flush();
    later += sent().size();
  }
  EXPECT_EQ(later, UdpPort::kBacklog);
}

// Datagrams of 8 KiB and more, over an MTU of 1500.
class FragmentsOfUdpPort : public UdpPortTest {
 public:
  FragmentsOfUdpPort()
      : UdpPortTest(kLong, {.datagrams = 2, .timeout = Duration::ms(50)}), text_(kLong, 'x') {
    text_.replace(4000, 5, "inner");
    pieces_ = cut(datagram(text_, to_us()), 7);
  }

 protected:
  static constexpr std::size_t kLong = 8192;
  [[nodiscard]] std::uint64_t drops(DropReason reason) const { return port_->drops().get(reason); }
  [[nodiscard]] std::vector<Bytes> pieces(std::uint16_t id) const {
    return cut(datagram(text_, to_us()), id);
  }

  std::string text_;
  std::vector<Bytes> pieces_;
};

TEST_F(FragmentsOfUdpPort, C1_WhatComesInFragmentsIsHandedOverOnce) {
  std::swap(pieces_[0], pieces_[4]);
  pieces_.insert(pieces_.begin() + 2, pieces_[1]);  // twice
  for (const Bytes& piece : pieces_) {
    EXPECT_TRUE(received_.empty());
    inject(piece);
    receive();
  }
  ASSERT_EQ(received_.size(), 1u);
  EXPECT_EQ(received_[0], text_);
  EXPECT_EQ(from_.ipv4, kRootIp);
  EXPECT_TRUE(has_checksum_);
  EXPECT_EQ(port_->counters().reassembled.get(), 1u);
  EXPECT_EQ(drops(DropReason::fragment_duplicate), 1u);
  sent();
  EXPECT_EQ(rte_mempool_in_use_count(pool_), 0u);
}

TEST_F(FragmentsOfUdpPort, C1_WhatExceedsTheMtuLeavesInFragments) {
  root_answers();
  sent();
  say(text_);
  const auto out = sent();
  ASSERT_EQ(out.size(), 6u);
  for (const Bytes& frame : out) EXPECT_LE(frame.size(), 1500 + wire::kEthernetBytes);
  EXPECT_EQ(port_->counters().fragmented.get(), 1u);
  say("short");
  EXPECT_EQ(sent().size(), 1u);
  EXPECT_EQ(port_->counters().fragmented.get(), 1u);
  // What they carry, one after the other, is the datagram.
  std::string carried;
  for (const Bytes& frame : out) {
    wire::Fragment4View piece;
    wire::EthernetView view;
    ASSERT_EQ(wire::parse_ethernet(frame, view), DropReason::none);
    ASSERT_EQ(wire::parse_fragment4(view.payload, piece), DropReason::none);
    EXPECT_EQ(view.destination, kRootMac);
    EXPECT_EQ(piece.destination_ip, kRootIp);
    EXPECT_EQ(piece.offset, carried.size());
    carried.append(reinterpret_cast<const char*>(piece.payload.data()), piece.payload.size());
    EXPECT_EQ(piece.more, &frame != &out.back());
  }
  EXPECT_EQ(carried.substr(wire::kUdpBytes), text_);
}

TEST_F(FragmentsOfUdpPort, C1_OfThreeDatagramsTheOldestGivesWayAndTheRestHaveTheirTime) {
  inject(pieces(1)[0]);
  inject(pieces(2)[0]);
  inject(pieces(3)[0]);
  receive();
  EXPECT_EQ(drops(DropReason::fragment_evicted), 1u);
  now_ = now_ + Duration::ms(49);
  receive();
  EXPECT_EQ(drops(DropReason::fragment_timeout), 0u);
  now_ = now_ + Duration::ms(1);
  receive();
  EXPECT_EQ(drops(DropReason::fragment_timeout), 2u);
  EXPECT_TRUE(received_.empty());
}

TEST_F(FragmentsOfUdpPort, WhatIsForOthersTakesNoPlace) {
  wire::FrameTemplate elsewhere = to_us();
  elsewhere.endpoints.destination_ip = kStrangerIp;
  for (const Bytes& piece : cut(datagram(text_, elsewhere), 7)) inject(piece);
  Bytes damaged = pieces_[1];
  damaged[wire::kEthernetBytes + 8] ^= std::byte{1};  // a header that is not right
  inject(damaged);
  receive();
  now_ = now_ + Duration::seconds(1);
  receive();
  EXPECT_EQ(drops(DropReason::fragment_timeout), 0u);
  EXPECT_TRUE(received_.empty());
}

TEST_F(FragmentsOfUdpPort, ALongPingIsAnswered) {
  Bytes ping = datagram(std::string(3000, 'p'), to_us());
  std::byte* const ip = ping.data() + wire::kEthernetBytes;
  ip[9] = std::byte{1};  // ICMP in the place of UDP, one's complement sums follow
  ip[10] = ip[11] = std::byte{0};
  const auto seal = [](std::byte* at, std::span<const std::byte> of) {
    const auto sum = static_cast<std::uint16_t>(~wire::ones_complement_sum(of));
    std::memcpy(at, &sum, sizeof sum);
  };
  seal(ip + 10, {ip, wire::kIpv4Bytes});
  std::byte* const icmp = ip + wire::kIpv4Bytes;
  icmp[0] = std::byte{8};
  icmp[1] = icmp[2] = icmp[3] = std::byte{0};
  seal(icmp + 2, std::span(ping).subspan(wire::kEthernetBytes + wire::kIpv4Bytes));
  receive();
  sent();
  for (const Bytes& piece : cut(ping, 9)) inject(piece);
  receive();
  EXPECT_EQ(sent().size(), 3u);
}

// A port without `fragments` gets none.
TEST_F(UdpPortTest, WithoutFragmentsTheyAreDropped) {
  for (const Bytes& piece : cut(datagram(std::string(3000, 'x'), to_us()), 7)) inject(piece);
  receive();
  EXPECT_TRUE(received_.empty());
  EXPECT_EQ(port_->drops().get(DropReason::frame_fragment), 3u);
}

}  // namespace
}  // namespace tributary::dataplane
