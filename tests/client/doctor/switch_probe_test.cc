#include "tools/client/doctor/switch_probe.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <sys/socket.h>

#include <array>
#include <thread>
#include <vector>

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

  // Answers one probe; with `settings`, as a switch that tells those of the job.
  void answer(wire::Reason reason, bool settings = true) {
    std::vector<std::byte> bytes(0x10000);
    sockaddr_in from{};
    socklen_t length = sizeof from;
    const ssize_t got = ::recvfrom(fd_.get(), bytes.data(), bytes.size(), 0,
                                   reinterpret_cast<sockaddr*>(&from), &length);
    ASSERT_GT(got, 0);
    const auto parsed = wire::parse(std::span(bytes).first(static_cast<std::size_t>(got)));
    ASSERT_TRUE(std::holds_alternative<wire::Packet>(parsed));
    probe = std::get<wire::Packet>(parsed).header;
    packet_bytes = static_cast<std::size_t>(got);
    wire::Header reply;
    reply.type = wire::PacketType::nack;
    reply.job = probe.job;
    reply.seq = probe.seq;
    reply.reason = reason;
    std::array<std::byte, 64> room;
    wire::ExtensionWriter ext(room);
    if (settings) ext.add(wire::StartInfo{.chunk_bytes = 8192, .workers = 4});
    if (probe.slot != 0) {
      reply.dtype = wire::DType::uint8;
      reply.element_count = static_cast<std::uint16_t>(probe.slot);
    }
    std::size_t size = wire::serialize(reply, ext.bytes(), bytes);
    size += probe.slot;
    ::sendto(fd_.get(), bytes.data(), size, 0, reinterpret_cast<sockaddr*>(&from), length);
  }

  wire::Header probe;
  std::size_t packet_bytes = 0;

 private:
  worker::FileDescriptor fd_;
  std::uint16_t port_ = 0;
};

struct Exchange {
  ProbeAnswer answer;
  wire::Header probe;
  std::size_t packet_bytes = 0;
};

Exchange exchange(wire::Reason reason, const ProbeQuestion& question, bool settings = true) {
  FakeSwitch fake;
  std::thread switch_thread([&] { fake.answer(reason, settings); });
  SwitchProbe probe(kLoopback, fake.port());
  const ProbeAnswer answer = probe.ask(question, 1, Duration::seconds(20));
  switch_thread.join();
  return {answer, fake.probe, fake.packet_bytes};
}

constexpr ProbeQuestion kQuestion{.job = 7};

TEST(SwitchProbeTimed, ASwitchThatKnowsTheJobIsFine) {
  const Exchange e = exchange(wire::Reason::not_joined, kQuestion);
  EXPECT_EQ(e.probe.type, wire::PacketType::probe);
  EXPECT_EQ(e.probe.epoch, 0) << "no epoch has this number";
  EXPECT_TRUE(e.answer.answered);
  ASSERT_TRUE(e.answer.settings);
  EXPECT_EQ(e.answer.settings->chunk_bytes, 8192u);
  const Finding finding = judge(e.answer, "udp://10.0.0.1", kQuestion);
  EXPECT_EQ(finding.level, Finding::Level::ok);
  EXPECT_EQ(finding.state, "answers for job 7");
}

TEST(SwitchProbeTimed, AnUnknownJobIsNamed) {
  const Finding finding = judge(exchange(wire::Reason::unknown_job, kQuestion, false).answer,
                                "udp://10.0.0.1", kQuestion);
  EXPECT_EQ(finding.level, Finding::Level::error);
  EXPECT_THAT(finding.state, HasSubstr("has no job 7"));
}

TEST(SwitchProbeTimed, APacketHasTheSizeOfTheJobsLargest) {
  const Exchange e =
      exchange(wire::Reason::not_joined, {.job = 7, .bytes = 8192, .wanted = 100}, false);
  EXPECT_EQ(e.packet_bytes, wire::kHeaderBytes + 64 + 8192) << "room for extensions, rule 17";
  EXPECT_EQ(e.probe.slot, 164u);
  EXPECT_EQ(e.answer.bytes, 164u);
}

