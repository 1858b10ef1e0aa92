// A port and its clients on a real socket, honest and hostile.
#include "dataplane/memif/memif_port.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rte_mbuf.h>
#include <sched.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <system_error>
#include <thread>

#include "dataplane/memif/memif_server.h"
#include "tests/dataplane/memif/client_memory.h"
#include "tests/dataplane/ring_switch.h"
#include "worker/transport/memif_control.h"

namespace tributary::dataplane {
namespace {

namespace memif = worker::memif;
using testing::HasSubstr;

std::string socket_name(const std::string& of = "port") {
  return "tributary-memif-" + of + "-" + std::to_string(::getpid());
}

std::string devargs(std::uint32_t id, const std::string& more = "") {
  return "net_memif_t" + std::to_string(id) + ",role=server,id=" + std::to_string(id) +
         ",socket=" + socket_name() + more;
}

std::size_t descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
    ++count;
  return count;
}

// Where the server, too, has a client's memory.
std::size_t mappings() {
  std::ifstream maps("/proc/self/maps");
  std::size_t count = 0;
  for (std::string line; std::getline(maps, line);)
    if (line.find("memfd:client") != std::string::npos) ++count;
  return count;
}

class PortsTimed : public testing::Test {
 protected:
  PortsTimed() {
    for (const std::uint32_t id : {0u, 1u}) {
      ports[id] = std::make_unique<MemifPort>(parse_devargs(devargs(id)));
      ports[id]->open(std::array{sw.pool()});
    }
  }
  void TearDown() override {
    EXPECT_EQ(sw.buffers_in_use(), 0u);
    ports = {};
  }
  static void await(const std::function<bool()>& what) {
    while (!what()) sched_yield();
  }
  // Both ways.
  void expect_works(const ClientMemory& memory, std::uint32_t id = 0) {
    memory.send(100, std::byte{5});
    std::array<rte_mbuf*, kBurst> burst{};
    std::uint16_t count = 0;
    EXPECT_TRUE(ports[id]->receive(0, burst.data(), kBurst, count));
    ASSERT_EQ(count, 1);
    memory.offer_buffer(2048);
    EXPECT_TRUE(ports[id]->transmit(0, burst.data(), 1, count));
    EXPECT_EQ(count, 1);
  }
  static std::uint64_t refused() { return MemifServer::instance().counters().refused.get(); }
  static std::uint64_t gone() { return MemifServer::instance().counters().gone.get(); }

