#include "worker/transport/udp_transport.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/wire/integrity.h"
#include "worker/transport/packet_check.h"

namespace tributary::worker {
namespace {

using ::testing::HasSubstr;

// The switch's end: a plain socket on loopback.
class UdpTransportTestTimed : public ::testing::Test {
 protected:
  UdpTransportTestTimed() : socket_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    at_.sin_family = AF_INET;
    at_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ::bind(socket_.get(), reinterpret_cast<sockaddr*>(&at_), sizeof at_);
    socklen_t length = sizeof at_;
    ::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&at_), &length);
    transport_.emplace(INADDR_LOOPBACK, ntohs(at_.sin_port));
  }

  static std::vector<std::byte> packet(bool crc = false) {
    wire::Header h;
    h.type = wire::PacketType::lease;
    h.job = 77;
    std::array<std::byte, 16> room;
    wire::ExtensionWriter w(room);
    if (crc) w.add_crc32c_placeholder();
    std::vector<std::byte> bytes(wire::serialized_bytes(w.bytes().size()));
    wire::serialize(h, w.bytes(), bytes);
    if (crc) wire::seal_crc32c(bytes);
    return bytes;
  }

  // The transport says hello, so that the other end learns its port.
  void learn_peer() {
    const auto hello = packet();
    const Datagram d{hello, {}, 0};
    ASSERT_EQ(transport_->send({&d, 1}), 1u);
    std::array<std::byte, 2048> buffer;
    socklen_t length = sizeof peer_;
    ASSERT_EQ(::recvfrom(socket_.get(), buffer.data(), buffer.size(), 0,
                         reinterpret_cast<sockaddr*>(&peer_), &length),
              static_cast<ssize_t>(hello.size()));
  }
  void answer(std::span<const std::byte> bytes) {
    ASSERT_GT(::sendto(socket_.get(), bytes.data(), bytes.size(), 0,
                       reinterpret_cast<sockaddr*>(&peer_), sizeof peer_),
              0);
  }
  // Waits for one datagram to be delivered or dropped; returns how many packets were delivered.
  std::size_t receive() {
    std::size_t delivered = 0;
    std::size_t seen = 0;
    while (seen == 0) {
      transport_->wait(Duration::seconds(10));
      seen = transport_->receive([&](const wire::Packet& p) {
        EXPECT_EQ(p.header.job, 77u);
        ++delivered;
      });
    }
    return delivered;
  }

  FileDescriptor socket_;
  sockaddr_in at_{};
  sockaddr_in peer_{};
  std::optional<UdpTransport> transport_;
};

