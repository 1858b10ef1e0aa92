#include "tools/client/doctor/switch_probe.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <sys/socket.h>

#include <array>
#include <thread>

#include "core/wire/header.h"
#include "worker/transport/file_descriptor.h"

namespace tributary::client {
namespace {

using ::testing::HasSubstr;

constexpr std::uint32_t kLoopback = 0x7F000001;

// A socket on loopback that answers one probe with a NACK.
class FakeSwitch {
 public:
  FakeSwitch() : fd_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in own{};
    own.sin_family = AF_INET;
    own.sin_addr.s_addr = htonl(kLoopback);
    ::bind(fd_.get(), reinterpret_cast<sockaddr*>(&own), sizeof own);
    socklen_t length = sizeof own;
    ::getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&own), &length);
    port_ = ntohs(own.sin_port);
  }
  [[nodiscard]] std::uint16_t port() const { return port_; }

  void answer(wire::Reason reason) {
    std::array<std::byte, 2048> bytes;
    sockaddr_in from{};
    socklen_t length = sizeof from;
    const ssize_t got = ::recvfrom(fd_.get(), bytes.data(), bytes.size(), 0,
                                   reinterpret_cast<sockaddr*>(&from), &length);
    ASSERT_GT(got, 0);
    const auto parsed = wire::parse(std::span(bytes).first(static_cast<std::size_t>(got)));
    ASSERT_TRUE(std::holds_alternative<wire::Packet>(parsed));
    wire::Header reply = std::get<wire::Packet>(parsed).header;
    EXPECT_EQ(reply.type, wire::PacketType::probe);
    EXPECT_EQ(reply.epoch, 0) << "no epoch has this number";
    reply.type = wire::PacketType::nack;
    reply.reason = reason;
    const std::size_t size = wire::serialize(reply, {}, bytes);
    ::sendto(fd_.get(), bytes.data(), size, 0, reinterpret_cast<sockaddr*>(&from), length);
  }

 private:
  worker::FileDescriptor fd_;
  std::uint16_t port_ = 0;
};

ProbeAnswer ask(wire::Reason reason) {
  FakeSwitch fake;
  std::thread switch_thread([&] { fake.answer(reason); });
  const ProbeAnswer answer = probe_switch(kLoopback, fake.port(), 7, Duration::seconds(20));
  switch_thread.join();
  return answer;
}

TEST(SwitchProbe, ASwitchThatKnowsTheJobIsFine) {
  const ProbeAnswer answer = ask(wire::Reason::not_joined);
  EXPECT_TRUE(answer.answered);
  const Finding finding = judge(answer, "udp://10.0.0.1", 7);
  EXPECT_EQ(finding.level, Finding::Level::ok);
  EXPECT_EQ(finding.state, "answers for job 7");
}

TEST(SwitchProbe, AnUnknownJobIsNamed) {
  const Finding finding = judge(ask(wire::Reason::unknown_job), "udp://10.0.0.1", 7);
  EXPECT_EQ(finding.level, Finding::Level::error);
  EXPECT_THAT(finding.state, HasSubstr("has no job 7"));
}

TEST(SwitchProbe, AClosedPortIsNotASilentSwitch) {
  std::uint16_t port = 0;
  {
    const FakeSwitch gone;
    port = gone.port();
  }
  const ProbeAnswer answer = probe_switch(kLoopback, port, 7, Duration::seconds(20));
  EXPECT_TRUE(answer.port_closed);
  EXPECT_THAT(judge(answer, "udp://127.0.0.1", 7).state, HasSubstr("no switch listens"));
}

TEST(SwitchProbe, SilenceIsAnErrorWithWhatToLookAt) {
  const FakeSwitch silent;
  const ProbeAnswer answer = probe_switch(kLoopback, silent.port(), 7, Duration::ms(1));
  EXPECT_FALSE(answer.answered || answer.port_closed);
  const Finding finding = judge(answer, "udp://10.0.0.1", 7);
  EXPECT_EQ(finding.level, Finding::Level::error);
  EXPECT_THAT(finding.remedy, HasSubstr("firewall"));
}

}  // namespace
}  // namespace tributary::client
