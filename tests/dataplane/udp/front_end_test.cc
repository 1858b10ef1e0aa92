#include "dataplane/udp/front_end.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/net/udp_peer.h"
#include "core/wire/extension.h"
#include "core/wire/integrity.h"

namespace tributary::dataplane {
namespace {

constexpr std::uint32_t kJob = 5;
constexpr std::uint32_t kOwnIpv4 = 0x0A4D00FE;
constexpr std::uint32_t kRankIpv4 = 0x0A4D0001;
constexpr wire::MacAddress kRankMac = {2, 0, 0, 0, 0, 1};

config::SwitchConfig switch_config() {
  config::SwitchConfig config;
  config.ipv4 = kOwnIpv4;
  config.ports.resize(2);
  config.ports[0].name = "p0";
  config.ports[1].name = "p1";
  config.lcores = {-1, -1};
  config.jobs.resize(1);
  config.jobs[0].id = kJob;
  config.jobs[0].workers = 2;
  return config;
}

class UdpFrontEndTest : public testing::Test {
 protected:
  // A contribution of rank 0 as it stands on the wire, with these extensions.
  void send(std::span<const std::byte> extensions, bool udp_checksum = true) {
    wire::Header h;
    h.job = kJob;
    h.dtype = wire::DType::int32;
    h.element_count = 4;
    wire::FrameTemplate t;
    t.source = kRankMac;
    t.destination = identity_.mac;
    t.vlan_tci = vlan_;
    t.endpoints = {from_, kOwnIpv4, 50000, identity_.udp_first};
    t.udp_checksum = udp_checksum;
    frame_.assign(512, std::byte{7});
    const std::size_t start = wire::frame_header_bytes(t);
    const std::size_t head = wire::serialize(h, extensions, std::span(frame_).subspan(start));
    const std::size_t packet = head + 16;
    if (!udp_checksum) wire::seal_crc32c(std::span(frame_).subspan(start, packet));
    frame_.resize(wire::write_frame_headers(t, frame_, packet));
    what_ = classify(identity_, frame_, true);
    ASSERT_EQ(what_.action, Action::aggregate);
  }
  std::vector<std::byte> extensions(bool crc32c, bool total) {
    std::array<std::byte, 64> room;
    wire::ExtensionWriter writer(room);
    if (total) writer.add(wire::TaskInformation{4, 2, 0});
    if (crc32c) writer.add_crc32c_placeholder();
    return {writer.bytes().begin(), writer.bytes().end()};
  }

