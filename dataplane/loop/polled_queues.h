// The receive queues that a loop polls, and what they have counted.
//
// Queues move from one loop to another while ports come and go (packet_loop_ports.cc): release()
// gives up what another loop will poll, attach() takes what this one has from then on. A queue that
// comes back counts on from where it was. The loop's lcore calls all but shown().
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "config/model/switch_config.h"
#include "core/counter.h"

namespace tributary::dataplane {

struct PolledQueue {
  std::uint16_t port = 0;
  std::uint16_t queue = 0;
  Counter packets;
  Counter bursts;     // that brought any
  bool lent = false;  // frames of this turn lie in the client's memory still (MemifPort)
};

class PolledQueues {
 public:
  using List = std::vector<PolledQueue>;
  // Made by a control thread, so that the loop allocates nothing.
  struct Plan {
    std::unique_ptr<List> polled;  // from attach() on
    std::unique_ptr<List> kept;    // room for those that are polled between release() and attach()
    std::unique_ptr<List> past;    // and for those that were given up, of this change and earlier
  };

  PolledQueues(const config::SwitchConfig& config, std::size_t lcore);

  // Plans the queues of `next`. `removed`: ports that go; other ports may get their places later.
  [[nodiscard]] Plan plan(const config::SwitchConfig& next,
                          std::span<const std::uint16_t> removed) const;
  // Only those that stay are polled from now on.
  void release(Plan& plan, std::span<const std::uint16_t> removed);
  void attach(Plan& plan);

  [[nodiscard]] std::span<PolledQueue> all() { return *polled_; }
  // Places of ports whose first queue is among them: on these the loop speaks for the switch.
  [[nodiscard]] std::vector<std::uint16_t> first_ports() const;
  // Any thread. The list that a change replaces lives as long as its plan.
  [[nodiscard]] std::span<const PolledQueue> shown() const {
    return *shown_.load(std::memory_order_acquire);
  }

 private:
  void poll(std::unique_ptr<List>& queues);

  std::size_t lcore_;
  std::unique_ptr<List> polled_ = std::make_unique<List>();
  std::unique_ptr<List> past_ = std::make_unique<List>();  // of ports that are there
  std::atomic<const List*> shown_;
};

}  // namespace tributary::dataplane
