// Common parts of tests of ports that come and go: switches of several lcores, and the frames that
// leave them.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/dataplane/l2_frame.h"
#include "tests/dataplane/ring_switch.h"
#include "tests/dataplane/test_packet_loop.h"

namespace tributary::dataplane {

using Step = RingSwitch::Step;

inline config::SwitchConfig with_lcores(std::size_t lcores, std::size_t ports) {
  auto config = test_config(ports);
  config.lcores.assign(lcores, -1);
  for (std::size_t i = 0; i < ports; ++i)  // which device is which is told by its name
    config.ports[i].devargs = std::string("net_ring").append(std::to_string(i));
  return config;
}

inline config::PortConfig port_named(const std::string& name) {
  return {name, "net_ring_" + name, 1500};
}

// Collects frames that leave through some ports, by port.
class Collector {
 public:
  explicit Collector(RingSwitch& sw) : sw_(sw) {}
  void collect(const std::vector<std::size_t>& ports) {
    for (const std::size_t port : ports) got_[port] += sw_.sent(port).size();
  }
  std::size_t operator[](std::size_t port) { return got_[port]; }

 private:
  RingSwitch& sw_;
  std::map<std::size_t, std::size_t> got_;
};

inline void settle(RingSwitch& sw, int turns = 12) {
  for (int i = 0; i < turns; ++i) {
    sw.now = sw.now + Duration::us(1);
    sw.turn();
  }
}

// No queue is polled by two loops.
inline void expect_one_loop_a_queue(RingSwitch& sw) {
  std::map<std::pair<std::uint16_t, std::uint16_t>, int> polled;
  for (const auto& packet_loop : sw.packet_loops())
    for (const auto& queue : packet_loop->queues()) {
      EXPECT_EQ((++polled[{queue.port, queue.queue}]), 1)
          << "port " << queue.port << " queue " << queue.queue;
    }
}

inline config::SwitchConfig with_job(std::size_t lcores) {
  auto config = with_lcores(lcores, 3);
  config::JobConfig job;
  job.id = 4;
  job.name = "job4";
  job.workers = 2;
  job.window = 8;
  job.chunk_bytes = 64;
  config.jobs = {job};
  return config;
}

inline std::optional<wire::Header> last_packet(const std::vector<Bytes>& frames) {
  std::optional<wire::Header> out;
  for (const auto& frame : frames)
    if (const auto packet = read_packet(frame)) out = packet->packet.header;
  return out;
}

// Both ranks of with_job(), who have joined through ports 0 and 1, in the epoch that has begun.
inline std::vector<TestWorker> begin_two_ranks(RingSwitch& sw) {
  std::vector<TestWorker> ranks;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    ranks.emplace_back(sw.config(), 4, rank, std::uint16_t{2});
    sw.inject(rank, ranks.back().join(rank + 1));
  }
  settle(sw);
  sw.sent(1);
  const auto start = last_packet(sw.sent(0));
  EXPECT_TRUE(start && start->type == wire::PacketType::start);
  for (TestWorker& rank : ranks) rank.epoch = start ? start->epoch : std::uint16_t{0};
  return ranks;
}

}  // namespace tributary::dataplane
