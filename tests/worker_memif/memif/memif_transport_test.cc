// The memif transport against DPDK's memif driver: the two ends that meet in production.
#include "worker/memif/memif_transport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <cstring>
#include <latch>
#include <memory>
#include <thread>
#include <vector>

#include "core/prng.h"
#include "tests/worker_memif/echo_switch.h"

namespace tributary::worker {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using tributary::testing::EchoSwitch;

constexpr std::uint64_t kSeed = 20240611;
// For a wait that must end by an event; reached only when the code is broken.
constexpr Duration kForever = Duration::seconds(60);
constexpr std::uint32_t kGroup = 0xEFC30007;

std::string socket_path() {
  return "/tmp/tributary-memif-test-" + std::to_string(getpid());
}
MemifAddress address_of(std::uint32_t id = 0) {
  return {socket_path(), id, EchoSwitch::kIp, derived_worker_ipv4(7, id),
          config::kDefaultUdpBasePort};
}
wire::StartInfo start_info(std::uint32_t window = 64) {
  wire::StartInfo info;
  info.window = window;
  info.chunk_bytes = 8192;
  info.workers = 1;
  info.group_ipv4 = kGroup;
  info.udp_base_port = config::kDefaultUdpBasePort;
  return info;
}

// One packet with random elements; seq says which.
struct Sample {
  std::vector<std::byte> head;
  std::vector<std::byte> payload;
  [[nodiscard]] Datagram datagram() const { return {head, payload, 0}; }
};
Sample make_sample(Prng& prng, std::uint32_t seq, std::size_t elements) {
  Sample s;
  s.payload.resize(elements * 4);
  for (auto& b : s.payload) b = static_cast<std::byte>(prng.next());
  wire::Header h;
  h.seq = seq;
  h.dtype = elements == 0 ? wire::DType::none : wire::DType::int32;
  h.element_count = static_cast<std::uint16_t>(elements);
  s.head.resize(wire::serialized_bytes(0));
  wire::serialize(h, {}, s.head);
  return s;
}

class MemifTransportTestTimed : public ::testing::Test {
 protected:
  void SetUp() override {
    server_ = &EchoSwitch::at(socket_path());
    server_->reset();
    transport_ = std::make_unique<MemifTransport>(address_of());
  }
  void TearDown() override {
    server_->while_client_leaves([&] { transport_.reset(); });
  }

  // Every packet that comes until `count` did.
  std::size_t receive_until(std::size_t count, const Transport::Receiver& receiver) {
    std::size_t got = 0;
    while (got < count) {
      got += transport_->receive(receiver);
      if (got < count) transport_->wait(kForever);
    }
    return got;
  }
  // Sends one packet and waits until the switch has answered it; whether that arrived.
  void send_one(std::size_t elements = 4) {
    Prng prng(kSeed);
    const Sample s = make_sample(prng, 1, elements);
    const std::uint64_t before = server_->received;
    ASSERT_EQ(transport_->send(std::array{s.datagram()}), 1u);
    while (server_->received == before) std::this_thread::yield();
    const auto answered = server_->pause();
  }

