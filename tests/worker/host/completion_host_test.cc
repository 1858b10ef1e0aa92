// T10: completion engines inside a worker's process, seen by a job's root.
#include "worker/host/completion_host.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/wire/extension.h"
#include "worker/api/communicator.h"
#include "worker/transport/file_descriptor.h"

namespace tributary::worker {
namespace {

using ::testing::HasSubstr;
using wire::PacketType;

constexpr std::uint32_t kHostIpv4 = 0x7F000002;
constexpr std::uint32_t kJob = 5;

// The root's end is a plain socket on loopback.
class CompletionHostTestTimed : public ::testing::Test {
 protected:
  CompletionHostTestTimed() : root_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    root_port_ = bind_to(root_, INADDR_LOOPBACK);
    const timeval limit{30, 0};
    ::setsockopt(root_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    FileDescriptor free(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    host_port_ = bind_to(free, kHostIpv4);
  }

  static std::uint16_t bind_to(const FileDescriptor& socket, std::uint32_t ipv4) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(ipv4);
    EXPECT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&at), sizeof at), 0);
    socklen_t length = sizeof at;
    ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&at), &length);
    return ntohs(at.sin_port);
  }
  [[nodiscard]] config::ServerConfig server() const {
    config::ServerConfig server;
    server.ipv4 = kHostIpv4;
    server.udp_port = host_port_;
    server.megabytes = 1;
    config::ServedJobConfig served;
    served.job.id = kJob;
    served.job.workers = 2;
    served.job.window = 4;
    served.job.chunk_bytes = 64;
    served.root_ipv4 = INADDR_LOOPBACK;
    served.root_udp_port = root_port_;
    server.jobs = {served};
    return server;
  }
  void say(const wire::Header& h, std::span<const std::byte> extensions,
           std::span<const std::byte> payload = {}) {
    std::vector<std::byte> bytes(2048);
    const std::size_t head = wire::serialize(h, extensions, bytes);
    if (!payload.empty()) std::memcpy(bytes.data() + head, payload.data(), payload.size());
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(host_port_);
    to.sin_addr.s_addr = htonl(kHostIpv4);
    ::sendto(root_.get(), bytes.data(), head + payload.size(), 0, reinterpret_cast<sockaddr*>(&to),
             sizeof to);
  }
  // What the host says next, but for more of what it says all the time.
  wire::Packet intercept(PacketType wanted) {
    while (true) {
      const auto got = ::recv(root_.get(), heard_.data(), heard_.size(), 0);
      if (got <= 0) throw std::runtime_error("the host says nothing");
      const auto parsed = wire::parse(std::span(heard_).first(static_cast<std::size_t>(got)));
      const auto& packet = std::get<wire::Packet>(parsed);
      if (packet.header.type == wanted) return packet;
      EXPECT_EQ(packet.header.type, PacketType::lease);
    }
  }

  FileDescriptor root_;
  std::uint16_t root_port_ = 0;
  std::uint16_t host_port_ = 0;
  std::array<std::byte, 2048> heard_{};
};

TEST_F(CompletionHostTestTimed, T10_FinishesChunksAndGoesWithItsOwner) {
  std::optional<CompletionHost> host(std::in_place, server(), 77);
  const wire::Packet hello = intercept(PacketType::lease);
  EXPECT_EQ(hello.header.origin, kHostIpv4);
  EXPECT_EQ(hello.header.job, kJob);

  std::array<std::byte, 128> room;
  wire::ExtensionWriter ext(room);
  wire::StartInfo info;
  info.window = 4;
  info.chunk_bytes = 64;
  info.workers = 2;
  info.lease_ms = 60'000;
  info.completion_host = kHostIpv4;
  info.host_term = 1;
  ext.add_nonce(9);
  ext.add(info);
  wire::Header h;
  h.type = PacketType::start;
  h.flags = wire::kFlagAtPs;
  h.job = kJob;
  h.epoch = 3;
  h.origin = static_cast<std::uint32_t>(wire::find_nonce(hello.extensions).value());
  say(h, ext.bytes());
  EXPECT_EQ(intercept(PacketType::ack).header.epoch, 3);
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    h.type = PacketType::contribution;
    h.flags = wire::kFlagBypass;
    h.origin = static_cast<std::uint32_t>(rank);
    h.covered = 1;
    h.dtype = wire::DType::int32;
    h.element_count = 1;
    const std::int32_t value = 20 + rank;
    say(h, {}, std::as_bytes(std::span(&value, 1)));
  }
  std::int32_t sum = 0;
  const wire::Packet result = intercept(PacketType::result);
  std::memcpy(&sum, result.payload.data(), sizeof sum);
  EXPECT_EQ(sum, 41);

  host.reset();
  intercept(PacketType::leave);
}

TEST_F(CompletionHostTestTimed, T10_WhatItCannotDoIsRefusedWithItsReason) {
  const auto why = [&](const config::ServerConfig& config) -> std::string {
    try {
      const CompletionHost host(config, 1);
    } catch (const std::exception& e) {
      return e.what();
    }
    return "";
  };
  config::ServerConfig config = server();
  config.jobs[0].optimizer.kind = config::OptimizerKind::sgd;
  config.jobs[0].optimizer.parameters = {16};
  EXPECT_THAT(why(config), HasSubstr("job 5 has a model, which only tributary-psd hosts"));
  const FileDescriptor taken(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  config = server();
  config.udp_port = bind_to(taken, kHostIpv4);
  EXPECT_THAT(why(config), HasSubstr("cannot bind"));
}

TEST(CommunicatorHostTimed, T10_ANodeNeedsAFile) {
  CommunicatorOptions options{.job = 1, .rank = 0, .size = 1, .address = "udp://127.0.0.1"};
  options.host_node = "w4";
  EXPECT_THROW((void)Communicator::create(options), std::invalid_argument);
  options.host_config = "/nowhere.yaml";
  EXPECT_THROW((void)Communicator::create(options), std::exception) << "no such file";
}

}  // namespace
}  // namespace tributary::worker
