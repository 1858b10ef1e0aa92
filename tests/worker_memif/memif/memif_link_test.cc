// Several communicators of a process at one memif interface.
#include "worker/memif/memif_link.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "dataplane/frame/devargs.h"
#include "tests/worker_memif/echo_switch.h"
#include "worker/memif/memif_transport.h"

namespace tributary::worker {
namespace {

using tributary::testing::EchoSwitch;

// For a wait that must end by an event; reached only when the code is broken.
constexpr Duration kForever = Duration::seconds(60);
constexpr std::uint32_t kGroup = 0xEFC30007;

std::string socket_path() {
  return "/tmp/tributary-memif-link-" + std::to_string(getpid());
}

void ignore(const wire::Packet&) {}

// A packet whose seq and elements say which it is.
struct Sample {
  std::array<std::byte, wire::kHeaderBytes + 2> head{};
  std::array<std::uint32_t, 256> elements{};
  [[nodiscard]] Datagram datagram() const {
    return {std::span(head).first(wire::serialized_bytes(0)), std::as_bytes(std::span(elements))};
  }
};
Sample make_sample(std::uint32_t job, std::uint32_t seq) {
  Sample s;
  s.elements.fill(job << 24 | seq);
  wire::Header h;
  h.job = job;
  h.seq = seq;
  h.dtype = wire::DType::int32;
  h.element_count = static_cast<std::uint16_t>(s.elements.size());
  wire::serialize(h, {}, s.head);
  return s;
}
bool is_sample(const wire::Packet& p, std::uint32_t job, std::uint32_t seq) {
  const Sample s = make_sample(job, seq);
  const auto expected = std::as_bytes(std::span(s.elements));
  return p.header.job == job && p.header.seq == seq &&
         std::equal(expected.begin(), expected.end(), p.payload.begin(), p.payload.end());
}

class MemifLinkTestTimed : public ::testing::Test {
 protected:
  void SetUp() override {
    server_ = &EchoSwitch::at(socket_path());
    server_->reset();
    first_ = communicator(1);
    second_ = communicator(2);
  }
  void TearDown() override {
    server_->while_client_leaves([&] {
      first_.reset();
      second_.reset();
    });
  }
  static std::unique_ptr<MemifTransport> communicator(std::uint32_t job) {
    return std::make_unique<MemifTransport>(MemifAddress{socket_path(), 0, EchoSwitch::kIp,
                                                         derived_worker_ipv4(job, 0),
                                                         config::kDefaultUdpBasePort});
  }
  // Returns when the switch has answered.
  void send(MemifTransport& from, std::uint32_t job, std::uint32_t seq) {
    const std::uint64_t before = server_->received;
    ASSERT_EQ(from.send(std::array{make_sample(job, seq).datagram()}), 1u);
    while (server_->received == before) std::this_thread::yield();
    const auto answered = server_->pause();
  }
  static void expect_next(MemifTransport& at, std::uint32_t job, std::uint32_t seq) {
    std::size_t got = 0;
    while (got == 0) {
      got = at.receive([&](const wire::Packet& p) { EXPECT_TRUE(is_sample(p, job, seq)) << seq; });
      if (got == 0) at.wait(kForever);
    }
    EXPECT_EQ(got, 1u);
  }