  RingSwitch sw{test_config(1)};
  std::array<std::unique_ptr<MemifPort>, 2> ports;
};

TEST_F(PortsTimed, C1_AClientConnectsAndLeavesAndTheNextOneComes) {
  const std::size_t before = descriptors();
  for (std::uint32_t round = 1; round <= 3; ++round) {
    const ClientMemory memory;
    {
      const RawClient client(socket_name());
      ASSERT_EQ(client.connect(memory)->type, memif::MessageType::connected);
      EXPECT_TRUE(ports[0]->connected());
      EXPECT_EQ(mappings(), 2u);
      expect_works(memory);
    }
    await([&] { return ports[0]->departures() == round; });
    EXPECT_FALSE(ports[0]->connected());
    await([&] { return mappings() == 1; });
  }
  await([&] { return descriptors() == before; });
  EXPECT_EQ(ports[0]->deaths(), 0u) << "another client may come back";
}

// O1: no process that lives ends such a connection.
TEST_F(PortsTimed, TheLibrarysClientConnectsAndIsDeadWhenItCloses) {
  const std::size_t before = descriptors();
  {
    worker::MemifRings rings;
    const worker::MemifControl control(socket_name(), 1, rings, Duration::seconds(60));
    EXPECT_TRUE(ports[1]->connected());
    EXPECT_FALSE(ports[0]->connected());
    EXPECT_EQ(ports[1]->deaths(), 0u);
  }
  await([&] { return ports[1]->deaths() == 1; });
  await([&] { return descriptors() == before; });
}

// Two ask at the same time: a port is promised once.
TEST_F(PortsTimed, AnyPortIsAFreeOne) {
  ports[1]->tell(0x0A4D00FE, 47000);
  const ClientMemory memory;
  {
    const RawClient first(socket_name());
    first.step(0, memory, memif::kAnyId);
    worker::MemifRings rings;
    const worker::MemifControl second(socket_name(), memif::kAnyId, rings, Duration::seconds(60));
    EXPECT_TRUE(ports[1]->connected());
    EXPECT_EQ(second.told().id, 1u);
    EXPECT_EQ(second.told().switch_ipv4, 0x0A4D00FEu);
    EXPECT_EQ(second.told().udp_base_port, 47000);
    const RawClient third(socket_name());
    third.step(0, memory, memif::kAnyId);
    EXPECT_EQ(third.hear_refusal(), "No port is free");
  }
  await([&] { return !ports[1]->connected(); });
}

TEST_F(PortsTimed, APortWithASecretIsNoneForAnyClient) {
  MemifPort secret(
      parse_devargs("net_memif_t9,role=server,id=9,secret=key,socket=" + socket_name("secret")));
  secret.open(std::array{sw.pool()});
  const ClientMemory memory;
  const RawClient client(socket_name("secret"));
  client.step(0, memory, memif::kAnyId);
  EXPECT_EQ(client.hear_refusal(), "No port is free");
}

TEST_F(PortsTimed, AUserHasAsManyPortsAsIsAllowed) {
  std::array<std::unique_ptr<MemifPort>, 3> limited;
  for (std::uint32_t id = 0; id < limited.size(); ++id) {
    limited[id] = std::make_unique<MemifPort>(parse_devargs(
        "net_memif_u" + std::to_string(id) + ",role=server,per-user=2,id=" + std::to_string(id) +
        ",socket=" + socket_name("users")));
    limited[id]->open(std::array{sw.pool()});
  }
  std::array<ClientMemory, 3> memory;
  const RawClient first(socket_name("users"));
  ASSERT_EQ(first.connect(memory[0], 0)->type, memif::MessageType::connected);
  {
    const RawClient second(socket_name("users"));
    ASSERT_EQ(second.connect(memory[1], 1)->type, memif::MessageType::connected);
    const RawClient third(socket_name("users"));
    for (int step = 0; step < RawClient::kSteps; ++step) third.step(step, memory[2], 2);
    EXPECT_EQ(third.hear_refusal(),
              "user " + std::to_string(::getuid()) + " has 2 ports of this socket; per-user=2");
  }
  await([&] { return limited[1]->departures() == 1; });
  const RawClient next(socket_name("users"));
  EXPECT_EQ(next.connect(memory[2], 2)->type, memif::MessageType::connected);
}

TEST_F(PortsTimed, C1_TwoClientsForOneId) {
  const ClientMemory memory;
  const ClientMemory other;
  const RawClient client(socket_name());
  ASSERT_EQ(client.connect(memory)->type, memif::MessageType::connected);
  {
    const RawClient second(socket_name());
    second.step(0, other);
    EXPECT_EQ(second.hear_refusal(), "Already connected");
  }
  EXPECT_EQ(RawClient(socket_name()).connect(other, 1)->type, memif::MessageType::connected)
      << "the other port is free";
  expect_works(memory);
}

TEST_F(PortsTimed, C1_OfTwoThatAskTheFirstToConnectHasThePort) {
  const ClientMemory memory;
  const ClientMemory other;
  const RawClient slow(socket_name());
  for (int i = 0; i + 1 < RawClient::kSteps; ++i) slow.step(i, other);
  const RawClient quick(socket_name());
  ASSERT_EQ(quick.connect(memory)->type, memif::MessageType::connected);
  slow.step(RawClient::kSteps - 1, other);
  EXPECT_EQ(slow.hear_refusal(), "Already connected");
  expect_works(memory);
}

TEST_F(PortsTimed, C1_AClientMayGoAtAnyInstant) {
  const ClientMemory memory;
  const std::size_t before = descriptors();
  for (int round = 0; round < 20; ++round)
    for (int steps = 0; steps <= RawClient::kSteps; ++steps) {
      const RawClient client(socket_name());
      for (int i = 0; i < steps; ++i) client.step(i, memory);
    }
  const RawClient last(socket_name());
  std::optional<memif::Message> answer = last.connect(memory);
  EXPECT_TRUE(answer.has_value());
  while (!answer || answer->type != memif::MessageType::connected)  // one before was not seen to go
    answer = RawClient(socket_name()).connect(memory);
  await([&] { return mappings() <= 2; });
  ports[0].reset();
  await([&] { return mappings() == 1; });
  await([&] { return descriptors() <= before + 1; });  // `last`
}

TEST_F(PortsTimed, C1_WhoSaysNonsenseIsToldAndPutOut) {
  const std::uint64_t before = refused();
  const ClientMemory memory;
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{127}, std::size_t{129}}) {
    const RawClient client(socket_name());
    client.say_bytes(bytes);
    EXPECT_EQ(client.hear_refusal(), "a packet that is no message") << bytes;
  }
  const RawClient late(socket_name());
  ASSERT_EQ(late.connect(memory)->type, memif::MessageType::connected);
  late.step(1, memory);
  EXPECT_EQ(late.hear_refusal(), "a message after CONNECT");
  EXPECT_FALSE(ports[0]->connected());
  EXPECT_EQ(refused(), before + 4);
}

