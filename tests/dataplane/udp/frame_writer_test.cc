#include "dataplane/udp/frame_writer.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "core/net/udp_peer.h"
#include "core/wire/ecn.h"
#include "core/wire/extension.h"
#include "core/wire/integrity.h"

namespace tributary::dataplane {
namespace {

using aggregator::Outgoing;

config::SwitchConfig switch_config(wire::Integrity integrity) {
  config::SwitchConfig config;
  config.ipv4 = 0x0A4D00FE;
  config::JobConfig job;
  job.id = 0x10005;
  job.workers = 2;
  job.shards = 4;
  job.integrity = integrity;
  config.jobs = {job};
  return config;
}

struct Parsed {
  wire::EthernetView ethernet;
  wire::Udp4View udp;
  wire::Packet packet;
  DropReason integrity;
};
Parsed parse(std::span<const std::byte> frame) {
  Parsed p;
  p.ethernet = std::get<wire::EthernetView>(wire::parse_ethernet(frame));
  p.udp = std::get<std::optional<wire::Udp4View>>(wire::parse_udp4(p.ethernet.payload)).value();
  p.packet = std::get<wire::Packet>(wire::parse(p.udp.payload));
  p.integrity = wire::check_integrity(p.udp, p.packet);
  return p;
}

Outgoing result(std::span<const std::byte> payload) {
  Outgoing m;
  m.to = Outgoing::To::job_group;
  m.header.type = wire::PacketType::result;
  m.header.job = 0x10005;
  m.header.shard = 3;
  m.header.dtype = wire::DType::float32;
  m.header.element_count = static_cast<std::uint16_t>(payload.size() / 4);
  m.payload = payload;
  return m;
}

TEST(FrameWriter, GroupMessage) {
  const FrameWriter writer(switch_config(wire::Integrity::udp_checksum));
  std::vector<std::byte> payload(1024, std::byte{0x5A});
  std::array<std::byte, 2048> frame;
  const std::size_t bytes = writer.write(result(payload), std::nullopt, frame);
  ASSERT_EQ(bytes, 42u + 54u + 1024u);
  const Parsed p = parse(std::span(frame).first(bytes));
  EXPECT_EQ(p.ethernet.destination, (wire::MacAddress{0x01, 0x00, 0x5e, 0x43, 0x00, 0x05}));
  EXPECT_EQ(p.ethernet.source, config::derived_mac(0x0A4D00FE));
  EXPECT_FALSE(p.ethernet.vlan_tci);
  EXPECT_EQ(p.udp.endpoints, (wire::UdpEndpoints{0x0A4D00FE, 0xEFC30005, 47003, 47003}));
  EXPECT_NE(p.udp.checksum, 0);
  EXPECT_EQ(p.integrity, DropReason::none);
  EXPECT_TRUE(std::equal(payload.begin(), payload.end(), p.packet.payload.begin()));
}

// Rule 16: the hint to shard and plane.
TEST(FrameWriter, AShardOfAPlaneHasAPortOfItsOwn) {
  config::SwitchConfig config = switch_config(wire::Integrity::udp_checksum);
  config.lcores = {-1, -1};
  config.jobs[0].planes = 2;
  EXPECT_EQ(identity_of(config).udp_count, 8);
  const FrameWriter writer(config);
  std::array<std::byte, 2048> frame;
  Outgoing message = result({});
  const auto ports = [&] {
    const std::size_t bytes = writer.write(message, std::nullopt, frame);
    return parse(std::span(frame).first(bytes)).udp.endpoints;
  };
  message.header.plane = 1;
  EXPECT_EQ(ports().destination_port, 47007);
  EXPECT_EQ(ports().source_port, 47007);
  message.header.plane = 0;
  EXPECT_EQ(ports().destination_port, 47003);
  // What an answer echoes need not be there.
  message.header.plane = 15;
  EXPECT_EQ(ports().destination_port, 47000);
  message.header.plane = 1;
  message.header.shard = 255;
  EXPECT_EQ(ports().destination_port, 47000);
  message.header.job = 9;
  message.header.shard = 2;
  EXPECT_EQ(ports().destination_port, 47002) << "of a job that nobody knows";
}

// All shards of a switch reach its parent from one place, to which they are bound (rule 18).
// Rule 15: data may be marked on its way; packets whose marks have no effect may not.
TEST(FrameWriter, Rule15_DataListensToMarks) {
  const FrameWriter writer(switch_config(wire::Integrity::udp_checksum));
  std::array<std::byte, 2048> frame;
  Outgoing message = result({});
  const auto ecn_of = [&](wire::PacketType type) {
    message.header.type = type;
    const std::size_t bytes = writer.write(message, 5, frame);
    EXPECT_EQ(parse(std::span(frame).first(bytes)).integrity, DropReason::none);
    return std::to_integer<int>(frame[wire::kEthernetBytes + wire::kVlanBytes + 1]);
  };
  EXPECT_EQ(ecn_of(wire::PacketType::result), wire::kEct0);
  EXPECT_EQ(ecn_of(wire::PacketType::abort), 0);
}

TEST(FrameWriter, O12_MessagesToTheSwitchAbove) {
  config::SwitchConfig config = switch_config(wire::Integrity::udp_checksum);
  config.jobs[0].parent = config::ParentConfig{"root", 240, 0x0A4D00F0, {2, 7}, "up", 1, 2};
  const FrameWriter writer(config);
  std::vector<std::byte> payload(64, std::byte{0x5A});
  Outgoing m = result(payload);
  m.to = Outgoing::To::parent;
  m.header.type = wire::PacketType::aggregate;
  std::array<std::byte, 2048> frame;
  const Parsed p = parse(std::span(frame).first(writer.write(m, std::nullopt, frame)));
  EXPECT_EQ(p.ethernet.destination, (wire::MacAddress{2, 7}));
  EXPECT_EQ(p.udp.endpoints, (wire::UdpEndpoints{0x0A4D00FE, 0x0A4D00F0, 47000, 47003}));
  EXPECT_EQ(p.integrity, DropReason::none);
}

// Rules 16 and 18: of each plane from one place, so what comes back finds the plane's lcore.
TEST(FrameWriter, A2_APlaneReachesTheSwitchAboveFromAPortOfItsOwn) {
  config::SwitchConfig config = switch_config(wire::Integrity::udp_checksum);
  config.lcores = {-1, -1};
  config.jobs[0].planes = 2;
  config.jobs[0].parent = config::ParentConfig{"root", 240, 0x0A4D00F0, {2, 7}, "up", 1, 2};
  const FrameWriter writer(config);
  Outgoing m = result({});
  m.to = Outgoing::To::parent;
  std::array<std::byte, 2048> frame;
  for (const std::uint8_t plane : std::array<std::uint8_t, 2>{0, 1})
    for (const std::uint8_t shard : std::array<std::uint8_t, 2>{0, 3}) {
      m.header.plane = plane;
      m.header.shard = shard;
      const Parsed p = parse(std::span(frame).first(writer.write(m, std::nullopt, frame)));
      EXPECT_EQ(p.udp.endpoints.source_port, 47000 + 4 * plane);
      EXPECT_EQ(p.udp.endpoints.destination_port, 47000 + 4 * plane + shard);
    }
}

TEST(FrameWriter, GroupVlanTag) {
  const FrameWriter writer(switch_config(wire::Integrity::udp_checksum));
  std::vector<std::byte> payload(8);
  std::array<std::byte, 256> frame;
  const std::size_t bytes = writer.write(result(payload), std::uint16_t{100}, frame);
  ASSERT_EQ(bytes, 46u + 54u + 8u);
  EXPECT_EQ(parse(std::span(frame).first(bytes)).ethernet.vlan_tci, 100);
}

TEST(FrameWriter, PeerMessage) {
  const FrameWriter writer(switch_config(wire::Integrity::udp_checksum));
  Outgoing m;
  m.peer = wire::UdpPeer(1, 5555, 0x0A4D0001, std::uint16_t{7}, {2, 1, 1, 1, 1, 1});
  m.header.type = wire::PacketType::nack;
  m.header.job = 99;
  m.header.shard = 200;  // echoed from a packet; the switch has no such shard
  std::array<std::byte, 256> frame;
  const std::size_t bytes = writer.write(m, std::uint16_t{100}, frame);
  const Parsed p = parse(std::span(frame).first(bytes));
  EXPECT_EQ(p.ethernet.destination, wire::UdpPeer(m.peer).mac);
  EXPECT_EQ(p.ethernet.vlan_tci, 7);
  EXPECT_EQ(p.udp.endpoints, (wire::UdpEndpoints{0x0A4D00FE, 0x0A4D0001, 47000, 5555}));
  EXPECT_EQ(p.packet.header.shard, 200);
}

// Protocol rule 18: the job's kind of integrity covers every packet.
// A peer behind a router has no address of its own on the link; groups and neighbours have.
TEST(FrameWriter, O12_TheRoutersAddressOfTheMoment) {
  auto config = switch_config(wire::Integrity::udp_checksum);
  config.ports = {{.name = "p0", .devargs = ""}};
  config.routes = {{{0x0A4E0000, 16}, 0x0A4D0032, "p0"}};
  const FrameWriter writer(config);
  NextHops routers(config);
  const std::array<std::int32_t, 2> payload = {1, 2};
  wire::UdpPeer member{0, 5555, 0x0A4E0007, std::nullopt, {}};
  std::array<std::byte, 256> frame;
  EXPECT_EQ(writer.write(result(std::as_bytes(std::span(payload))),
                         {.ports = {}, .member = &member}, routers, frame),
            FrameWriter::kNoNextHop);
  routers.expire(
      Instant(), [](std::uint16_t) { return true; }, [](const NextHop&) {});
  routers.intercept({0, 0x0A4D0032, {2, 9}, true}, Instant());
  const std::size_t bytes = writer.write(result(std::as_bytes(std::span(payload))),
                                         {.ports = {}, .member = &member}, routers, frame);
  const Parsed p = parse(std::span(frame).first(bytes));
  EXPECT_EQ(p.ethernet.destination, (wire::MacAddress{2, 9}));
  EXPECT_EQ(p.udp.endpoints.destination_ip, member.ipv4);
  EXPECT_EQ(p.udp.endpoints.destination_port, 5555);
  member.ipv4 = 0x0A4D0007;  // of which no route knows any more
  EXPECT_EQ(writer.write(result(std::as_bytes(std::span(payload))),
                         {.ports = {}, .member = &member}, routers, frame),
            FrameWriter::kNoNextHop);
}

TEST(FrameWriter, Crc32cJobIsSealedInsteadOfUdpChecksum) {
  const FrameWriter writer(switch_config(wire::Integrity::crc32c));
  std::vector<std::byte> payload(64, std::byte{1});
  std::array<std::byte, 256> frame;
  const std::size_t bytes = writer.write(result(payload), std::nullopt, frame);
  Parsed p = parse(std::span(frame).first(bytes));
  EXPECT_EQ(p.udp.checksum, 0);
  EXPECT_TRUE(wire::find_extension(p.packet.extensions, wire::ExtensionType::crc32c));
  EXPECT_EQ(p.integrity, DropReason::none);
  frame[bytes - 1] ^= std::byte{1};
  EXPECT_EQ(parse(std::span(frame).first(bytes)).integrity, DropReason::crc32c);
}

TEST(FrameWriter, FullExtensionAreaFallsBackToUdpChecksum) {
  const FrameWriter writer(switch_config(wire::Integrity::crc32c));
  Outgoing m;
  m.peer = wire::UdpPeer(0, 0, 0, {}, {2});
  m.header.type = wire::PacketType::pending;
  m.header.job = 0x10005;
  wire::ExtensionWriter extensions(m.extensions);
  ASSERT_TRUE(extensions.add_raw(9, 0, std::vector<std::byte>(1008)));
  m.extension_bytes = extensions.bytes().size();
  std::array<std::byte, 2048> frame;
  const std::size_t bytes = writer.write(m, std::nullopt, frame);
  ASSERT_NE(bytes, 0u);
  const Parsed p = parse(std::span(frame).first(bytes));
  EXPECT_NE(p.udp.checksum, 0);
  EXPECT_EQ(p.integrity, DropReason::none);
}

TEST(FrameWriter, RefusesWhatDoesNotFit) {
  const FrameWriter writer(switch_config(wire::Integrity::udp_checksum));
  std::vector<std::byte> payload(64);
  std::array<std::byte, 159> frame;  // one short
  EXPECT_EQ(writer.write(result(payload), std::nullopt, frame), 0u);
}

// T10: the root is bound to the port that the hosted engines speak from, whatever the shard.
TEST(FrameWriter, T10_HostedEnginesSpeakFromAPortOfTheirOwn) {
  config::SwitchConfig config = switch_config(wire::Integrity::udp_checksum);
  config.jobs[0].hosting.emplace();
  Outgoing m = result({});
  m.to = Outgoing::To::hosted_root;
  const wire::UdpPeer root(0, 47000, 0x0A4D0001, {}, {2, 1, 2, 3, 4, 5});
  m.peer = root;
  std::array<std::byte, 512> frame;
  const std::size_t bytes = FrameWriter(config).write(m, std::nullopt, frame);
  const Parsed p = parse(std::span(frame).first(bytes));
  EXPECT_EQ(p.ethernet.destination, wire::UdpPeer(m.peer).mac);
  EXPECT_EQ(p.udp.endpoints.source_port, config::hosting_udp_port(config.udp_base_port));
  EXPECT_EQ(p.udp.endpoints.source_port, 47016);
  EXPECT_EQ(p.udp.endpoints.destination_ip, root.ipv4);
  EXPECT_EQ(p.udp.endpoints.destination_port, 47000);
  EXPECT_EQ(p.integrity, DropReason::none);
}

}  // namespace
}  // namespace tributary::dataplane