  EchoSwitch* server_ = nullptr;
  std::unique_ptr<MemifTransport> transport_;
};

// More than 2^16 frames: ring indices wrap; more than the depth at once: send() takes a prefix.
TEST_F(MemifTransportTestTimed, ManyPacketsInOrderPastTheWrapOfTheIndices) {
  constexpr std::uint32_t kCount = 150'000;
  Prng prng(kSeed);
  std::uint32_t sent = 0;
  std::uint32_t next = 0;
  while (next < kCount) {
    std::array<std::vector<std::byte>, 32> heads;
    std::vector<Datagram> batch;
    for (std::uint32_t i = 0; i < heads.size() && sent + i < kCount; ++i) {
      heads[i] = make_sample(prng, sent + i, 0).head;
      batch.push_back({heads[i], {}, 0});
    }
    // As many in flight as the switch could return at once.
    if (sent - next < 128 && !batch.empty())
      sent += static_cast<std::uint32_t>(transport_->send(batch));
    transport_->receive([&](const wire::Packet& p) { ASSERT_EQ(p.header.seq, next++); });
    if (next < kCount && (sent - next >= 128 || sent == kCount)) transport_->wait(kForever);
  }
  EXPECT_EQ(transport_->drops().total(), 0u);
}

TEST_F(MemifTransportTestTimed, FullRingAcceptsAPrefixAndWaitEndsWhenThereIsRoom) {
  Prng prng(kSeed);
  const Sample s = make_sample(prng, 1, 4);
  const std::vector<Datagram> batch(300, s.datagram());
  std::size_t accepted = 0;
  {
    const auto paused = server_->pause();
    accepted = transport_->send(batch);
    EXPECT_GT(accepted, 0u);
    EXPECT_LT(accepted, batch.size());
    EXPECT_EQ(transport_->send(batch), 0u);
  }
  transport_->wait(kForever);
  std::size_t received = 0;
  while (accepted < batch.size() || received < batch.size()) {
    accepted += transport_->send(std::span(batch).subspan(accepted));
    received += transport_->receive([](const wire::Packet&) {});
    if (received < batch.size()) transport_->wait(kForever);
  }
}

TEST_F(MemifTransportTestTimed, StartMakesRoomForTheWholeWindow) {
  transport_->on_start(start_info(1024));
  Prng prng(kSeed);
  const Sample s = make_sample(prng, 1, 2048);
  const std::vector<Datagram> batch(1024, s.datagram());
  {
    const auto paused = server_->pause();
    EXPECT_EQ(transport_->send(batch), batch.size());
  }
  EXPECT_EQ(receive_until(batch.size(),
                          [&](const wire::Packet& p) {
                            EXPECT_TRUE(
                                std::equal(s.payload.begin(), s.payload.end(), p.payload.begin()));
                          }),
            batch.size());
}

TEST_F(MemifTransportTestTimed, GroupIsHeardFromStartOn) {
  server_->group_ip = kGroup;
  send_one();
  EXPECT_EQ(transport_->receive([](const wire::Packet&) {}), 0u);
  transport_->on_start(start_info());
  send_one();
  EXPECT_EQ(receive_until(1, [](const wire::Packet&) {}), 1u);
  server_->group_ip = kGroup + 1;  // another job's
  send_one();
  EXPECT_EQ(transport_->receive([](const wire::Packet&) {}), 0u);
  EXPECT_EQ(transport_->drops().total(), 0u);
}

// T9, rule 18: another process on the host's machine is not the host.
TEST_F(MemifTransportTestTimed, T9_AHostIsHeardFromItsUdpPortAlone) {
  auto info = start_info();
  info.notify = static_cast<std::uint8_t>(wire::Notify::direct);
  info.completion_host = EchoSwitch::kIp + 1;
  info.host_term = 7;
  server_->group_ip = kGroup;
  server_->answer_from = info.completion_host;
  std::array<std::byte, 64> room;
  wire::ExtensionWriter extensions(room);
  extensions.add(wire::ResultInfo{64, 0, info.host_term, 0});
  wire::Header h;
  h.type = wire::PacketType::result;
  h.flags = wire::kFlagAtPs;
  std::vector<std::byte> head(wire::serialized_bytes(extensions.bytes().size()));
  wire::serialize(h, extensions.bytes(), head);
  const auto results_by = [&](std::uint16_t udp_port) {
    transport_->on_host(udp_port);
    transport_->on_start(info);
    const std::uint64_t before = server_->received;
    EXPECT_EQ(transport_->send(std::array{Datagram{head, {}, 0}}), 1u);
    while (server_->received == before) std::this_thread::yield();
    const auto answered = server_->pause();
    return transport_->receive([](const wire::Packet&) {});
  };
  EXPECT_EQ(results_by(0), 0u) << "START knew of no port";
  EXPECT_EQ(results_by(info.udp_base_port + 1), 0u);
  EXPECT_EQ(transport_->drops().get(DropReason::sender_mismatch), 2u);
  EXPECT_EQ(results_by(info.udp_base_port), 1u);
}

TEST_F(MemifTransportTestTimed, OversizeDatagramIsDroppedAndCounted) {
  std::vector<std::byte> head(wire::kHeaderBytes);
  const std::vector<std::byte> payload(transport_->max_datagram_bytes() - head.size() + 1);
  EXPECT_EQ(transport_->send(std::array{Datagram{head, payload, 0}}), 1u);
  EXPECT_EQ(transport_->drops().get(DropReason::mtu), 1u);
  EXPECT_EQ(transport_->send(std::array{Datagram{head, std::span(payload).subspan(1), 0}}), 1u);
  EXPECT_EQ(transport_->drops().get(DropReason::mtu), 1u);
}

// Rule 18: what was damaged on the way is dropped; what another host sends, too.
TEST_F(MemifTransportTestTimed, DamagedAndForeignPacketsAreCounted) {
  server_->corrupt = true;
  send_one();
  EXPECT_EQ(transport_->receive([](const wire::Packet&) {}), 0u);
  EXPECT_EQ(transport_->drops().get(DropReason::checksum), 1u);
  server_->corrupt = false;
  server_->answer_from = EchoSwitch::kIp + 1;
  send_one();
  EXPECT_EQ(transport_->receive([](const wire::Packet&) {}), 0u);
  EXPECT_EQ(transport_->drops().get(DropReason::sender_mismatch), 1u);
}

// Rule 15: what it sends may be marked on its way, and it hears of marks.
TEST_F(MemifTransportTestTimed, Rule15_MarksGoBothWays) {
  for (const bool mark : {false, true}) {
    server_->mark = mark;
    send_one();
    EXPECT_EQ(
        receive_until(1, [&](const wire::Packet& p) { EXPECT_EQ(p.congestion_experienced, mark); }),
        1u);
  }
}

TEST_F(MemifTransportTestTimed, RandomFramesNeverCrashOrPass) {
  Prng prng(kSeed);
  const wire::MacAddress own = worker_mac(address_of().own_ipv4);
  const wire::MacAddress broadcast = {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};
  constexpr std::size_t kFrames = 2000;
  for (std::size_t i = 0; i < kFrames; ++i) {
    std::vector<std::byte> body(prng.below(200));
    for (auto& b : body) b = static_cast<std::byte>(prng.next());
    const bool arp = prng.below(2) == 0;
    if (!arp && !body.empty()) body[0] = std::byte{0x45};
    server_->inject(arp ? broadcast : own, arp ? 0x0806 : 0x0800, body);
    transport_->receive([](const wire::Packet&) { FAIL(); });
  }
  // A good one at last: all before it have been looked at when it is delivered.
  const Sample last = make_sample(prng, 1, 0);
  std::vector<std::byte> frame(wire::kUdpPayloadOffset + last.head.size());
  std::copy(last.head.begin(), last.head.end(), frame.begin() + wire::kUdpPayloadOffset);
  wire::FrameTemplate t;
  t.endpoints = {EchoSwitch::kIp, address_of().own_ipv4, 47000, config::kDefaultUdpBasePort};
  wire::write_frame_headers(t, frame, last.head.size());
  server_->inject(own, 0x0800, std::span(frame).subspan(wire::kEthernetBytes));
  receive_until(1, [](const wire::Packet& p) { EXPECT_EQ(p.header.seq, 1u); });
  EXPECT_GT(transport_->drops().total(), 0u);
}

TEST_F(MemifTransportTestTimed, WaitSleepsUntilAPacketComes) {
  Prng prng(kSeed);
  const Sample s = make_sample(prng, 1, 4);
  std::latch paused(1);
  std::latch sent(1);
  std::thread later([&] {  // who locks a mutex must unlock it
    const auto pause = server_->pause();
    paused.count_down();
    sent.wait();
    std::this_thread::yield();
  });
  paused.wait();
  transport_->send(std::array{s.datagram()});
  sent.count_down();
  EXPECT_EQ(receive_until(1, [](const wire::Packet&) {}), 1u);
  later.join();
}

std::int64_t thread_cpu_ns() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec * 1'000'000'000 + t.tv_nsec;
}