  EchoSwitch* server_ = nullptr;
  std::unique_ptr<MemifTransport> first_, second_;
};

TEST_F(MemifLinkTestTimed, EachHearsItsOwnPackets) {
  for (std::uint32_t seq = 1; seq <= 3; ++seq) {
    send(*first_, 1, seq);
    send(*second_, 2, seq);
    expect_next(*second_, 2, seq);
    expect_next(*first_, 1, seq);
    EXPECT_EQ(first_->receive(ignore) + second_->receive(ignore), 0u);
  }
  EXPECT_EQ(first_->drops().total() + second_->drops().total(), 0u);
}

TEST_F(MemifLinkTestTimed, EachHearsItsOwnGroup) {
  wire::StartInfo info;
  info.window = 64;
  info.udp_base_port = config::kDefaultUdpBasePort;
  info.group_ipv4 = kGroup;
  first_->on_start(info);
  info.group_ipv4 = kGroup + 1;
  second_->on_start(info);
  server_->group_ip = kGroup + 1;
  send(*first_, 2, 7);
  EXPECT_EQ(first_->receive(ignore), 0u);
  expect_next(*second_, 2, 7);
}

// Two ranks of a job may be threads of one process: both get what comes to its group.
TEST_F(MemifLinkTestTimed, RanksOfAJobShareItsGroup) {
  wire::StartInfo info;
  info.window = 64;
  info.udp_base_port = config::kDefaultUdpBasePort;
  info.group_ipv4 = kGroup;
  first_->on_start(info);
  second_->on_start(info);
  server_->group_ip = kGroup;
  send(*first_, 1, 7);
  expect_next(*first_, 1, 7);
  expect_next(*second_, 1, 7);
}

TEST_F(MemifLinkTestTimed, OneThatDoesNotReadLosesItsOwnFramesAlone) {
  constexpr std::uint32_t kMore = 100;
  send(*second_, 2, 0);
  expect_next(*second_, 2, 0);  // and the switch's answers to ARP, before it
  for (std::uint32_t seq = 0; seq < MemifInbox::kMostFrames + kMore; ++seq) {
    send(*second_, 2, seq);
    send(*first_, 1, seq);
    expect_next(*first_, 1, seq);
  }
  EXPECT_EQ(first_->drops().total(), 0u);
  std::uint32_t next = 0;
  while (second_->receive([&](const wire::Packet& p) {
    EXPECT_TRUE(is_sample(p, 2, next));
    ++next;
  }) != 0) {
  }
  EXPECT_EQ(next, MemifInbox::kMostFrames);
  EXPECT_EQ(second_->drops().get(DropReason::handover_full), kMore);
  send(*second_, 2, 0);
  expect_next(*second_, 2, 0);
}

// As their progress threads do, and more than 2^16 frames: the rings wrap.
TEST_F(MemifLinkTestTimed, TwoThreadsExchangePacketsInOrder) {
  constexpr std::uint32_t kCount = 40'000;
  const auto exchange = [](MemifTransport& at, std::uint32_t job) {
    constexpr std::uint32_t kWindow = 32;
    std::uint32_t sent = 0;
    std::uint32_t next = 0;
    while (next < kCount) {
      while (sent < kCount && sent - next < kWindow) {
        const Sample sample = make_sample(job, sent);
        if (at.send(std::array{sample.datagram()}) == 0) break;
        ++sent;
      }
      const std::size_t got = at.receive([&](const wire::Packet& p) {
        EXPECT_TRUE(is_sample(p, job, next)) << "job " << job << " seq " << next;
        ++next;
      });
      if (got == 0 && next < kCount) at.wait(kForever);
    }
  };
  std::thread other([&] { exchange(*second_, 2); });
  exchange(*first_, 1);
  other.join();
  EXPECT_EQ(first_->drops().total() + second_->drops().total(), 0u);
}

// The second one sleeps while the first watches for both.
TEST_F(MemifLinkTestTimed, OneThatLeavesWhileItWatchesIsReplaced) {
  first_->wait(Duration());
  std::thread other([&] { expect_next(*second_, 2, 5); });
  first_.reset();
  EXPECT_TRUE(server_->link_up());
  const std::unique_ptr<MemifTransport> third = communicator(2);  // the second's address
  third->send(std::array{make_sample(2, 5).datagram()});
  other.join();
}

TEST_F(MemifLinkTestTimed, AThreadThatStopsReadingIsReplaced) {
  first_->wait(Duration());  // it watches, and is awake ever after
  second_->wait(Duration::ms(1));
  send(*second_, 2, 5);
  second_->wait(kForever);
  expect_next(*second_, 2, 5);
}

TEST_F(MemifLinkTestTimed, ARestartedSwitchIsFoundAgainByAll) {
  server_->restart();
  std::thread other([&] {
    while (second_->link_up()) {
      second_->receive(ignore);
      second_->wait(kForever);
    }
    while (!second_->link_up()) second_->wait(kForever);
  });
  while (first_->link_up()) {
    first_->receive(ignore);
    first_->wait(kForever);
  }
  while (!first_->link_up()) first_->wait(kForever);
  other.join();
  send(*first_, 1, 1);
  send(*second_, 2, 2);
  expect_next(*first_, 1, 1);
  expect_next(*second_, 2, 2);
}

// Even after a try while no switch was there.
TEST(MemifLinkToAnyTimed, HasItsPortAgainWhenTheSwitchIsBack) {
  const std::string path = socket_path() + "-any";
  std::array<std::unique_ptr<dataplane::MemifPort>, 2> ports;
  const auto open = [&] {
    for (std::size_t id = 0; id < ports.size(); ++id) {
      const std::string text = std::to_string(id);
      ports[id] = std::make_unique<dataplane::MemifPort>(
          dataplane::parse_devargs("net_memif_any" + text + ",role=server,id=" + text +
                                   ",socket=" + path + ",socket-abstract=no"));
      ports[id]->tell(EchoSwitch::kIp, EchoSwitch::kPort);
      ports[id]->open(std::array{EchoSwitch::pool()});
    }
  };
  open();
  MemifLink link(path, memif::kAnyId);
  {
    MemifRings rings;
    const MemifControl first(path, 0, rings, kForever);
    link.connect(kForever);
    EXPECT_EQ(link.told_id(), 1u);
  }
  ports = {};
  MemifMember member(worker_mac(1));
  link.add(member);
  while (link.up()) link.wait(member, kForever, false);
  EXPECT_THROW(link.connect(kForever), MemifConnectError);
  open();
  link.connect(kForever);
  EXPECT_EQ(link.told_id(), 1u);
  link.remove(member);
}

TEST_F(MemifLinkTestTimed, AForkedChildHasNone) {
  const auto here = MemifLink::at(socket_path(), 0);
  EXPECT_EQ(MemifLink::at(socket_path(), 0), here);
  EXPECT_NE(MemifLink::at(socket_path(), 1), here);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(MemifLink::at(socket_path(), 0) == here ? 1 : 0);
  int how = 0;
  ASSERT_EQ(::waitpid(child, &how, 0), child);
  EXPECT_EQ(how, 0);
}

}  // namespace
}  // namespace tributary::worker