TEST_F(PortsTimed, C1_OpenMemoryIsRefusedInWordsThatThePortHasToo) {
  const ClientMemory open(std::size_t{1} << 20, 0);
  const RawClient client(socket_name());
  for (int i = 0; i < RawClient::kSteps; ++i) client.step(i, open);
  EXPECT_THAT(client.hear_refusal(), HasSubstr("F_SEAL_SHRINK"));
  EXPECT_THAT(ports[0]->take_refusal().value_or(""),
              HasSubstr("a memif client was turned away: region 0 is no memfd"));
  EXPECT_EQ(ports[0]->take_refusal(), std::nullopt);
  EXPECT_FALSE(ports[0]->connected());
}

TEST_F(PortsTimed, C1_ThoseThatSayNothingMakeRoomForOthers) {
  std::vector<std::unique_ptr<RawClient>> idle;
  for (std::size_t i = 0; i < 3 * MemifListener::kMostUnfinished; ++i) {
    idle.push_back(std::make_unique<RawClient>(socket_name()));
    EXPECT_TRUE(idle.back()->hear().has_value()) << "HELLO";
  }
  EXPECT_THAT(idle.front()->hear_refusal(), HasSubstr("too many clients"));
  const ClientMemory memory;
  const RawClient client(socket_name());
  ASSERT_EQ(client.connect(memory)->type, memif::MessageType::connected);
  expect_works(memory);
}

TEST_F(PortsTimed, C1_AClientThatNeverReadsStopsItselfAlone) {
  const std::array<ClientMemory, 2> memory;
  const RawClient deaf(socket_name());
  const RawClient client(socket_name());
  ASSERT_EQ(deaf.connect(memory[0], 0)->type, memif::MessageType::connected);
  ASSERT_EQ(client.connect(memory[1], 1)->type, memif::MessageType::connected);
  memory[0].offer_buffer(2048);
  std::uint16_t taken = 0;
  for (int i = 0; i < 10; ++i) {
    rte_mbuf* frame = make_frame(sw.pool(), Bytes(100));
    EXPECT_TRUE(ports[0]->transmit(0, &frame, 1, taken));
    EXPECT_EQ(taken, i == 0 ? 1 : 0);
    if (taken == 0) rte_pktmbuf_free(frame);
    expect_works(memory[1], 1);
  }
}

TEST_F(PortsTimed, C1_OnlyABrokenClientIsPutOut) {
  const ClientMemory memory;
  const RawClient client(socket_name());
  ASSERT_EQ(client.connect(memory)->type, memif::MessageType::connected);
  ports[0]->disconnect_broken();
  EXPECT_TRUE(ports[0]->connected());
  memory.ring(true).head = 0x8000;
  std::array<rte_mbuf*, kBurst> burst{};
  std::uint16_t count = 9;
  EXPECT_FALSE(ports[0]->receive(0, burst.data(), kBurst, count));
  EXPECT_EQ(count, 0);
  ports[0]->disconnect_broken();
  EXPECT_FALSE(ports[0]->connected());
  EXPECT_EQ(client.hear_refusal(), "the client broke memif's protocol");
}

