// A virtual machine that takes away the memory which it shares, and keeps its control socket: its
// frames reach no job, no buffer is lost, and the next one finds the port as it was.
#include "dataplane/port/vhost_peer.h"

#include <gtest/gtest.h>
#include <rte_mbuf.h>
#include <sched.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "dataplane/io/transmitter.h"
#include "dataplane/port/fault_guard.h"
#include "dataplane/port/port_burst.h"
#include "dataplane/switch/link_monitor.h"
#include "tests/dataplane/ring_switch.h"
#include "tests/dataplane/vhost_frontend.h"

namespace tributary::dataplane {
namespace {

int ports_made = 0;

std::string socket_path() {
  return testing::TempDir() + "vhost-" + std::to_string(::getpid()) + "-" +
         std::to_string(ports_made);
}

config::PortConfig vhost_port() {
  ++ports_made;
  return {"v", "net_vhost" + std::to_string(ports_made) + ",iface=" + socket_path(), 1500};
}

class LostGuestTimed : public testing::Test {
 protected:
  LostGuestTimed() {
    install_fault_handlers();
    port.set_up(std::array{sw.pool()});
    lanes.push_back(std::make_unique<Lane>(port, std::uint16_t{0}));
  }
  void TearDown() override { EXPECT_EQ(sw.buffers_in_use(), 0u); }

  void leave() {
    guest.reset();
    while (port.poll_link()) sched_yield();
  }
  void connect(bool huge = false) {
    leave();
    guest.emplace(huge);
    guest->connect(socket);
    while (!port.poll_link()) sched_yield();
  }
  void send(std::size_t frames) {
    for (std::size_t i = 0; i < frames; ++i)
      transmitter.send(0, make_frame(sw.pool(), Bytes(1000, std::byte{2})));
    transmitter.flush();
  }
  [[nodiscard]] const PortCounters& counters() const { return lanes[0]->counters; }
  // Loops see nothing of the port, the machine no switch.
  void expect_put_out() {
    EXPECT_FALSE(port.link().up());
    EXPECT_TRUE(port.link().lost_peer());
    EXPECT_FALSE(port.poll_link()) << "whatever the driver says";
    while (port.link().lost_peer()) {
      port.disconnect_peer();
      sched_yield();
    }
    EXPECT_FALSE(port.poll_link());
    while (!guest->left()) sched_yield();
  }
  // Rings stay, the frames' buffers go; or all goes.
  void expect_sending_survives(bool huge) {
    for (const bool rings_stay : {true, false}) {
      SCOPED_TRACE(rings_stay);
      const std::uint64_t sent = counters().tx_packets.get();
      const std::uint64_t faults = counters().peer_faults.get();
      const std::uint64_t dropped = counters().drops.get(DropReason::tx_link_down);
      connect(huge);
      send(3);
      EXPECT_EQ(counters().tx_packets.get(), sent + 3);
      guest->truncate(rings_stay ? guest->ring_bytes() : 0);
      send(3 * kBurst);
      EXPECT_EQ(counters().peer_faults.get(), faults + 1) << "nobody touches it any more";
      EXPECT_EQ(counters().tx_packets.get(), sent + 3);
      EXPECT_EQ(counters().drops.get(DropReason::tx_link_down), dropped + 3 * kBurst);
      EXPECT_EQ(sw.buffers_in_use(), 0u);
      expect_put_out();
    }
  }

  RingSwitch sw{test_config(1)};
  Port port{vhost_port()};
  std::string socket = socket_path();
  Lanes lanes;
  Transmitter transmitter{lanes, sw.pool()};
  std::optional<VhostFrontend> guest;
};

TEST_F(LostGuestTimed, C1_WhatIsSentIntoTruncatedMemoryIsDroppedAndFreed) {
  for (int round = 0; round < 3; ++round) expect_sending_survives(false);
  EXPECT_EQ(port.link().losses(), 2 * 3u) << "what was learned behind it is forgotten";
  connect();
  send(1);
  EXPECT_EQ(counters().tx_packets.get(), 3 * 2 * 3 + 1u);
}

// No part of a huge page can be replaced.
TEST_F(LostGuestTimed, C1_SoItIsOnHugePages) {
  expect_sending_survives(true);
}

TEST_F(LostGuestTimed, C1_WhatIsReceivedOfTruncatedMemoryIsNobodys) {
  std::array<rte_mbuf*, kBurst> burst{};
  for (const bool rings_stay : {true, false}) {
    SCOPED_TRACE(rings_stay);
    connect();
    for (int i = 0; i < 5; ++i) guest->send_frame(100);
    guest->truncate(rings_stay ? guest->ring_bytes() : 0);
    std::uint16_t received = 9;
    EXPECT_FALSE(receive_burst(port, 0, burst.data(), kBurst, received));
    EXPECT_EQ(received, 0);
    EXPECT_EQ(sw.buffers_in_use(), 0u);
    EXPECT_TRUE(receive_burst(port, 0, burst.data(), kBurst, received)) << "it is not polled";
    EXPECT_EQ(received, 0);
    expect_put_out();
  }
  connect();
  guest->send_frame(100);
  std::uint16_t received = 0;
  EXPECT_TRUE(receive_burst(port, 0, burst.data(), kBurst, received));
  ASSERT_EQ(received, 1);
  EXPECT_EQ(take_bytes(burst[0]), Bytes(100, std::byte{2}));
}

// DPDK looks at the rings on a thread of its own, before there is a link.
TEST_F(LostGuestTimed, C1_MemoryThatIsNotThereToBeginWithHurtsNobody) {
  guest.emplace();
  guest->truncate(0);
  guest->connect(socket);
  while (!port.poll_link()) sched_yield();
  std::array<rte_mbuf*, kBurst> burst{};
  std::uint16_t received = 9;
  receive_burst(port, 0, burst.data(), kBurst, received);
  EXPECT_EQ(received, 0);
  connect();
  send(1);
  EXPECT_EQ(counters().tx_packets.get(), 1u);
}

TEST_F(LostGuestTimed, O1_TheLinkMonitorSaysSoAndPutsItOut) {
  std::mutex guard;
  std::string lines;
  connect();
  {
    const std::array<Port*, 1> ports = {&port};
    LinkMonitor monitor(ports, {{&sw.packet_loop(), [] {}}}, [&](const std::string& line) {
      const std::lock_guard lock(guard);
      lines += line + '\n';
    });
    guest->truncate(0);
    send(1);
    while (!guest->left()) sched_yield();
    guest.emplace();
    guest->connect(socket);
    while (!port.link().up()) sched_yield();
  }
  EXPECT_EQ(lines,
            "port v: its peer took away the memory that both share, and is disconnected\n"
            "port v: link down\nport v: link up\n");
}

}  // namespace
}  // namespace tributary::dataplane