TEST_F(MemifTransportTestTimed, WaitingBurnsNoCpu) {
  send_one();
  receive_until(1, [](const wire::Packet&) {});
  const std::int64_t before = thread_cpu_ns();
  for (int i = 0; i < 10; ++i) transport_->wait(Duration::ms(50));
  const std::int64_t burnt = thread_cpu_ns() - before;
  RecordProperty("cpu_us_in_500_ms", std::to_string(burnt / 1000));
  EXPECT_LT(burnt, 25'000'000) << "ns of CPU time in 500 ms of waiting";
}

TEST_F(MemifTransportTestTimed, ARestartedSwitchIsFoundAgain) {
  Prng prng(kSeed);
  const Sample s = make_sample(prng, 1, 4);
  for (int i = 0; i < 3; ++i) {
    server_->restart();
    while (transport_->link_up()) {
      transport_->receive([](const wire::Packet&) {});
      transport_->wait(kForever);
    }
    EXPECT_EQ(transport_->send(std::array{s.datagram()}), 0u);
    EXPECT_EQ(transport_->receive([](const wire::Packet&) {}), 0u);
    EXPECT_THAT(transport_->describe(), HasSubstr("(down)"));
    while (!transport_->link_up()) transport_->wait(kForever);
    send_one();
    EXPECT_EQ(receive_until(1, [](const wire::Packet&) {}), 1u);
  }
}