TEST_F(PortsTimed, C1_MemoryStaysUntilTheBurstInItHasEnded) {
  const ClientMemory memory;
  auto client = std::make_unique<RawClient>(socket_name());
  ASSERT_EQ(client->connect(memory)->type, memif::MessageType::connected);
  std::atomic<bool> stop{false};
  std::thread loop([&] {
    std::array<rte_mbuf*, kBurst> burst{};
    std::uint16_t count = 0;
    while (!stop.load()) {
      EXPECT_TRUE(ports[0]->receive(0, burst.data(), kBurst, count));
      rte_pktmbuf_free_bulk(burst.data(), count);
    }
  });
  for (std::uint32_t round = 1; round <= 20; ++round) {
    for (int i = 0; i < 32; ++i) memory.send(1000, std::byte{1});
    client.reset();
    await([&] { return ports[0]->departures() == round; });
    client = std::make_unique<RawClient>(socket_name());
    ASSERT_EQ(client->connect(memory)->type, memif::MessageType::connected);
  }
  stop.store(true);
  loop.join();
}

TEST_F(PortsTimed, LossesAreCounted) {
  const ClientMemory memory;
  const RawClient client(socket_name());
  ASSERT_EQ(client.connect(memory)->type, memif::MessageType::connected);
  memory.show(true, {0, 9, 100, 0, 0});
  std::array<rte_mbuf*, kBurst> burst{};
  std::uint16_t count = 0;
  ports[0]->receive(0, burst.data(), kBurst, count);
  memory.show(false, {0, 9, 100, 0, 0});
  burst[0] = make_frame(sw.pool(), Bytes(100));
  ports[0]->transmit(0, burst.data(), 1, count);
  EXPECT_EQ(count, 1);
  EXPECT_EQ(ports[0]->losses().unusable, 1u);
  EXPECT_EQ(ports[0]->losses().unsent, 1u);
}

TEST_F(PortsTimed, WhoLeavesBeforeItIsConnectedIsCounted) {
  const std::uint64_t before = gone();
  for (std::uint64_t i = 1; i <= 5; ++i) {
    { const RawClient client(socket_name()); }
    await([&] { return gone() == before + i; });
  }
}

TEST_F(PortsTimed, APortThatGoesTellsItsClientAndTheOtherStays) {
  const std::array<ClientMemory, 2> memory;
  const RawClient client(socket_name());
  const RawClient other(socket_name());
  ASSERT_EQ(client.connect(memory[0], 0)->type, memif::MessageType::connected);
  ASSERT_EQ(other.connect(memory[1], 1)->type, memif::MessageType::connected);
  ports[0].reset();
  EXPECT_EQ(client.hear_refusal(), "the port is closed");
  expect_works(memory[1], 1);
  const RawClient again(socket_name());
  again.step(0, memory[0]);
  EXPECT_EQ(again.hear_refusal(), "ID not found");
}

TEST_F(PortsTimed, WhatCannotBeServedIsRefused) {
  EXPECT_THROW(MemifPort(parse_devargs(devargs(0))), std::invalid_argument) << "the device's name";
  EXPECT_THROW(MemifPort(parse_devargs("net_memif_x,role=server,id=0,socket=" + socket_name())),
               std::system_error)
      << "socket and id";
  EXPECT_THROW(MemifPort(parse_devargs("net_memif_x,role=server,socket=/nowhere/m,"
                                       "socket-abstract=no")),
               std::system_error);
  EXPECT_THROW(MemifPort(parse_devargs("net_memif_x,role=server,socket=" + std::string(108, 'x'))),
               std::system_error);
}

TEST(MemifPortTimed, ItsSocketIsThereAsLongAsItIs) {
  RingSwitch sw{test_config(1)};
  const auto path = std::filesystem::temp_directory_path() / socket_name("file");
  {
    MemifPort port(
        parse_devargs("net_memif_f,role=server,socket-abstract=no,socket=" + path.string()));
    EXPECT_TRUE(std::filesystem::exists(path));
    port.open(std::array{sw.pool()});
    worker::MemifRings rings;
    const worker::MemifControl control(path, 0, rings, Duration::seconds(60));
    EXPECT_TRUE(port.connected());
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace tributary::dataplane