TEST_F(UdpTransportTestTimed, DeliversOnlyParsedPacketsOfTheSwitch) {
  learn_peer();
  answer(packet());
  EXPECT_EQ(receive(), 1u);
  auto bad = packet();
  bad[0] = std::byte{9};
  answer(bad);
  EXPECT_EQ(receive(), 0u);
  EXPECT_EQ(transport_->drops().get(DropReason::bad_version), 1u);

  // Another host's packet, well-formed as it is.
  FileDescriptor stranger(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_in other{};
  other.sin_family = AF_INET;
  other.sin_addr.s_addr = htonl(0x7F000002);
  ASSERT_EQ(::bind(stranger.get(), reinterpret_cast<sockaddr*>(&other), sizeof other), 0);
  const auto bytes = packet();
  ::sendto(stranger.get(), bytes.data(), bytes.size(), 0, reinterpret_cast<sockaddr*>(&peer_),
           sizeof peer_);
  EXPECT_EQ(receive(), 0u);
  EXPECT_EQ(transport_->drops().get(DropReason::sender_mismatch), 1u);
}

// Any process on the switch's host may have its address; only the switch has its UDP ports.
TEST_F(UdpTransportTestTimed, DropsWhatComesFromAnotherUdpPortOfTheSwitchsAddress) {
  learn_peer();
  FileDescriptor other(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_in at = at_;
  const int far = ntohs(at_.sin_port) < 40000 ? 64 : -64;
  at.sin_port = htons(static_cast<std::uint16_t>(ntohs(at_.sin_port) + far));
  while (::bind(other.get(), reinterpret_cast<sockaddr*>(&at), sizeof at) != 0)
    at.sin_port = htons(static_cast<std::uint16_t>(ntohs(at.sin_port) + (far > 0 ? 1 : -1)));
  const auto bytes = packet();
  ::sendto(other.get(), bytes.data(), bytes.size(), 0, reinterpret_cast<sockaddr*>(&peer_),
           sizeof peer_);
  EXPECT_EQ(receive(), 0u);
  EXPECT_EQ(transport_->drops().get(DropReason::sender_mismatch), 1u);
}

// Rule 16: a switch answers from any of its ports, whichever of them the address names.
TEST(SwitchPortsTimed, Rule16_AreThoseFromTheFirstOneOn) {
  wire::StartInfo info;
  EXPECT_TRUE(is_switch_port(info, 47003, 47000)) << "the address names the fourth";
  EXPECT_TRUE(is_switch_port(info, 47000, 47015));
  EXPECT_FALSE(is_switch_port(info, 47003, 46987));
  EXPECT_FALSE(is_switch_port(info, 47003, 47019));
  info.udp_base_port = 47000;
  EXPECT_TRUE(is_switch_port(info, 47003, 47000));
  EXPECT_TRUE(is_switch_port(info, 47003, 47015)) << "a shard of another plane";
  EXPECT_FALSE(is_switch_port(info, 47003, 46999));
  EXPECT_FALSE(is_switch_port(info, 47003, 47016));
  info.udp_base_port = 65535;
  EXPECT_FALSE(is_switch_port(info, 65535, 0)) << "ports do not wrap";
}

TEST_F(UdpTransportTestTimed, CrcJobsRefusePacketsWithoutOne) {
  learn_peer();
  wire::StartInfo info;
  info.chunk_bytes = 1024;
  info.window = 4;
  info.integrity = 1;
  info.group_ipv4 = 0xEFC3FFFE;
  info.udp_base_port = ntohs(at_.sin_port);
  transport_->on_start(info);
  answer(packet(true));
  EXPECT_EQ(receive(), 1u);
  answer(packet(false));
  EXPECT_EQ(receive(), 0u);
  EXPECT_EQ(transport_->drops().get(DropReason::no_integrity), 1u);
  auto corrupt = packet(true);
  corrupt[6] ^= std::byte{1};  // job
  answer(corrupt);
  EXPECT_EQ(receive(), 0u);
  EXPECT_EQ(transport_->drops().get(DropReason::crc32c), 1u);
}

// T9: from the host that START names, under the term that it names, results alone.
TEST(DirectResultsTimed, T9_AreTheNamedHostsUnderItsTerm) {
  wire::StartInfo info;
  info.completion_host = 0x7F000003;
  info.host_term = 4;
  EXPECT_EQ(direct_host(info), 0u) << "the root notifies";
  info.notify = static_cast<std::uint8_t>(wire::Notify::host_switch);
  EXPECT_EQ(direct_host(info), 0u);
  info.notify = static_cast<std::uint8_t>(wire::Notify::direct);
  EXPECT_EQ(direct_host(info), 0x7F000003u);

  const auto is_one = [&](wire::PacketType type, std::uint32_t flags,
                          std::optional<std::uint32_t> term) {
    wire::Packet p;
    p.header.type = type;
    p.header.flags = flags;
    std::array<std::byte, 32> room;
    wire::ExtensionWriter ext(room);
    if (term) ext.add(wire::ResultInfo{8, 0, *term, 0});
    p.extensions = ext.bytes();
    return is_direct_result(info, p);
  };
  using enum wire::PacketType;
  EXPECT_TRUE(is_one(result, wire::kFlagAtPs, 4));
  EXPECT_FALSE(is_one(result, wire::kFlagAtPs, 3)) << "of a host before it";
  EXPECT_FALSE(is_one(result, wire::kFlagAtPs, 5));
  EXPECT_FALSE(is_one(result, wire::kFlagAtPs, std::nullopt));
  EXPECT_FALSE(is_one(result, 0, 4));
  EXPECT_FALSE(is_one(abort, wire::kFlagAtPs, 4));
  EXPECT_FALSE(is_one(unknown, wire::kFlagAtPs, 4));
}

// Its packets to one rank alone are dropped: only the group's port is open to it.
TEST_F(UdpTransportTestTimed, T9_AHostSpeaksToTheGroupOnly) {
  learn_peer();
  wire::StartInfo info;
  info.chunk_bytes = 1024;
  info.window = 4;
  info.group_ipv4 = 0xEFC3FFFE;
  info.udp_base_port = ntohs(at_.sin_port);
  info.notify = static_cast<std::uint8_t>(wire::Notify::direct);
  info.completion_host = 0x7F000002;
  transport_->on_start(info);
  FileDescriptor host(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(info.completion_host);
  ASSERT_EQ(::bind(host.get(), reinterpret_cast<sockaddr*>(&at), sizeof at), 0);
  const auto bytes = packet();
  ::sendto(host.get(), bytes.data(), bytes.size(), 0, reinterpret_cast<sockaddr*>(&peer_),
           sizeof peer_);
  EXPECT_EQ(receive(), 0u);
  EXPECT_EQ(transport_->drops().get(DropReason::sender_mismatch), 1u);
}

// Another process on the host's machine is not the host.
TEST_F(UdpTransportTestTimed, T9_AHostIsHeardFromItsUdpPortAlone) {
  learn_peer();
  wire::StartInfo info;
  info.chunk_bytes = 1024;
  info.window = 4;
  info.group_ipv4 = 0xEFC3FFFC;
  info.udp_base_port = ntohs(at_.sin_port);
  info.notify = static_cast<std::uint8_t>(wire::Notify::direct);
  info.completion_host = 0x7F000002;
  info.host_term = 3;
  FileDescriptor host(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(info.completion_host);
  ASSERT_EQ(::bind(host.get(), reinterpret_cast<sockaddr*>(&at), sizeof at), 0);
  socklen_t length = sizeof at;
  ::getsockname(host.get(), reinterpret_cast<sockaddr*>(&at), &length);
  const in_addr loopback{htonl(INADDR_LOOPBACK)};
  ASSERT_EQ(::setsockopt(host.get(), IPPROTO_IP, IP_MULTICAST_IF, &loopback, sizeof loopback), 0);

  std::array<std::byte, 64> room;
  wire::ExtensionWriter extensions(room);
  extensions.add(wire::ResultInfo{4, 0, info.host_term, 0});
  wire::Header h;
  h.type = wire::PacketType::result;
  h.flags = wire::kFlagAtPs;
  h.job = 77;
  std::vector<std::byte> bytes(wire::serialized_bytes(extensions.bytes().size()));
  wire::serialize(h, extensions.bytes(), bytes);
  sockaddr_in group = at_;
  group.sin_addr.s_addr = htonl(info.group_ipv4);
  const auto heard_as = [&](std::uint16_t udp_port) {
    transport_->on_host(udp_port);
    transport_->on_start(info);
    EXPECT_GT(::sendto(host.get(), bytes.data(), bytes.size(), 0,
                       reinterpret_cast<sockaddr*>(&group), sizeof group),
              0);
    return receive();
  };
  const std::uint16_t own = ntohs(at.sin_port);
  EXPECT_EQ(heard_as(own), 1u);
  EXPECT_EQ(heard_as(static_cast<std::uint16_t>(own ^ 1)), 0u);
  EXPECT_EQ(heard_as(0), 0u) << "START knew of no port";
  EXPECT_EQ(transport_->drops().get(DropReason::sender_mismatch), 2u);
}

// Rule 15: what it sends may be marked on the way, and it hears of marks.
TEST_F(UdpTransportTestTimed, Rule15_MarksGoBothWays) {
  const int wanted = 1;
  ASSERT_EQ(::setsockopt(socket_.get(), IPPROTO_IP, IP_RECVTOS, &wanted, sizeof wanted), 0);
  const auto hello = packet();
  const Datagram d{hello, {}, 0};
  ASSERT_EQ(transport_->send({&d, 1}), 1u);
  std::array<std::byte, 2048> buffer;
  iovec room{buffer.data(), buffer.size()};
  EcnRoom control;
  msghdr message{};
  message.msg_name = &peer_;
  message.msg_namelen = sizeof peer_;
  message.msg_iov = &room;
  message.msg_iovlen = 1;
  control.attach(message);
  ASSERT_EQ(::recvmsg(socket_.get(), &message, 0), static_cast<ssize_t>(hello.size()));
  const cmsghdr* const said = CMSG_FIRSTHDR(&message);
  ASSERT_NE(said, nullptr);
  EXPECT_EQ(said->cmsg_type, IP_TOS);
  EXPECT_EQ(*CMSG_DATA(said), wire::kEct0);
  EXPECT_FALSE(congestion_experienced(message));

  for (const int ecn : {0, 1, 2, 3, 0xB8 | 3, 0xB8 | 2}) {
    ASSERT_EQ(::setsockopt(socket_.get(), IPPROTO_IP, IP_TOS, &ecn, sizeof ecn), 0);
    answer(packet());
    bool marked = false;
    std::size_t delivered = 0;
    while (delivered == 0) {
      transport_->wait(Duration::seconds(10));
      delivered =
          transport_->receive([&](const wire::Packet& p) { marked = p.congestion_experienced; });
    }
    EXPECT_EQ(marked, (ecn & 3) == 3) << ecn;
  }
}

// Results that the kernel has merged are as many packets; what does not parse is one drop.
TEST_F(UdpTransportTestTimed, MergedDatagramsAreDeliveredOneByOne) {
  learn_peer();
  wire::StartInfo info;
  info.chunk_bytes = 1024;
  info.window = 4;
  info.group_ipv4 = 0xEFC3FFFD;
  info.udp_base_port = ntohs(at_.sin_port);
  transport_->on_start(info);
  const auto good = packet();
  auto bad = good;
  bad[0] = std::byte{9};
  const std::vector<Datagram> batch = {{good, {}, 0}, {good, {}, 0}, {bad, {}, 0}, {good, {}, 0}};
  UdpSender sender;
  sender.probe(socket_.get());
  DropCounters drops;
  ASSERT_EQ(sender.send(socket_.get(), batch, peer_, 1472, drops).datagrams, batch.size());
  std::size_t delivered = 0;
  while (delivered < 3) delivered += receive();
  EXPECT_EQ(delivered, 3u);
  EXPECT_EQ(transport_->drops().get(DropReason::bad_version), 1u);
}

TEST_F(UdpTransportTestTimed, OversizedDatagramIsDroppedNotCut) {
  learn_peer();
  std::vector<std::byte> huge = packet();
  huge.resize(5000);
  answer(huge);
  EXPECT_EQ(receive(), 0u);
  EXPECT_EQ(transport_->drops().get(DropReason::payload_too_large), 1u);
}

// A switch that is not up yet: its ICMP errors end nothing.
TEST_F(UdpTransportTestTimed, RefusedDatagramsAreJustLost) {
  learn_peer();
  socket_ = FileDescriptor();
  const auto bytes = packet();
  const Datagram d{bytes, {}, 0};
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(transport_->send({&d, 1}), 1u);
    transport_->receive([](const wire::Packet&) { FAIL(); });
  }
}

TEST_F(UdpTransportTestTimed, DescribesItself) {
  EXPECT_THAT(transport_->describe(), HasSubstr("to switch 127.0.0.1:"));
  EXPECT_GT(transport_->max_datagram_bytes(), 1400u);
  EXPECT_EQ(transport_->max_cut_bytes(), 65507u);
}

TEST(MakeTransportTimed, RefusesBadAddressesWithTheForms) {
  for (const char* bad :
       {"", "10.0.0.1", "udp://", "udp://host", "udp://10.0.0.1:0", "udp://10.0.0.1:70000",
        "udp://10.0.0.1:1x", "rdma://host", "tcp://10.0.0.1"}) {
    try {
      make_transport(bad, 1, 0);
      FAIL() << bad;
    } catch (const std::invalid_argument& e) {
      EXPECT_THAT(e.what(), HasSubstr("udp://SWITCH_IPV4[:PORT]")) << bad;
    }
  }
  EXPECT_THAT(make_transport("udp://127.0.0.1", 1, 0)->describe(), HasSubstr("127.0.0.1:47000"));
}

}  // namespace
}  // namespace tributary::worker
