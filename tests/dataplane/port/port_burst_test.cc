// A peer of DPDK's memif driver that takes away the memory which it shares, and keeps its control
// socket: its frames reach no job, no buffer is lost, and the next one finds the port as it was.
// The driver is the server here, which lets the peer do most harm; and a client of the switch's own
// server that breaks the protocol.
#include "dataplane/port/port_burst.h"

#include <gtest/gtest.h>
#include <rte_dev.h>
#include <rte_mbuf.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>
#include <system_error>

#include "dataplane/io/transmitter.h"
#include "dataplane/port/fault_guard.h"
#include "dataplane/switch/link_monitor.h"
#include "tests/dataplane/ring_switch.h"
#include "worker/transport/file_descriptor.h"
#include "worker/transport/memif_control.h"

namespace tributary::dataplane {
namespace {

using worker::MemifRings;

// Abstract, so no file is left; DPDK keeps it to its end, so each port has its own.
int ports_made = 0;
std::string socket_name() {
  return "tributary-lost-peer-" + std::to_string(::getpid()) + "-" + std::to_string(ports_made);
}

config::PortConfig memif_port() {
  ++ports_made;
  return {"m",
          "net_memif" + std::to_string(ports_made) + ",role=server,id=0,socket=" + socket_name() +
              ",rsize=10,bsize=2048",
          1500};
}

std::uint16_t probe(const config::PortConfig& config) {
  EXPECT_EQ(rte_dev_probe(config.devargs.c_str()), 0);
  std::uint16_t ethdev = 0;
  const std::string device = parse_devargs(config.devargs).device;
  EXPECT_EQ(rte_eth_dev_get_port_by_name(device.c_str(), &ethdev), 0);
  return ethdev;
}

// The library seals its memory, which then cannot get smaller: a client that means harm shares
// another file in its place, to which the rings are copied.
class OpenMemory {
 public:
  explicit OpenMemory(const MemifRings& rings)
      : sealed_(::dup(rings.memory_fd())), open_(::memfd_create("open", MFD_CLOEXEC)) {
    EXPECT_EQ(::ftruncate(open_.get(), static_cast<off_t>(rings.memory_bytes())), 0);
    publish();
    EXPECT_GE(::dup2(open_.get(), rings.memory_fd()), 0);
  }
  void publish() const {
    Bytes area(std::size_t{2} * MemifRings::ring_offset(false));
    EXPECT_EQ(::pread(sealed_.get(), area.data(), area.size(), 0), std::ssize(area));
    EXPECT_EQ(::pwrite(open_.get(), area.data(), area.size(), 0), std::ssize(area));
  }
  void truncate(std::size_t kept) const {
    ASSERT_EQ(::ftruncate(open_.get(), static_cast<off_t>(kept)), 0);
  }

 private:
  worker::FileDescriptor sealed_;
  worker::FileDescriptor open_;
};

struct Client {
  MemifRings rings;
  OpenMemory memory{rings};
  worker::MemifControl control{socket_name(), 0, rings, Duration::seconds(10)};

  Client() { memory.publish(); }
  void send_frame() {
    const auto frame = rings.tx_frame();
    std::fill_n(frame.begin(), 100, std::byte{2});
    rings.tx_commit(100);
    rings.tx_flush();
    memory.publish();
  }
};
// Rings stay, the frames' buffers go; or all goes.
constexpr std::array<std::size_t, 2> kKept = {std::size_t{2} << 16, 0};

class LostPeer : public testing::Test {
 protected:
  LostPeer() {
    install_fault_handlers();
    port.set_up(std::array{sw.pool()});
    lanes.push_back(std::make_unique<Lane>(port, std::uint16_t{0}));
  }
  void TearDown() override { EXPECT_EQ(sw.buffers_in_use(), 0u); }

  void connect() {
    client.reset();
    while (port.poll_link()) sched_yield();  // the one before goes
    client.emplace();
    while (!port.poll_link()) sched_yield();
  }
  void send(std::size_t frames) {
    for (std::size_t i = 0; i < frames; ++i)
      transmitter.send(0, make_frame(sw.pool(), Bytes(1000, std::byte{2})));
    transmitter.flush();
  }
  [[nodiscard]] const PortCounters& counters() const { return lanes[0]->counters; }
  // Loops see nothing of the port, the client no switch.
  void expect_put_out() {
    EXPECT_FALSE(port.link().up());
    EXPECT_TRUE(port.link().lost_peer());
    EXPECT_FALSE(port.poll_link()) << "whatever the driver says";
    port.disconnect_peer();
    EXPECT_FALSE(port.link().lost_peer());
    EXPECT_FALSE(port.poll_link());
    while (!client->control.server_left()) sched_yield();
  }