// The driver's own handshake runs on DPDK's interrupt thread, beside who stops the port.
TEST(MemifConnectTimed, ASwitchMayStopInTheMiddleOfAHandshake) {
  const std::string path = socket_path() + "-stops";
  EchoSwitch& server = EchoSwitch::at(path);
  std::atomic<int> begun = 0;
  std::atomic<bool> done = false;
  std::thread client([&] {
    while (!done) {
      MemifRings rings;
      ++begun;
      try {
        MemifControl control(path, 0, rings, kForever);
        while (!done && !control.server_left()) std::this_thread::yield();
      } catch (const MemifConnectError&) {  // what it says depends on where it was cut
      }
    }
  });
  Prng prng(kSeed);
  for (int i = 0; i < 300; ++i) {
    for (const int before = begun; begun == before && !server.link_up();) std::this_thread::yield();
    for (auto turns = prng.next() % 64; turns != 0; --turns) std::this_thread::yield();
    server.restart();
  }
  server.while_client_leaves([&] {
    done = true;
    client.join();
  });
}

// `limit`: short where the end of the waiting itself is awaited.
std::string failure_of(const MemifAddress& address, Duration limit) {
  try {
    const MemifTransport transport(address, {limit});
  } catch (const std::runtime_error& e) {
    return e.what();
  }
  return "connected";
}

TEST_F(MemifTransportTestTimed, RefusalsSayWhy) {
  EXPECT_THAT(failure_of(address_of(5), Duration::seconds(5)),
              AllOf(HasSubstr(socket_path()), HasSubstr("ID not found")));
  MemifRings rings;  // of another process
  try {
    const MemifControl connected(socket_path(), 0, rings, kForever);
    ADD_FAILURE() << "connected";
  } catch (const MemifConnectError& e) {
    EXPECT_THAT(e.what(), AllOf(HasSubstr(socket_path()), HasSubstr("Already connected")));
  }
}