TEST(SwitchProbeTimed, ARankIsRefusedByASwitchThatLooksAtIt) {
  const ProbeQuestion question{.job = 7, .rank = 3};
  const Exchange e = exchange(wire::Reason::bad_rank, question);
  EXPECT_EQ(e.probe.origin, 3u);
  EXPECT_TRUE(refuses_rank(e.answer, question));
  EXPECT_FALSE(refuses_rank(e.answer, kQuestion)) << "no rank is meant";
  EXPECT_FALSE(refuses_rank(exchange(wire::Reason::bad_rank, question, false).answer, question));
}

TEST(SwitchProbeTimed, AClosedPortIsNotASilentSwitch) {
  std::uint16_t port = 0;
  {
    const FakeSwitch gone;
    port = gone.port();
  }
  const ProbeAnswer answer = SwitchProbe(kLoopback, port).ask(kQuestion, 3, Duration::seconds(20));
  EXPECT_TRUE(answer.port_closed);
  EXPECT_THAT(judge(answer, "udp://127.0.0.1", kQuestion).state, HasSubstr("no switch listens"));
}

TEST(SwitchProbeTimed, SilenceIsNoAnswer) {
  const FakeSwitch silent;
  const ProbeAnswer answer =
      SwitchProbe(kLoopback, silent.port()).ask(kQuestion, 3, Duration::ms(1));
  EXPECT_FALSE(answer.answered || answer.port_closed || answer.too_long);
}

ProbeAnswer refusal(std::uint32_t ask_ipv4) {
  ProbeAnswer answer;
  answer.answered = true;
  answer.reason = wire::Reason::bad_rank;
  answer.ask_ipv4 = ask_ipv4;
  answer.ask_id = 240;
  answer.settings = wire::StartInfo{.workers = 4};
  return answer;
}

// 1 sends to 2, which sends to 3, whose rank it is.
TEST(LeafTimed, IsFoundByTheAnswersOfTheTree) {
  const AskSwitch ask = [](std::uint32_t ipv4) {
    ProbeAnswer answer = refusal(ipv4 + 1);
    if (ipv4 == 3) answer.reason = wire::Reason::not_joined;
    return answer;
  };
  EXPECT_EQ(find_leaf(refusal(2), ask), 3u);
  EXPECT_EQ(find_leaf(refusal(0), ask), 0u);
}

TEST(LeafTimed, ACircleAndASilentSwitchEndTheSearch) {
  EXPECT_EQ(find_leaf(refusal(2), [](std::uint32_t) { return refusal(2); }), 0u);
  EXPECT_EQ(find_leaf(refusal(2), [](std::uint32_t) { return ProbeAnswer(); }), 0u);
}

TEST(LeafTimed, TheFindingHasTheAddressToUse) {
  const ProbeQuestion question{.job = 1, .rank = 3};
  const Finding found = judge_leaf(refusal(0x0A4D0002), 0x0A4D0003, "udp://10.77.0.1", question);
  EXPECT_EQ(found.level, Finding::Level::error);
  EXPECT_EQ(found.state, "is not the switch of rank 3 of job 1; that is 10.77.0.3");
  EXPECT_EQ(found.remedy, "give the rank the address udp://10.77.0.3");
  const Finding unknown = judge_leaf(refusal(0x0A4D0002), 0, "udp://10.77.0.1", question);
  EXPECT_THAT(unknown.state, HasSubstr("switch 240 knows more"));
  EXPECT_THAT(unknown.remedy, HasSubstr("--address udp://10.77.0.2 --job 1 --rank 3"));
  const ProbeQuestion outside{.job = 1, .rank = 4};
  EXPECT_THAT(judge_leaf(refusal(0), 0, "udp://10.77.0.1", outside).state,
              HasSubstr("has no rank 4 of job 1: there are 4"));
  ProbeAnswer port = refusal(0);
  port.reason = wire::Reason::sender_mismatch;
  EXPECT_THAT(judge_leaf(port, 0, "udp://10.77.0.1", question).state,
              HasSubstr("through another port"));
}

}  // namespace
}  // namespace tributary::client