  RingSwitch sw{test_config(1)};
  const config::PortConfig config{memif_port()};
  Port port{config, probe(config)};
  Lanes lanes;
  Transmitter transmitter{lanes, sw.pool()};
  std::optional<Client> client;
};

TEST_F(LostPeer, C1_WhatIsSentIntoTruncatedMemoryIsDroppedAndFreed) {
  std::uint64_t faults = 0;
  std::uint64_t dropped = 0;
  for (int round = 0; round < 3; ++round)
    for (const std::size_t kept : kKept) {
      SCOPED_TRACE(kept);
      const std::uint64_t sent = counters().tx_packets.get();
      connect();
      send(3);
      EXPECT_EQ(counters().tx_packets.get(), sent + 3);
      client->memory.truncate(kept);
      send(2 * kBurst);
      EXPECT_EQ(counters().peer_faults.get(), ++faults);
      EXPECT_EQ(counters().tx_packets.get(), sent + 3);
      EXPECT_EQ(counters().drops.get(DropReason::tx_link_down), dropped += 2 * kBurst);
      EXPECT_EQ(sw.buffers_in_use(), 0u);
      send(kBurst);
      EXPECT_EQ(counters().drops.get(DropReason::tx_link_down), dropped += kBurst);
      EXPECT_EQ(counters().peer_faults.get(), faults) << "nobody touches it any more";
      expect_put_out();
    }
  EXPECT_EQ(port.link().losses(), 2 * 3u) << "what was learned behind it is forgotten";
  connect();
  send(1);
  EXPECT_EQ(counters().tx_packets.get(), 3 * 2 * 3 + 1u);
}

TEST_F(LostPeer, C1_WhatIsReceivedOfTruncatedMemoryIsNobodys) {
  for (const std::size_t kept : kKept) {
    SCOPED_TRACE(kept);
    connect();
    for (int i = 0; i < 5; ++i) client->send_frame();
    client->memory.truncate(kept);
    std::array<rte_mbuf*, kBurst> burst{};
    std::uint16_t received = 9;
    EXPECT_FALSE(receive_burst(port, 0, burst.data(), kBurst, received));
    EXPECT_EQ(received, 0);
    EXPECT_EQ(sw.buffers_in_use(), 0u);
    EXPECT_TRUE(receive_burst(port, 0, burst.data(), kBurst, received)) << "it is not polled";
    EXPECT_EQ(received, 0);
    expect_put_out();
  }
  connect();
  client->send_frame();
  std::array<rte_mbuf*, kBurst> burst{};
  std::uint16_t received = 0;
  EXPECT_TRUE(receive_burst(port, 0, burst.data(), kBurst, received));
  ASSERT_EQ(received, 1);
  EXPECT_EQ(take_bytes(burst[0]).size(), 100u);
}

// Where the driver has the memory of a client with OpenMemory; nullptr: nowhere.
const volatile std::byte* mapping_of_open_memory() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.find("memfd:open") != std::string::npos) {
      std::uintptr_t address = 0;
      std::from_chars(line.data(), line.data() + line.size(), address, 16);
      return std::bit_cast<const volatile std::byte*>(address);
    }
  return nullptr;
}

// How many eventfds this process has: two of a client's rings, and two that the driver got of it.
std::size_t eventfds() {
  std::size_t count = 0;
  std::error_code gone;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
    if (std::filesystem::read_symlink(entry, gone) == "anon_inode:[eventfd]") ++count;
  return count;
}

// The driver's own thread takes the link down, and all that it got away, wherever loops are.
TEST_F(LostPeer, C1_WhatAClientBroughtStaysUntilWhoUsesItHasLeft) {
  connect();
  const auto* const memory = mapping_of_open_memory();
  ASSERT_NE(memory, nullptr);
  using Clock = std::chrono::steady_clock;
  const std::size_t before = eventfds();
  std::size_t fewest = before;
  std::byte sum{};
  EXPECT_EQ(guarded([&] {
              client.reset();
              while (port.poll_link()) sched_yield();
              const auto long_after = Clock::now() + std::chrono::milliseconds(50);
              while (Clock::now() < long_after) {
                sum ^= *memory;
                fewest = std::min(fewest, eventfds());
              }
            }),
            Guarded::intact);
  EXPECT_EQ(fewest, before - 2) << "the client's own";
  while (mapping_of_open_memory() != nullptr) sched_yield();
  EXPECT_EQ(eventfds(), before - 4);
  connect();
  send(1);
  EXPECT_EQ(counters().tx_packets.get(), 1u);
}

// The driver looks at the rings on a thread of its own, before there is a connection.
TEST_F(LostPeer, C1_MemoryThatIsNotThereToBeginWithIsRefused) {
  MemifRings rings;
  OpenMemory(rings).truncate(0);
  EXPECT_THROW(worker::MemifControl(socket_name(), 0, rings, Duration::seconds(10)),
               worker::MemifConnectError);
  EXPECT_FALSE(port.poll_link());
  connect();
  send(1);
  EXPECT_EQ(counters().tx_packets.get(), 1u);
}