TEST(MemifConnectTimed, NoSwitchNamesTheSocket) {
  MemifAddress a = address_of();
  a.socket = "/tmp/tributary-no-such-socket";
  EXPECT_THAT(failure_of(a, Duration::ms(30)),
              AllOf(HasSubstr(a.socket), HasSubstr("No such file")));
}

TEST(MemifConnectTimed, APathThatIsTooLongForASocketIsRefused) {
  MemifRings rings;
  try {
    const MemifControl connected(std::string(4096, 'x'), 0, rings, kForever);
    ADD_FAILURE() << "connected";
  } catch (const MemifConnectError& e) {
    EXPECT_THAT(e.what(), HasSubstr("File name too long"));
  }
}

// The first waits for HELLO, the next for the first to be accepted.
TEST(MemifConnectTimed, ASwitchThatAcceptsNobodyIsNotWaitedFor) {
  MemifAddress a = address_of();
  a.socket += "-busy";
  const FileDescriptor busy(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  a.socket.copy(at.sun_path, sizeof at.sun_path - 1);
  ASSERT_EQ(::bind(busy.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
  ASSERT_EQ(::listen(busy.get(), 0), 0);
  for (int i = 0; i < 2; ++i) {
    MemifRings rings;
    try {
      const MemifControl connected(a.socket, 0, rings, Duration::ms(30));
      ADD_FAILURE() << "connected";
    } catch (const MemifConnectError& e) {
      EXPECT_THAT(e.what(), AllOf(HasSubstr(a.socket), HasSubstr("does not answer")));
    }
  }
  ::unlink(a.socket.c_str());
}

TEST(MemifConnectTimed, WrongSwitchAddressIsAnArpFailure) {
  EchoSwitch& server = EchoSwitch::at(socket_path());
  server.reset();
  MemifAddress a = address_of();
  a.switch_ipv4 = EchoSwitch::kIp + 7;
  server.while_client_leaves([&] {
    EXPECT_THAT(failure_of(a, Duration::seconds(2)),
                AllOf(HasSubstr("10.77.1.5"), HasSubstr("ARP")));
  });
}

// The id, and the switch's address and UDP port.
TEST(MemifConnectTimed, TheSwitchTellsWhatTheAddressLeavesOut) {
  const std::string path = socket_path() + "-tells";
  EchoSwitch& server = EchoSwitch::at(path);
  EXPECT_THAT(failure_of(parse_memif_address("memif://" + path, 7, 0), Duration::seconds(5)),
              AllOf(HasSubstr(path), HasSubstr("does not tell its address")));
  server.tells = true;
  server.while_client_leaves([] {});
  server.restart();
  auto transport = std::make_unique<MemifTransport>(parse_memif_address("memif://" + path, 7, 0));
  EXPECT_THAT(transport->describe(),
              AllOf(HasSubstr("interface 0,"), HasSubstr("to switch 10.77.0.254:47100")));
  Prng prng(kSeed);
  const Sample s = make_sample(prng, 1, 4);
  std::size_t got = 0;
  const auto exchange = [&] {
    ASSERT_EQ(transport->send(std::array{s.datagram()}), 1u);
    for (got = 0; got == 0; got = transport->receive([](const wire::Packet&) {}))
      transport->wait(kForever);
  };
  exchange();
  server.restart();
  while (transport->link_up()) transport->wait(kForever);
  while (!transport->link_up()) transport->wait(kForever);
  exchange();
  server.while_client_leaves([&] { transport.reset(); });
}

TEST(MemifConnectTimed, AbstractSocketNames) {
  EchoSwitch& server = EchoSwitch::at(socket_path() + "-abstract", true);
  MemifAddress a = address_of();
  a.socket += "-abstract";
  auto transport = std::make_unique<MemifTransport>(a);
  EXPECT_TRUE(transport->link_up());
  server.while_client_leaves([&] { transport.reset(); });
}

}  // namespace
}  // namespace tributary::worker