  config::SwitchConfig config_ = switch_config();
  Identity identity_ = identity_of(config_);
  std::uint32_t from_ = kRankIpv4;
  std::optional<std::uint16_t> vlan_;
  std::vector<std::byte> frame_;
  Classified what_;
  Event event_;
};

TEST_F(UdpFrontEndTest, Rule20_AFrameBecomesAPacketAndAnEndpoint) {
  const UdpFrontEnd udp(config_, config_);
  vlan_ = 0x2005;
  send({});
  ASSERT_EQ(udp.read(1, what_, event_), DropReason::none);
  EXPECT_EQ(event_.packet.header.job, kJob);
  EXPECT_EQ(event_.packet.payload.size(), 16u);
  EXPECT_EQ(event_.from, wire::UdpPeer(1, 50000, kRankIpv4, 0x2005, kRankMac));
  EXPECT_EQ(UdpFrontEnd::check(what_, event_), DropReason::none);
}

TEST_F(UdpFrontEndTest, SaysWhichLcoreOwnsAPacket) {
  const UdpFrontEnd udp(config_, config_);
  send({});
  EXPECT_EQ(udp.owner(what_), 1) << "the first lcore has no job";
  config_.jobs.clear();
  EXPECT_EQ(UdpFrontEnd(config_, config_).owner(what_), std::nullopt);
}

TEST_F(UdpFrontEndTest, Rule18_DropsWhatIsDamaged) {
  const UdpFrontEnd udp(config_, config_);
  send({});
  frame_.back() ^= std::byte{1};
  ASSERT_EQ(udp.read(0, what_, event_), DropReason::none) << "its header is good";
  EXPECT_EQ(UdpFrontEnd::check(what_, event_), DropReason::checksum);
  send(extensions(true, false), false);
  frame_.back() ^= std::byte{1};
  ASSERT_EQ(udp.read(0, what_, event_), DropReason::none);
  EXPECT_EQ(UdpFrontEnd::check(what_, event_), DropReason::crc32c);
}

// Plain data with a CRC is plain data to an engine, which takes it the short way.
TEST_F(UdpFrontEndTest, Rule20_EnginesSeeNoCrc) {
  const UdpFrontEnd udp(config_, config_);
  send(extensions(true, false), false);
  ASSERT_EQ(udp.read(0, what_, event_), DropReason::none);
  EXPECT_FALSE(event_.packet.extensions.empty());
  EXPECT_EQ(UdpFrontEnd::check(what_, event_), DropReason::none);
  EXPECT_TRUE(event_.packet.extensions.empty());
}

TEST_F(UdpFrontEndTest, Rule20_EnginesSeeWhatIsMeantForThem) {
  const UdpFrontEnd udp(config_, config_);
  send(extensions(true, true), false);
  ASSERT_EQ(udp.read(0, what_, event_), DropReason::none);
  EXPECT_EQ(UdpFrontEnd::check(what_, event_), DropReason::none);
  EXPECT_EQ(wire::find_task_information(event_.packet.extensions)->total_elements, 4u);
}

TEST_F(UdpFrontEndTest, O12_AHostBehindARouterIsKnownByItsPort) {
  config::RouteConfig route;
  route.to = {0x0A630000, 16};
  route.port = "p1";
  route.via = 0x0A4D0063;
  config_.routes = {route};
  from_ = 0x0A630001;
  const UdpFrontEnd udp(config_, config_);
  send({});
  ASSERT_EQ(udp.read(1, what_, event_), DropReason::none);
  EXPECT_EQ(event_.from, wire::UdpPeer(1, 50000, from_));
  EXPECT_EQ(udp.read(0, what_, event_), DropReason::wrong_ingress_port);
  vlan_ = 5;
  send({});
  EXPECT_EQ(udp.read(1, what_, event_), DropReason::wrong_ingress_port);
}

// Rule 16: whose way is another one by the next configuration.
TEST_F(UdpFrontEndTest, O12_MembersWhoseWayChangesAreElsewhere) {
  config::RouteConfig route;
  route.to = {0x0A630000, 16};
  route.port = "p1";
  route.via = 0x0A4D0063;
  const Endpoint behind = wire::UdpPeer(1, 50000, 0x0A630001);
  const Endpoint on_link = wire::UdpPeer(1, 50000, 0x0A630001, {}, kRankMac);
  const UdpFrontEnd without(config_, config_);
  EXPECT_TRUE(without.is_elsewhere(behind));
  EXPECT_FALSE(without.is_elsewhere(on_link));
  config_.routes = {route};
  const UdpFrontEnd with(config_, config_);
  EXPECT_FALSE(with.is_elsewhere(behind));
  EXPECT_TRUE(with.is_elsewhere(on_link));
  config_.routes[0].port = "p0";
  EXPECT_TRUE(UdpFrontEnd(config_, config_).is_elsewhere(behind));
}

TEST_F(UdpFrontEndTest, WritesWhatFits) {
  const UdpFrontEnd udp(config_, config_);
  aggregator::Outgoing message;
  message.peer = wire::UdpPeer(1, 50000, kRankIpv4, {}, kRankMac);
  message.header.job = kJob;
  const std::uint16_t port = 1;
  const UdpCopy copy = UdpFrontEnd::copy_to(std::span(&port, 1));
  std::array<std::byte, 256> room;
  const auto written = udp.write(message, copy, room);
  ASSERT_GT(written.bytes, wire::kUdpPayloadOffset);
  const auto view = std::get<wire::EthernetView>(wire::parse_ethernet(room));
  EXPECT_EQ(view.destination, kRankMac);
  const auto none = udp.write(message, copy, std::span(room).first(60));
  EXPECT_EQ(none.bytes, 0u);
  EXPECT_EQ(none.why, DropReason::mtu);
}

}  // namespace
}  // namespace tributary::dataplane