TEST_F(LostPeer, O1_TheLinkMonitorSaysSoAndPutsItOut) {
  std::mutex guard;
  std::string lines;
  connect();
  {
    const std::array<Port*, 1> ports = {&port};
    LinkMonitor monitor(ports, {{&sw.packet_loop(), [] {}}}, [&](const std::string& line) {
      const std::lock_guard lock(guard);
      lines += line + '\n';
    });
    client->memory.truncate(0);
    send(1);
    while (!client->control.server_left()) sched_yield();
    client.emplace();
    while (!port.link().up()) sched_yield();
  }
  EXPECT_EQ(lines,
            "port m: its peer took away the memory that both share, and is disconnected\n"
            "port m: link down\nport m: link up\n");
}

// A client of the switch's own server. Its memory, which it may write to as it likes:
class Vandal {
 public:
  explicit Vandal(const MemifRings& rings)
      : bytes_(rings.memory_bytes()),
        memory_(static_cast<std::byte*>(
            ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, rings.memory_fd(), 0))) {}
  ~Vandal() { ::munmap(memory_, bytes_); }
  Vandal(const Vandal&) = delete;
  Vandal& operator=(const Vandal&) = delete;
  // The head of a ring jumps.
  void jump(bool to_server) const {
    auto& ring =
        *reinterpret_cast<worker::memif::RingHeader*>(memory_ + MemifRings::ring_offset(to_server));
    std::atomic_ref(ring.head).fetch_add(0x8000);
  }

 private:
  std::size_t bytes_;
  std::byte* memory_;
};

TEST(MemifServerBurst, C1_AHeadThatJumpsPutsItsClientOutAndNoOtherOne) {
  RingSwitch sw{test_config(1)};
  std::mutex guard;
  std::string lines;
  Port port{memif_port()};
  port.set_up(std::array{sw.pool()});
  const std::array<Port*, 1> ports = {&port};
  LinkMonitor monitor(ports, {{&sw.packet_loop(), [] {}}}, [&](const std::string& line) {
    const std::lock_guard lock(guard);
    lines += line + '\n';
  });
  std::array<rte_mbuf*, kBurst> burst{};
  std::uint16_t count = 0;
  for (const bool to_server : {true, false}) {
    MemifRings rings;
    worker::MemifControl control(socket_name(), 0, rings, Duration::seconds(10));
    while (!port.link().up()) sched_yield();
    Vandal(rings).jump(to_server);
    burst[0] = make_frame(sw.pool(), Bytes(100, std::byte{2}));
    EXPECT_EQ(receive_burst(port, 0, burst.data() + 1, kBurst - 1, count), !to_server);
    EXPECT_EQ(transmit_burst(port, 0, burst.data(), 1, count), to_server);
    if (count == 0) rte_pktmbuf_free(burst[0]);
    EXPECT_FALSE(port.link().up()) << "at once";
    while (!control.server_left()) sched_yield();
  }
  MemifRings rings;
  const worker::MemifControl control(socket_name(), 0, rings, Duration::seconds(10));
  while (!port.link().up()) sched_yield();
  EXPECT_EQ(port.link().losses(), 2u);
  EXPECT_EQ(sw.buffers_in_use(), 0u);
  const std::lock_guard lock(guard);
  EXPECT_NE(lines.find("port m: its peer broke memif's protocol, and is disconnected\n"),
            std::string::npos)
      << lines;
}

// The monitor looks so rarely that the link may seem never to have been down.
TEST(MemifServerBurst, O1_AClientThatFollowsAnotherAtOnceIsToldOf) {
  RingSwitch sw{test_config(1)};
  std::mutex guard;
  std::string lines;
  Port port{memif_port()};
  port.set_up(std::array{sw.pool()});
  MemifRings rings;
  std::optional<worker::MemifControl> control(std::in_place, socket_name(), 0, rings,
                                              Duration::seconds(10));
  while (!port.poll_link()) sched_yield();
  {
    const std::array<Port*, 1> ports = {&port};
    LinkMonitor monitor(ports, {{&sw.packet_loop(), [] {}}}, [&](const std::string& line) {
      const std::lock_guard lock(guard);
      lines += line + '\n';
    });
    control.reset();
    MemifRings others;
    control.emplace(socket_name(), 0, others, Duration::seconds(10));
    while (port.link().losses() == 0 || !port.link().up()) sched_yield();
  }
  EXPECT_TRUE(lines == "port m: link down, and up again at once\n" ||
              lines == "port m: link down\nport m: link up\n")
      << lines;
}

}  // namespace
}  // namespace tributary::dataplane
